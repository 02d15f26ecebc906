// `dev --shards --once`: every place is compared with a recomputation.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import type { DevSummary } from '../../../src/host/dev/play.ts';
import { millrace } from '../../support/process.ts';
import { SPREAD } from '../../support/spread-stage.ts';

it('`dev --shards --once` derives in every place, and each equals a recomputation', async ({ onTestFinished }) => {
  const directory = mkdtempSync(`${tmpdir()}/millrace-dev-`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  await using process = millrace(['dev', '--once', '--pipeline', SPREAD, '--shards', '2', '--json'], { directory });
  expect({ ...(await process.ended), stderr: process.stderr }).toMatchObject({ code: 0 });
  const { places } = JSON.parse(process.stdout) as DevSummary;
  expect(places?.map(({ place, verification }) => [place, verification.different])).toEqual([
    ['global place', 0],
    ['shard-1', 0],
    ['shard-2', 0],
  ]);
});
