// `model infra` and `model prove` of a pipeline over shards.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { SPREAD } from '../../support/spread-stage.ts';

it('infra writes the containers of the global place, and apart from them those of a shard', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'infra-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const infra = (...more: string[]) => cli(['model', 'infra', SPREAD, ...more], { directory });
  expect((await infra()).code).toBe(0);
  const named = async (file: string): Promise<string[]> => {
    const text = await readFile(join(directory, 'infra/modules', file), 'utf8');
    return [...text.matchAll(/^ +id: '(\w+)'/gm)].map(([, id]) => id!).toSorted();
  };
  expect(await named('containers.bicep')).toEqual(['AllOrders', 'Countries', 'Totals', 'Years', 'leases', 'millrace']);
  expect(await named('shard-containers.bicep')).toEqual([
    'Customers',
    'Orders',
    'ShardCountries',
    'StoreCountries',
    'Stores',
    'Summaries',
    'millrace',
  ]);
  expect((await infra('--check')).code).toBe(0);
  await rm(join(directory, 'infra/modules/shard-containers.bicep'));
  expect(await infra('--check')).toMatchObject({ code: 1, stdout: expect.stringContaining('shard-containers.bicep') });
});

it('prove runs the whole pipeline, wherever its documents are', { timeout: 60_000 }, async () => {
  const { stdout } = await cli(['model', 'prove', SPREAD, '--json']);
  const proof = JSON.parse(stdout) as { written: number; parked: string[]; difference?: string };
  expect(proof).toMatchObject({ written: 5, parked: [] });
  expect(proof.difference).toBeUndefined();
});
