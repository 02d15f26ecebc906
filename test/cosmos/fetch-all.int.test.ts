// A query that fails in the middle is never taken for one that has ended (ASM-E82).
import type { Container } from '@azure/cosmos';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { MillraceError } from '../../src/base/errors.ts';
import { fetchAll } from '../../src/cosmos/fetch-all.ts';
import { several } from '../client/tenants.ts';
import { type World, openWorld } from '../patterns/world.ts';

const PLANNED = { demandPlans: true };
const signal = new AbortController().signal;
let world: World;
let notes: Container;

beforeAll(async () => {
  world = await openWorld(1);
  notes = await several(world, 'notes', ['/id']);
  for (let n = 0; n < 60; n++) await notes.items.create({ id: `n${n}`, kind: `k${n % 3}` });
});
afterEach(() => world.emulator.faults({}));
afterAll(() => world[Symbol.asyncDispose]());

const read = async (query: string, maxItemCount: number): Promise<unknown[]> => {
  const found: unknown[] = [];
  for await (const one of fetchAll<unknown>(notes, query, signal, { maxItemCount, anyFormat: true })) found.push(one);
  return found;
};

const sorted = (rows: readonly unknown[]): string =>
  rows
    .map((row) => JSON.stringify(row))
    .toSorted()
    .join();

it.each([
  ['SELECT VALUE COUNT(1) FROM c', [60]],
  ['SELECT c.kind, COUNT(1) AS n FROM c GROUP BY c.kind', ['k0', 'k1', 'k2'].map((kind) => ({ kind, n: 20 }))],
  ['SELECT DISTINCT VALUE c.kind FROM c', ['k0', 'k1', 'k2']],
  ['SELECT VALUE c.id FROM c ORDER BY c.id', Array.from({ length: 60 }, (_, n) => `n${n}`).toSorted()],
  ['SELECT VALUE c.id FROM c', Array.from({ length: 60 }, (_, n) => `n${n}`).toSorted()],
  ['SELECT TOP 1 VALUE 1 FROM c', [1]],
])('%s returns everything or fails, whichever request gets no answer', async (query, wanted) => {
  const answers = new Set<string>();
  for (let nth = 1; nth <= 12; nth++)
    for (const faults of [{}, PLANNED]) {
      world.emulator.faults({ ...faults, rules: [{ operation: 'query', container: 'notes', nth, status: 408 }] });
      answers.add(await read(query, 7).then(sorted, (error: unknown) => (error as MillraceError).code));
    }
  answers.delete('query-interrupted');
  expect([...answers]).toEqual([sorted(wanted)]);
});
