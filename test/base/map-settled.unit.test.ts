import { expect, it, vi } from 'vitest';
import { mapSettled } from '../../src/base/map-settled.ts';

it('`mapSettled` gives the results in the order of the items, whichever ends first', async () => {
  const gates = [1, 2, 3].map(() => Promise.withResolvers<string>());
  const mapped = mapSettled(gates, ({ promise }, index) => promise.then((value) => `${index} ${value}`), {
    concurrency: 3,
  });
  for (const [index, { resolve }] of [...gates.entries()].toReversed()) resolve(`of ${index}`);
  expect(await mapped).toEqual(['0 of 0', '1 of 1', '2 of 2']);
});

it('`mapSettled` begins nothing after an error, and throws the first one only once nothing is under way', async () => {
  const begun: number[] = [];
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  let settled = false;
  const mapped = mapSettled(
    gates,
    async ({ promise }, index) => {
      begun.push(index);
      await promise;
    },
    { concurrency: 2 },
  ).finally(() => (settled = true));
  const outcome = mapped.catch((error: unknown) => error);
  await vi.waitUntil(() => begun.length === 2, 20_000);
  gates[0]?.reject(new Error('the first'));
  await new Promise(setImmediate);
  expect(settled).toBe(false);
  gates[1]?.reject(new Error('the second'));
  expect(await outcome).toMatchObject({ message: 'the first' });
  expect(begun).toEqual([0, 1]);
});
