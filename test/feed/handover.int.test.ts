// A lease that is taken from an owner who lives: PROC-L1c.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ChangeFeedProcessor, LeaseLost } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Events } from '../../src/base/telemetry/diagnostics.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { newLeaseDocument } from '../../src/feed/leases/lease-document.ts';
import { leaseStage } from './lease-stage.ts';
import { type Host, type HostOptions, hostOf, numbers, write } from './processor-stage.ts';

/** Nothing expires while these tests run. */
const PATIENT = { expirationMs: 600_000, renewMs: 200 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const handled = ({ pages }: Host): string[] => pages.flat();

async function stage(partitions = 2) {
  const { store, ...rest } = await leaseStage(partitions);
  const { leases: container } = rest;
  const handovers: Events['lease:handover'][] = [];
  const heard = (event: unknown): void => void handovers.push(event as Events['lease:handover']);
  subscribe('millrace:lease:handover', heard);
  onTestFinished(() => void unsubscribe('millrace:lease:handover', heard));
  const host = (name: string, options: HostOptions = {}): Promise<Host> =>
    hostOf(name, rest.monitored, store(name), { ...options, timings: { ...PATIENT, ...options.timings } });
  const leases = async () => (await rest.documents()).filter(({ id }) => id.startsWith('P..'));
  return { ...rest, container, host, handovers, leases };
}

it('a range is read by its new owner when the old one’s handlers have ended and where they got to, with nothing repeated', async () => {
  const { monitored, host, handovers, leases } = await stage();
  await write(monitored, numbers(0, 40));
  const gate = Promise.withResolvers<void>();
  const fences: Fence[] = [];
  const a = await host('a', {
    pageSize: 5,
    handle: (_page, fence) => {
      fences.push(fence);
      return gate.promise;
    },
  });
  await a.processor.start();
  await until(() => expect(fences).toHaveLength(2));
  const b = await host('b', { pageSize: 5 });
  await b.processor.start();
  await until(async () => expect(new Set((await leases()).map(({ Owner }) => Owner))).toEqual(new Set(['a', 'b'])));
  await until(() => expect(a.processor.status().leases.map(({ state }) => state)).toContain('yielding'));
  expect(b.processor.status().leases).toMatchObject([{ state: 'awaiting' }]);
  for (const fence of fences) fence.assert();
  expect(b.pages).toEqual([]);
  gate.resolve();
  await until(() => expect([...handled(a), ...handled(b)].toSorted()).toEqual(numbers(0, 40).toSorted()));
  expect(handled(b).length).toBeGreaterThan(0);
  expect(handovers).toMatchObject([{ from: 'a', answered: true }]);
  expect((await leases()).every(({ millrace }) => !('takenFrom' in (millrace as object)))).toBe(true);
});

it('a range that is idle is handed over long before it could expire', async () => {
  const { monitored, host, handovers } = await stage();
  await write(monitored, numbers(0, 4));
  const a = await host('a');
  await a.processor.start();
  await until(() => expect(handled(a)).toHaveLength(4));
  const b = await host('b');
  await b.processor.start();
  await until(() => expect(handovers).toMatchObject([{ from: 'a', answered: true }]));
});

it('a range of an owner that never answers is read once its last write has expired', async () => {
  const { monitored, host, handovers } = await stage();
  await write(monitored, numbers(0, 10));
  const first = await host('a');
  await first.processor.start();
  await until(() => expect(handled(first)).toHaveLength(10));
  first.kill();
  await write(monitored, numbers(10, 20));
  const expirationMs = 1_500;
  const b = await host('b', { timings: { expirationMs, renewMs: 300, acquireMs: 100 } });
  await b.processor.start();
  // What the first one had handled and not acknowledged comes again.
  await until(() => expect(handled(b)).toEqual(expect.arrayContaining(numbers(10, 20))));
  expect(handovers.length).toBeGreaterThan(0);
  for (const { answered, waitedMs } of handovers) {
    expect(answered).toBe(false);
    expect(waitedMs).toBeGreaterThan(expirationMs / 2);
  }
});

it('a range that is taken and is offered by its new owner before that one has begun, is still waited for by the next', async () => {
  const { monitored, host, handovers, leases } = await stage();
  await write(monitored, numbers(0, 40));
  const gate = Promise.withResolvers<void>();
  const a = await host('a', { pageSize: 5, handle: () => gate.promise });
  await a.processor.start();
  await until(() => expect(a.processor.status().leases).toHaveLength(2));
  const b = await host('b');
  await b.processor.start();
  await until(() => expect(b.processor.status().leases).toMatchObject([{ state: 'awaiting' }]));
  await b.processor.stop();
  expect(await leases()).toContainEqual(
    expect.objectContaining({ Owner: null, millrace: expect.objectContaining({ takenFrom: expect.anything() }) }),
  );
  const c = await host('c');
  await c.processor.start();
  await until(() => expect(c.processor.status().leases).toMatchObject([{ state: 'awaiting' }]));
  expect(c.pages).toEqual([]);
  gate.resolve();
  await until(() => expect([...handled(a), ...handled(c)].toSorted()).toEqual(numbers(0, 40).toSorted()));
  expect(handovers).toMatchObject([{ from: 'a', answered: true }]);
});

it('a range that is taken and was being split, is split and not read: its parts are read already', async () => {
  const { monitored, container, host, leases } = await stage(1);
  await write(monitored, numbers(0, 20));
  const [whole, half] = [
    { min: '', max: 'FF' },
    { min: '', max: '20000000000000000000000000000000' },
  ];
  // Who split it died, and so did who took it from that one; the partitions were merged again.
  await container.items.create({
    ...newLeaseDocument('P', '0', whole, null),
    Owner: 'dead',
    millrace: { tenure: 'later', takenFrom: { owner: 'gone', tenure: 'earlier' } },
  });
  await container.items.create(newLeaseDocument('P', undefined, half, null));
  const read: unknown[] = [];
  const timings = { expirationMs: 500, renewMs: 100, acquireMs: 100 };
  const b = await host('b', { timings, handle: ({ range }) => void read.push(range) });
  await b.processor.start();
  await until(async () => expect((await leases()).map(({ id }) => id)).not.toContain('P..0'));
  await until(() => expect(handled(b).toSorted()).toEqual(numbers(0, 20).toSorted()));
  expect(read).not.toContainEqual(whole);
});

it('a range that is taken by a host of another kind, which doesn’t wait, shows to a handler that asks the lease', async () => {
  const { monitored, leases: container } = await leaseStage();
  await write(monitored, ['d']);
  const known: unknown[] = [];
  const asked: unknown[] = [];
  const processor = new ChangeFeedProcessor({
    source: monitored,
    leases: container,
    name: 'P',
    instance: 'a',
    start: 'beginning',
    timings: { expirationMs: 600_000, renewMs: 300_000 },
    handler: async (_changes, context) => {
      await context.assertOwned({ fresh: true });
      const { resources } = await container.items
        .query<{ id: string; millrace: unknown }>('SELECT * FROM c WHERE IS_DEFINED(c.Owner)')
        .fetchAll();
      const [lease] = resources;
      const { millrace: _, ...foreign } = lease ?? { id: '', millrace: undefined };
      await container.item(foreign.id, foreign.id).replace({ ...foreign, Owner: 'dotnet' });
      known.push(context.assertOwned());
      await context.assertOwned({ fresh: true }).catch((error: unknown) => asked.push(error));
      expect(() => context.assertOwned()).toThrow(LeaseLost);
      known.push('told');
    },
  });
  onTestFinished(() => processor.stop());
  await processor.start();
  await until(() => expect(known).toEqual([undefined, 'told']));
  expect(asked).toEqual([expect.any(LeaseLost)]);
});
