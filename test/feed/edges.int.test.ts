// What goes wrong around leases without anybody dying of it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CosmosClient } from '@azure/cosmos';
import { ChangeFeedProcessor } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Events } from '../../src/base/telemetry/diagnostics.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import { leaseStage } from './lease-stage.ts';
import { hostOf, numbers, write } from './processor-stage.ts';

/** Nothing expires while these tests run. */
const PATIENT = { expirationMs: 600_000, renewMs: 200 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

function heard<N extends keyof Events>(name: N): Events[N][] {
  const events: Events[N][] = [];
  const hear = (event: unknown): void => void events.push(event as Events[N]);
  subscribe(`millrace:${name}`, hear);
  onTestFinished(() => void unsubscribe(`millrace:${name}`, hear));
  return events;
}

it('a lease that can’t be read is an error each time, says why, and stops no other', async () => {
  const { monitored, leases, store } = await leaseStage(2);
  const [recreated, failed, refused] = [heard('lease:recreated'), heard('balancer:failed'), heard('feed:failed')];
  const a = await hostOf('a', monitored, store('a'), { timings: PATIENT });
  await a.processor.start();
  await until(() => expect(a.processor.status().leases).toHaveLength(2));
  const before = (await leases.item('P..0', 'P..0').read<{ id: string }>()).resource ?? { id: '' };
  await leases.item('P..0', 'P..0').replace({ ...before, version: 2 });
  await until(() => expect(failed.length).toBeGreaterThan(2));
  const unreadable = {
    code: 'lease-unreadable',
    message: expect.stringContaining("Lease P..0 can't be read: its version 2 is not known") as string,
  };
  for (const { error } of failed) expect(error).toMatchObject(unreadable);
  expect(a.processor.status()).toMatchObject({ known: 1, failure: unreadable });
  // Until its own write is refused it handles that lease's range as before, and what it handles then comes again.
  await until(() => expect(refused.map(({ lease }) => lease)).toContain('P..0'));
  await write(monitored, numbers(0, 40));
  await until(() => expect(a.pages.flat().length).toBeGreaterThan(10));
  await leases.item('P..0', 'P..0').replace({ ...before, Owner: null });
  await until(() => expect(a.pages.flat().toSorted()).toEqual(numbers(0, 40).toSorted()));
  expect(a.processor.status().failure).toBeUndefined();
  expect(recreated).toEqual([]);
});

it('stopping ends soon where the lease container answers with errors', async () => {
  const { monitored, store, emulator } = await leaseStage(2);
  await write(monitored, numbers(0, 10));
  const gate = Promise.withResolvers<void>();
  const a = await hostOf('a', monitored, store('a'), {
    timings: { ...PATIENT, stopMs: 600_000 },
    handle: () => gate.promise,
  });
  await a.processor.start();
  await until(() => expect(a.processor.status().leases.map(({ deliveries }) => deliveries)).toEqual([1, 1]));
  emulator.faults({ failBefore: 1 });
  const stopped = a.processor.stop();
  gate.resolve();
  await stopped;
  emulator.faults({});
  expect(a.processor.status().leases).toEqual([]);
});

it('two processes of one instance are noticed by the one that is left without leases', async () => {
  const { monitored, store } = await leaseStage(2);
  const failed = heard('balancer:failed');
  const a = await hostOf('a', monitored, store('a'), { timings: PATIENT });
  await a.processor.start();
  await until(() => expect(a.processor.status().leases).toHaveLength(2));
  expect(failed).toEqual([]);
  const again = await hostOf('a', monitored, store('a'), { timings: PATIENT });
  // A renewal at the moment of the taking would keep its lease, and leave the other without that one.
  const awake = Promise.withResolvers<void>();
  a.leases.standing = awake.promise;
  await again.processor.start();
  awake.resolve();
  await until(() => expect(a.processor.status().failure).toMatchObject({ code: 'instance-twice' }));
  expect(failed.map(({ error }) => (error as { code?: string }).code)).toContain('instance-twice');
  expect(again.processor.status()).toMatchObject({ failure: undefined });
  expect(again.processor.status().leases).toHaveLength(2);
});

it('a client that asks for answers without documents reads, shares and hands over like any other', async () => {
  const { monitored, leases, emulator } = await leaseStage(2);
  await write(monitored, numbers(0, 20));
  const seen: string[] = [];
  const open = async (instance: string): Promise<ChangeFeedProcessor> => {
    const { endpoint, key } = emulator;
    const client = new CosmosClient({ endpoint, key, defaultHeaders: { Prefer: 'return=minimal' } });
    onTestFinished(() => client.dispose());
    const database = client.database(monitored.database.id);
    const processor = new ChangeFeedProcessor({
      source: database.container(monitored.id),
      leases: database.container(leases.id),
      name: 'minimal',
      instance,
      start: 'beginning',
      timings: { acquireMs: 20, pollMs: 10, ...PATIENT },
      handler: (changes) => void seen.push(...changes.map(({ id }) => id)),
    });
    onTestFinished(() => processor.stop());
    await processor.start();
    return processor;
  };
  const a = await open('a');
  await until(() => expect(seen).toHaveLength(20));
  const b = await open('b');
  await until(() =>
    expect(b.status().leases).toMatchObject([{ state: expect.not.stringContaining('awaiting') as string }]),
  );
  await write(monitored, numbers(20, 40));
  await until(() => expect(seen.toSorted()).toEqual(numbers(0, 40).toSorted()));
  expect(a.status().leases).toHaveLength(1);
});

it.each(['/id', '/partitionKey'])(
  'a host whose lease container is deleted and made again with the key %s goes on where it was',
  async (key) => {
    const { monitored, leases, emulator } = await leaseStage(2);
    const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key });
    onTestFinished(() => client.dispose());
    const own = client.database(leases.database.id).container(leases.id);
    const store = new CosmosLeaseStore({ monitored, leases: own, host: 'a', prefix: 'P' });
    const [recreated, failed] = [heard('lease:recreated'), heard('balancer:failed')];
    const a = await hostOf('a', monitored, store);
    await write(monitored, numbers(0, 20));
    await a.processor.start();
    await until(() => expect(a.pages.flat()).toHaveLength(20));
    // So that the new container is behind what this client has seen of the old one.
    await until(() => expect(a.processor.status().leases.every(({ idleSince }) => idleSince !== undefined)).toBe(true));
    await leases.delete();
    await until(() => expect(failed.at(-1)?.error).toMatchObject({ code: 'lease-container-missing' }));
    expect(a.processor.status().failure).toMatchObject({ code: 'lease-container-missing' });
    await leases.database.containers.create({ id: leases.id, partitionKey: key, defaultTtl: -1 });
    await write(monitored, numbers(20, 40));
    await until(() => expect(a.processor.status()).toMatchObject({ leases: [{}, {}], failure: undefined }));
    await until(() => expect(new Set(a.pages.flat())).toEqual(new Set(numbers(0, 40))));
    expect(recreated).toHaveLength(2);
    // Only a page that was in hand then comes again.
    const handed = a.pages.flat();
    expect(numbers(0, 20).filter((id) => handed.filter((one) => one === id).length > 1)).toEqual([]);
  },
);
