// What a processor reports by callbacks, and what it warns of without them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  type AcquiredLease,
  ChangeFeedProcessor,
  type ChangeFeedProcessorOptions,
  type ErrorContext,
  type ReleasedLease,
} from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

async function stage() {
  const { emulator, database, container } = await emulate();
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = (id: string) => container.items.upsert({ id, pk: id });
  const open = (options: Partial<ChangeFeedProcessorOptions>): ChangeFeedProcessor => {
    const processor = new ChangeFeedProcessor({
      source: container,
      leases,
      name: 'P',
      instance: 'a',
      start: 'beginning',
      timings: BRISK,
      handler: () => undefined,
      ...options,
    });
    onTestFinished(() => processor.stop());
    return processor;
  };
  return { emulator, container, leases, write, open };
}

/** The warnings of this process from here on: code and message. */
function warnings(): { readonly code: string; readonly message: string }[] {
  const seen: { code: string; message: string }[] = [];
  const hear = (warning: Error & { code?: string }): void =>
    void (warning.name === 'MillraceWarning' && seen.push({ code: warning.code ?? '', message: warning.message }));
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  return seen;
}

function failedCallbacks(): unknown[] {
  const seen: unknown[] = [];
  const hear = (event: unknown): void => void seen.push(event);
  subscribe('millrace:callback:failed', hear);
  onTestFinished(() => void unsubscribe('millrace:callback:failed', hear));
  return seen;
}

/** Fails as often as it is told to. */
function failing(times: number) {
  let calls = 0;
  return {
    handler: (): void => {
      calls += 1;
      if (calls <= times) throw new Error(`failure ${calls}`);
    },
    calls: () => calls,
  };
}

it('leases are reported when they are taken and when they end, with the reason', async () => {
  const { emulator, write, open } = await stage();
  await write('d0');
  const acquired: AcquiredLease[] = [];
  const released: ReleasedLease[] = [];
  const processor = open({
    onAcquired: (lease) => void acquired.push(lease),
    onReleased: (lease) => void released.push(lease),
  });
  await processor.start();
  await processor.drained();
  expect(acquired).toEqual([{ leaseToken: '0', range: { min: '', max: 'FF' }, position: undefined }]);
  emulator.split('d/c');
  await write('d1');
  await until(() => expect(acquired).toHaveLength(3));
  expect(released).toMatchObject([{ leaseToken: '0', position: '"1"', reason: 'split' }]);
  await processor.stop();
  const ends = released.slice(1).map(({ leaseToken, reason }) => `${leaseToken} ${reason}`);
  expect(ends.toSorted()).toEqual(['1 stopped', '2 stopped']);
});

it('a lease that another host takes is reported as lost, with what happened', async () => {
  const { leases, open } = await stage();
  const released: ReleasedLease[] = [];
  const processor = open({ onReleased: (lease) => void released.push(lease) });
  await processor.start();
  const { resources } = await leases.items
    .query<{ id: string }>('SELECT * FROM c WHERE IS_DEFINED(c.Owner)')
    .fetchAll();
  const [lease] = resources;
  if (!lease) throw new Error('There is no lease');
  await leases.item(lease.id, lease.id).replace({ ...lease, Owner: 'thief' });
  await until(() => expect(released).not.toEqual([]));
  expect(released[0]).toMatchObject({ leaseToken: '0', reason: 'lost' });
  expect(released[0]?.why).toContain('is lost');
});

it('each failure of the handler is reported, and nothing is warned of', async () => {
  const { write, open } = await stage();
  const warned = warnings();
  await write('d0');
  const errors: [string, ErrorContext][] = [];
  const { handler, calls } = failing(3);
  const processor = open({ handler, onError: (error, context) => void errors.push([String(error), context]) });
  await processor.start();
  await processor.drained();
  expect(calls()).toBe(4);
  const where = { part: 'handler', container: 'c', leaseToken: '0', range: { min: '', max: 'FF' } };
  expect(errors).toEqual([1, 2, 3].map((n) => [`Error: failure ${n}`, where]));
  expect(warned).toEqual([]);
});

it('without onError a handler that fails again and again is warned of once a run', async () => {
  const { write, open } = await stage();
  const warned = warnings();
  await write('d0');
  const first = failing(4);
  let now = first;
  const processor = open({ handler: () => now.handler() });
  await processor.start();
  await processor.drained();
  expect(first.calls()).toBe(5);
  await until(() => expect(warned).toHaveLength(1));
  expect(warned[0]).toEqual({
    code: 'MILLRACE_HANDLER_FAILED',
    message:
      'The handler of c failed on lease 0: failure 1. Millrace delivers the changes again until it succeeds. Set the option onError to get every failure.',
  });
  now = failing(2);
  await write('d1');
  await processor.drained();
  expect(now.calls()).toBe(3);
  await until(() => expect(warned).toHaveLength(2));
});

it('with keys at the same time, the success of another key ends no run', async () => {
  const { write, open } = await stage();
  const warned = warnings();
  for (const id of ['poison', 'd1', 'd2']) await write(id);
  let failures = 0;
  const handled: string[] = [];
  const processor = open({
    order: 'document',
    handler: ([change]) => {
      if (change?.id === 'poison' && failures < 4) {
        failures += 1;
        throw new Error('bitter');
      }
      handled.push(change?.id ?? '');
    },
  });
  await processor.start();
  await processor.drained();
  expect(handled).toContain('d1');
  expect(failures).toBe(4);
  expect(warned.map(({ code }) => code)).toEqual(['MILLRACE_HANDLER_FAILED']);
});

it('a processor that its policy stops says so, by closed and by a warning', async () => {
  const { write, open } = await stage();
  const warned = warnings();
  await write('d0');
  const errors: unknown[] = [];
  const quiet = open({ handler: failing(9).handler, failure: { kind: 'stop', attempts: 2 } });
  await quiet.start();
  await expect(quiet.closed).rejects.toMatchObject({ code: 'handler-halted' });
  await until(() => expect(warned[0]?.message).toContain('on lease 0: failure 2. The processor stops.'));
  const heard = open({
    handler: failing(9).handler,
    failure: { kind: 'stop', attempts: 2 },
    onError: (error) => void errors.push(error),
  });
  await heard.start();
  await expect(heard.closed).rejects.toMatchObject({ code: 'handler-halted' });
  expect(errors.map(String)).toEqual([
    'Error: failure 1',
    'Error: failure 2',
    'MillraceError: The handler of c failed 2 times: failure 2',
  ]);
  expect(warned).toHaveLength(1);
});

it('a feed that can’t be read is reported each time, and warned of once', async () => {
  const { container, open } = await stage();
  const warned = warnings();
  const errors: ErrorContext[] = [];
  await open({}).start();
  await open({ name: 'Q', onError: (_error, context) => void errors.push(context) }).start();
  await container.delete();
  await until(() => expect(errors.filter(({ part }) => part === 'feed').length).toBeGreaterThan(2));
  expect(errors[0]).toMatchObject({ leaseToken: '0', range: { min: '', max: 'FF' } });
  const said = warned.filter(({ code }) => code === 'MILLRACE_FEED_FAILED');
  expect(said).toHaveLength(1);
  expect(said[0]?.message).toContain('The feed of c failed on lease 0');
});

it('a handler that hangs is reported, and warned of, when its lease is given up', async () => {
  const { write, open } = await stage();
  const warned = warnings();
  await write('d0');
  const errors: [string, ErrorContext][] = [];
  const released: ReleasedLease[] = [];
  const hanging = {
    handler: () => new Promise<void>(() => undefined),
    timings: { ...BRISK, stallMs: 150, stopMs: 300 },
  };
  const reporting = open({
    ...hanging,
    name: 'Q',
    onError: (error, context) => void errors.push([String(error), context]),
    onReleased: (lease) => void released.push(lease),
  });
  await open(hanging).start();
  await reporting.start();
  await until(() => expect(warned).not.toEqual([]));
  expect(warned[0]).toMatchObject({ code: 'MILLRACE_FEED_FAILED' });
  expect(warned[0]?.message).toContain('a handler has taken more than 0.15 s');
  await until(() => expect(released).not.toEqual([]));
  expect(errors[0]).toEqual([
    expect.stringContaining('a handler has taken'),
    expect.objectContaining({ part: 'feed' }),
  ]);
});

it('a callback that throws harms nothing, and is published', async () => {
  const { write, open } = await stage();
  const failed = failedCallbacks();
  await write('d0');
  const { handler } = failing(1);
  const processor = open({
    handler,
    onAcquired: () => {
      throw new Error('acquired');
    },
    onError: () => Promise.reject(new Error('told')),
    onReleased: async () => {
      throw new Error('released');
    },
  });
  await processor.start();
  await processor.drained();
  await processor.stop();
  await until(() =>
    expect(failed).toMatchObject([
      { container: 'c', callback: 'onAcquired', error: { message: 'acquired' } },
      { callback: 'onError', error: { message: 'told' } },
      { callback: 'onReleased', error: { message: 'released' } },
    ]),
  );
});
