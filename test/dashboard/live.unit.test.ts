import { expect, it, vi } from 'vitest';
import { Live, MOST_READERS, type Published, UPDATE_MS } from '../../src/dashboard/live.ts';

function stage(look: () => Promise<Published> = async () => ({ event: 'status', data: () => '0' }), everyMs = 5) {
  const stopped = new AbortController();
  const live = new Live({ look, everyMs, signal: stopped.signal });
  return { live, stopped };
}

it('a slow browser gets the latest event of each name, and nothing is kept for it', async () => {
  const { live, stopped } = stage(undefined, 60_000);
  const got: string[] = [];
  let go: () => void = () => undefined;
  let written = 0;
  const reading = live.read(async ({ event, data }) => {
    got.push(`${event} ${data}`);
    await new Promise<void>((resolve) => (go = resolve));
  }, stopped.signal);
  await vi.waitUntil(() => got.length === 1, 20_000);
  for (let at = 1; at <= 10_000; at++) live.publish({ event: 'runs', data: () => String((written += 1) && at) });
  go();
  await vi.waitUntil(() => got.length === 2, 10_000);
  expect(got).toEqual(['status 0', 'runs 10000']);
  expect(written).toBe(1);
  go();
  stopped.abort();
  go();
  await reading;
  expect(live.readers).toBe(0);
});

it('the live stream sends at most ten updates a second, however often something changes', async () => {
  let looks = 0;
  const log: string[] = [];
  const stopped = new AbortController();
  const clock = {
    sleep: async (ms: number): Promise<void> => {
      if (ms === UPDATE_MS) log.push('pause');
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const look = async (): Promise<Published> => {
    const at = (looks += 1);
    return { event: 'status', data: () => String(at) };
  };
  const live = new Live({ look, everyMs: 1, signal: stopped.signal, clock });
  const reading = live.read(async () => void log.push('update'), stopped.signal);
  await vi.waitUntil(() => log.length >= 40, 20_000);
  stopped.abort();
  await reading;
  expect(UPDATE_MS).toBeGreaterThan(100);
  expect(log.filter((what, at) => what !== (at % 2 === 0 ? 'update' : 'pause'))).toEqual([]);
});

it('the live stream looks at the pipeline once for all browsers, and not at all without one', async () => {
  let looks = 0;
  const { live, stopped } = stage(async () => {
    const at = (looks += 1);
    return { event: 'status', data: () => String(at) };
  });
  live.publish({ event: 'runs', data: () => '[]' });
  expect(looks).toBe(0);
  const left = new AbortController();
  const both = [live.read(async () => undefined, left.signal), live.read(async () => undefined, left.signal)];
  await vi.waitUntil(() => looks >= 2, 10_000);
  left.abort();
  await Promise.all(both);
  await live.idle();
  const after = looks;
  live.publish({ event: 'runs', data: () => '[1]' });
  expect(looks).toBe(after);
  stopped.abort();
});

it('the live stream serves so many browsers and no more', async () => {
  const { live, stopped } = stage();
  const all = Array.from({ length: MOST_READERS }, () => live.read(async () => undefined, stopped.signal));
  expect(() => live.read(async () => undefined, stopped.signal)).toThrow(/browsers read the dashboard already/);
  stopped.abort();
  await Promise.all(all);
  expect(live.readers).toBe(0);
});
