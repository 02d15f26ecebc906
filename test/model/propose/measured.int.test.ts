// The RU that a proposal states, against the charges of the embedded server; BENCH-B37 does it for twenty requirements.
import { CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compared, measured } from '../../../bench/designs/compare.ts';
import { PUBLISHED } from '../../../bench/designs/published.ts';
import { REQUIREMENTS } from '../../../bench/designs/requirements.ts';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';

let emulator: Emulator;
let client: CosmosClient;
beforeAll(async () => {
  emulator = await startEmulator();
  emulator.faults({ indexFrom: 0 });
  client = new CosmosClient(emulator.clientOptions);
});
afterAll(async () => {
  client.dispose();
  await emulator.close();
});

/** Embedded lines beside their customers; a hierarchical key; three types in one partition. */
test.each(['orders', 'audit', 'clinic'])(
  '%s: each pattern costs what the proposal states, within a factor of 1.5',
  async (name) => {
    const { patterns, needs } = await measured(client, name, REQUIREMENTS[name]!);
    expect(patterns).toHaveLength(needs.accesses.length);
    expect(patterns.filter(({ ratio }) => !(ratio >= 0.67 && ratio <= 1.5))).toEqual([]);
  },
);

test('a published design runs the same patterns, and one document for a whole chat costs more', async () => {
  const chat = await measured(client, 'chat', REQUIREMENTS['chat']!);
  const published = PUBLISHED.find(({ of }) => of === 'chat')!;
  const { ru, hours } = await compared(client, published, chat);
  expect(ru).toBeLessThan(0.5);
  expect(hours).toBeLessThan(0.5);
});
