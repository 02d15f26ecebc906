import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/base/clock.ts';
import { Limit } from '../../../../src/procedures/move/switch/limit.ts';
import { Pause } from '../../../../src/procedures/move/switch/pause.ts';
import { Sleepers } from '../../../support/sleepers.ts';

const { signal } = new AbortController();

function begin() {
  const sleepers = new Sleepers();
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, until) => sleepers.sleepUntil(now + ms, until),
  };
  const pass = (ms: number): void => {
    now += ms;
    sleepers.wakeAt(now);
  };
  const tooSlow = (): Error => new Error('too slow');
  return { pass, limit: new Limit({ clock, signal, pause: new Pause(clock), tooSlow }) };
}

it('work that takes too long is told to end, and is not waited for; the next try waits until it has ended', async () => {
  const { pass, limit } = begin();
  const { promise, resolve } = Promise.withResolvers<void>();
  let told: AbortSignal | undefined;
  const done = limit.of(500, (until) => {
    told = until;
    return promise;
  });
  pass(499);
  expect(told?.aborted).toBe(false);
  pass(1);
  await expect(done).rejects.toThrow('too slow');
  expect(told?.aborted).toBe(true);
  let isIdle = false;
  const idle = limit.idle().then(() => (isIdle = true));
  await Promise.resolve();
  expect(isIdle).toBe(false);
  resolve();
  await idle;
});

it('work in time has its result, and after the limit none begins', async () => {
  const { pass, limit } = begin();
  expect(await limit.of(500, () => Promise.resolve(1))).toBe(1);
  pass(500);
  let isBegun = false;
  await expect(limit.of(500, async () => void (isBegun = true))).rejects.toThrow('too slow');
  expect(isBegun).toBe(false);
});
