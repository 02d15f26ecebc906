// When everything is read, as a host says it: whichever hosts read it.
import { type TestContext, expect, it, vi } from 'vitest';
import { type App, compose } from '../../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const { signal } = new AbortController();
const order = (id: string) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00Z',
  cents: 1,
});

async function world({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const stage: Stage = await openStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const host = async (name: string): Promise<App> => {
    const timings = { pollMs: 20, acquireMs: 20, expirationMs: 600_000, renewMs: 1_000, checkpointMs: 50 };
    const app = await compose({ ...stage, host: name, readLagMs: 0, timings });
    onTestFinished(() => app.stop());
    return app;
  };
  const write = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) await stage.container('Orders').items.create(order(`o${n}`));
  };
  return { stage, host, write };
}

const held = (app: App): number => app.sources().reduce((sum, { leases }) => sum + leases.length, 0);

it('`drained` is said by a host too that has no leases, as others have them all', async (context) => {
  const { host, write } = await world(context);
  const [a, b] = [await host('a'), await host('b')];
  await a.start();
  await vi.waitFor(() => expect(a.sources().every(({ leases }) => leases.length > 0)).toBe(true), 20_000);
  await b.start();
  await write(0, 20);
  await b.drained(signal);
  expect(held(b)).toBe(0);
  expect(a.stats().some(({ changes }) => changes === 20)).toBe(true);
});

it('`drained` is not said while changes are left that no host reads', async (context) => {
  const { stage, host, write } = await world(context);
  const [a, b, watching] = [await host('a'), await host('b'), await host('watching')];
  await a.start();
  await a.drained(signal);
  await a.stop();
  await write(0, 20);
  let done = false;
  const drained = watching.drained(signal).then(() => (done = true));
  const listings = (): number => stage.emulator.stats().requests['query'] ?? 0;
  const before = listings();
  await vi.waitFor(() => expect(listings()).toBeGreaterThan(before + 20), { timeout: 20_000, interval: 5 });
  expect(done).toBe(false);
  await b.start();
  await drained;
  expect(b.stats().some(({ changes }) => changes === 20)).toBe(true);
});

it('`drained` is no more to be had from a host that stops, or was stopped', async (context) => {
  const { stage, host, write } = await world(context);
  const [a, watching] = [await host('a'), await host('watching')];
  await a.start();
  await a.drained(signal);
  await a.stop();
  await expect(a.drained(signal)).rejects.toMatchObject({ code: 'processor-stopped' });
  await write(0, 1);
  const waiting = watching.drained(signal);
  waiting.catch(() => undefined);
  const { query = 0 } = stage.emulator.stats().requests;
  await vi.waitFor(() => expect(stage.emulator.stats().requests['query']).toBeGreaterThan(query + 5), 20_000);
  await watching.stop();
  await expect(waiting).rejects.toMatchObject({ code: 'processor-stopped' });
});
