// `dev --shards --once`: a tenant moves to another shard and back while it is written.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import type { DevSummary } from '../../../src/host/dev/play.ts';
import { millrace } from '../../support/process.ts';
import { SPREAD } from '../../support/spread-stage.ts';

it('a tenant moves there and back while hosts derive, and every place is exact', async ({ onTestFinished }) => {
  const directory = mkdtempSync(`${tmpdir()}/millrace-dev-`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  await using process = millrace(['dev', '--once', '--pipeline', SPREAD, '--shards', '2', '--json'], { directory });
  expect({ ...(await process.ended), stderr: process.stderr }).toMatchObject({ code: 0 });
  const { moved, places } = JSON.parse(process.stdout) as DevSummary;
  expect(moved).toMatchObject({
    keys: '"s1"',
    container: 'Orders',
    lost: [],
    moves: [
      { from: 'shard-1', to: 'shard-2', parked: [] },
      { from: 'shard-2', to: 'shard-1', parked: [] },
    ],
  });
  expect(moved?.writes).toBeGreaterThanOrEqual(3);
  expect(places?.map(({ place, verification }) => [place, verification.different])).toEqual([
    ['global place', 0],
    ['shard-1', 0],
    ['shard-2', 0],
  ]);
});
