import { expect, it } from 'vitest';
import { renewed } from '../../src/host/functions/renewed.ts';
import { systemClock } from '../../src/base/clock.ts';

function counting(stands: (count: number) => boolean, fails: (count: number) => boolean = () => false) {
  let now = 0;
  let made = 0;
  const get = renewed(
    async () => {
      made += 1;
      if (fails(made)) throw new Error(`failed ${made}`);
      return made;
    },
    { stands, afterMs: 100, clock: { ...systemClock, monotonic: () => now } },
  );
  return { get, pass: (ms: number) => (now += ms) };
}

it('a renewed value keeps what stands', async () => {
  const { get, pass } = counting(() => true);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  pass(1_000_000);
  expect(await get()).toBe(1);
});

it('a renewed value makes what doesn’t stand again, after a while', async () => {
  const { get, pass } = counting((count) => count > 1);
  expect(await get()).toBe(1);
  pass(99);
  expect(await get()).toBe(1);
  pass(1);
  expect(await get()).toBe(2);
  pass(1_000_000);
  expect(await get()).toBe(2);
});

it('a renewed value remembers no failure', async () => {
  const { get } = counting(
    () => true,
    (count) => count === 1,
  );
  await expect(get()).rejects.toThrow('failed 1');
  expect(await get()).toBe(2);
});
