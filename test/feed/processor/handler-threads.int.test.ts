// Handlers in threads of their own: what blocks them takes nothing from the lease.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { randomUUID } from 'node:crypto';
import { ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

const MODULE = new URL('thread-handler.ts', import.meta.url);
const TIMINGS = { acquireMs: 50, expirationMs: 2_000, renewMs: 200, pollMs: 20, stallMs: 60_000 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 40_000, interval: 10 });

async function stage() {
  const { database, container } = await emulate();
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const name = randomUUID();
  const said: { readonly id: string; readonly said: unknown }[] = [];
  const channel = new BroadcastChannel(name);
  channel.addEventListener(
    'message',
    (event) => void said.push((event as unknown as { readonly data: (typeof said)[0] }).data),
  );
  const events: string[] = [];
  const heard = (event: unknown, at: string | symbol): void => {
    const { host, reason, error } = event as { host?: string; reason?: string; error?: { code: string } };
    events.push([String(at).replace('millrace:', ''), host, reason, error?.code].filter(Boolean).join(' '));
  };
  const heardOf = ['millrace:lease:acquired', 'millrace:lease:released', 'millrace:handler:ended'];
  for (const at of heardOf) subscribe(at, heard);
  onTestFinished(() => {
    for (const at of heardOf) unsubscribe(at, heard);
    channel.close();
  });
  const open = (instance: string, options: Partial<ChangeFeedProcessorOptions> = {}): ChangeFeedProcessor => {
    const processor = new ChangeFeedProcessor({
      source: container,
      leases,
      name: 'P',
      instance,
      start: 'beginning',
      handler: MODULE,
      ...options,
      timings: { ...TIMINGS, ...options.timings },
    });
    onTestFinished(() => processor.stop());
    return processor;
  };
  const write = (id: string, order: object = {}) => container.items.upsert({ id, pk: id, channel: name, ...order });
  return { write, open, said, events, leases };
}

it('keeps its lease while a handler computes for three times the expiration and another host waits', async () => {
  const { write, open, said, events } = await stage();
  await write('a', { blockMs: 3 * TIMINGS.expirationMs });
  await open('busy').start();
  const others: string[] = [];
  await open('waiting', { handler: (changes) => void others.push(...changes.map(({ id }) => id)) }).start();
  await until(() => expect(said).toEqual([{ id: 'a', said: 'handled, attempt 1 of lease 0' }]));
  expect(others).toEqual([]);
  await until(() => expect(events).toEqual(['lease:acquired busy', 'handler:ended']));
});

it('gives it up where the handler never ends, says so, and ends the thread', async () => {
  const { write, open, said, events } = await stage();
  await write('a', { blockMs: 600_000 });
  const busy = open('busy', { timings: { stallMs: 500 } });
  await busy.start();
  await until(() => expect(events[1]).toMatch(/^lease:released busy .*a handler has taken more than 0.5 s/));
  const others: string[] = [];
  await open('other', { handler: (changes) => void others.push(...changes.map(({ id }) => id)) }).start();
  await until(() => expect(others).toContain('a'));
  await until(() => expect(events).toContain('handler:ended handler-thread-ended'));
  expect(said).toEqual([]);
});

it('lets a handler that was blocked know that its lease is lost', async () => {
  const { write, open, said } = await stage();
  await write('a', { assertAfterMs: 1_500 });
  await open('busy', { timings: { stallMs: 500 } }).start();
  await until(() => expect(said[0]).toEqual({ id: 'a', said: expect.stringContaining('more than 0.5 s') as string }));
});

it('tells the handler what it would be told in the same thread, and takes its failures for failures', async () => {
  const { write, open, said } = await stage();
  const parked: string[] = [];
  const processor = open('a', {
    failure: { kind: 'park', attempts: 2, park: ({ id }, error) => void parked.push(`${id}: ${String(error)}`) },
    handlerTimeoutMs: 1_000,
  });
  await write('bad', { fail: 'no such thing' });
  await processor.start();
  await until(() => expect(parked).toEqual(['bad: TypeError: no such thing']));
  await write('slow', { untilAborted: true });
  await until(() => expect(parked).toHaveLength(2));
  expect(said[0]).toEqual({ id: 'slow', said: expect.stringContaining('took longer than 1000 ms') as string });
  await write('good');
  await until(() => expect(said.at(-1)).toEqual({ id: 'good', said: 'handled, attempt 1 of lease 0' }));
});

it('asks the lease for a handler that wants to know, also of hosts that wait for nobody', async () => {
  const { write, open, said, leases } = await stage();
  const processor = open('a', { timings: { renewMs: 300_000, expirationMs: 600_000 } });
  await write('a', { confirm: true });
  await processor.start();
  await until(() => expect(said).toEqual([{ id: 'a', said: 'handled, attempt 1 of lease 0' }]));
  await processor.drained();
  const [lease] = (
    await leases.items.query<{ id: string; millrace: unknown }>('SELECT * FROM c WHERE IS_DEFINED(c.Owner)').fetchAll()
  ).resources;
  const { millrace: _, ...foreign } = lease ?? { id: '', millrace: undefined };
  await leases.item(foreign.id, foreign.id).replace({ ...foreign, Owner: 'dotnet' });
  await write('b', { confirm: true });
  await until(() => expect(said[1]).toEqual({ id: 'b', said: expect.stringContaining('another host') as string }));
});

it('takes acknowledgements by hand after the handler has resolved', async () => {
  const { write, open, said } = await stage();
  const processor = open('a', { checkpoint: 'manual' });
  await write('a', { checkpoint: true });
  await write('b', { checkpoint: true });
  await processor.start();
  await until(() => expect(said.map(({ id }) => id).toSorted()).toEqual(['a', 'b']));
  await processor.drained();
  expect(said.every(({ said: what }) => what === 'stored')).toBe(true);
});

it('refuses a module that has no handler', async () => {
  const { open } = await stage();
  const without = open('a', { handler: new URL('processor-stage.ts', import.meta.url) });
  await expect(without.start()).rejects.toMatchObject({ code: 'handler-module-invalid' });
  const missing = open('b', { handler: new URL('nowhere.ts', import.meta.url) });
  await expect(missing.start()).rejects.toMatchObject({ code: 'handler-module-invalid' });
});
