import { CosmosClient } from '@azure/cosmos';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CopySpec } from '../../src/definition/specs.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { planModel } from '../../src/operations/model/apply.ts';
import { loadPipeline } from '../../src/runtime/load-pipeline.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { type HistoriesProof, proveHistories } from '../../src/testing/prove/histories.ts';
import { onePartitionEach, servicesOn } from '../../src/testing/test-pipeline.ts';

let emulator: Emulator;
let client: CosmosClient;
let loaded: LoadedPipeline;
beforeAll(async () => {
  emulator = await startEmulator();
  client = new CosmosClient({ ...emulator.clientOptions, consistencyLevel: 'Session' });
  const proof = await loadPipeline(join(import.meta.dirname, '../fixtures/proof'));
  loaded = { ...proof, model: onePartitionEach(proof.model), pipeline: { ...proof.pipeline, publishes: [] } };
});
afterAll(async () => {
  client.dispose();
  await emulator.close();
});

/** The copy of the fixture with another `map`; `begin` is called before each history. */
async function proved(map: CopySpec['map'] | undefined, seconds: number, begin = (): void => undefined) {
  const [copy] = loaded.pipeline.projections;
  const projections = [{ ...(copy as CopySpec), ...(map && { map }) }];
  const progress: string[] = [];
  const [proof] = await proveHistories({
    loaded: { ...loaded, pipeline: { ...loaded.pipeline, projections } },
    seed: 1,
    seconds,
    signal: new AbortController().signal,
    ground: async (of) => {
      begin();
      const services = servicesOn(client, { endpoint: emulator.endpoint, database: crypto.randomUUID() });
      const prepare = async (): Promise<void> => {
        for (const step of await planModel(of, services)) await step.apply();
      };
      await prepare();
      const ground = { loaded: of, services, prepare, lag: () => undefined, lagMs: 0 };
      return { ground, remove: () => services.place.database.delete() };
    },
    progress: (what, done, all) => progress.push(`${what} ${done} ${all}`),
  });
  return { proof: proof as HistoriesProof, progress };
}

test('every sequence of up to four writes of two documents is counted, and runs until the time is over', async () => {
  const { proof, progress } = await proved(undefined, 0.5);
  // Two documents in three and two versions; none follows itself: 5 + 20 + 80 + 320.
  expect(proof).toEqual({ projection: 'lists', ran: expect.any(Number), all: 425 });
  expect(proof.ran).toBeGreaterThan(1);
  expect(progress[0]).toBe('histories of lists 0 425');
});

test('a fault that needs two documents is shown by two writes', async () => {
  let last: unknown;
  const remembers: CopySpec['map'] = ({ id, storeId, status }) => {
    const other = last !== undefined && last !== id;
    last = id;
    return { id, storeId, status, cents: Number(other) };
  };
  const { proof } = await proved(remembers, 60, () => {
    last = undefined;
  });
  const { writes = [] } = proof.failed ?? {};
  expect(writes).toHaveLength(2);
  expect(new Set(writes.map((write) => /"(o\d)"/.exec(write)?.[1]))).toEqual(new Set(['o1', 'o2']));
  expect(proof.failed?.difference).toContain('The derived documents differ');
  // The five of one write ran before it.
  expect(proof.ran).toBeGreaterThan(5);
});
