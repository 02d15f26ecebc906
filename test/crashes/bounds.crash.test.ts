// What a history may take: one that never ends is reported, with its plan and its last request.
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Mortal, crashes } from '../support/crashes.ts';

/** A request, and `after` it if its answer is lost. */
const scenario = (after: (process: Mortal) => Promise<unknown>) => ({
  name: 'two requests',
  open: async () => ({
    world: async () => ({
      work: (process: Mortal) => process.request('first', true, async () => undefined).catch(() => after(process)),
      judge: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }),
    [Symbol.asyncDispose]: async () => undefined,
  }),
});

it('a history that sends requests without end, or only waits, is reported with its plan and its last request', async () => {
  const asking = await crashes(
    scenario(async (process) => {
      for (;;) await process.request('again', false, () => turn());
    }),
    1,
  );
  expect(asking.failures[0]).toMatch(
    /^MILLRACE_CRASH=0l two requests: lost of 0 \(first\); last \d+ \(again\): It sent more than/,
  );
  const waiting = await crashes(
    scenario(async () => {
      for (;;) await delay(60_000);
    }),
    1,
  );
  expect(waiting.failures[0]).toMatch(/^MILLRACE_CRASH=0l .*It didn’t end within 120 minutes/);
});

it('a loop that waits for less than the clock can show gets on', async () => {
  const { failures } = await crashes(
    scenario(async () => {
      await delay(60_000);
      const start = performance.now();
      while (performance.now() === start) await delay(1e-15);
    }),
    1,
  );
  expect(failures).toEqual([]);
});
