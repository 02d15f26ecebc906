// The lag of a whole processor, by its name alone: of our own leases and those of other hosts.
import { ChangeFeedEstimator, ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import { MemoryLeases } from '../../support/memory-leases.ts';
import { expect, it, onTestFinished, vi } from 'vitest';
import { leasePrefix } from '../../../src/feed/leases/cosmos-lease-store.ts';
import type { NewLease } from '../../../src/feed/leases/dialects/dialect.ts';
import { writeDocument } from '../../../src/feed/leases/dialects/write.ts';
import { emulate } from '../../emulator/emulate.ts';

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const WHOLE = { min: '', max: 'FF' };

async function stage() {
  const { emulator, database, container } = await emulate();
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) await container.items.upsert({ id: `d${n}`, pk: `d${n}` });
  };
  const open = (options: Partial<ChangeFeedProcessorOptions> = {}): ChangeFeedProcessor => {
    const common = { source: container, leases, name: 'P', instance: 'a', start: 'beginning', timings: BRISK } as const;
    const processor = new ChangeFeedProcessor({ ...common, handler: () => undefined, ...options });
    onTestFinished(() => processor.stop());
    return processor;
  };
  const [home, of] = [await database.read(), await container.read()];
  const rid = of.resource?._rid ?? '';
  const byRid = (name: string) => leasePrefix(name, emulator.endpoint, home.resource?._rid ?? '', rid);
  const byName = (name: string) => leasePrefix(name, emulator.endpoint, 'd', 'c');
  const put = (dialect: Parameters<typeof writeDocument>[0], lease: Omit<NewLease, 'rid'>) =>
    leases.items.create(writeDocument(dialect, { ...lease, rid }));
  return { emulator, container, leases, write, open, byRid, byName, put };
}

it('a processor estimates its own lag, before its start, while it is behind, and after its stop', async () => {
  const { write, open, emulator } = await stage();
  const gate = Promise.withResolvers<void>();
  let closed = false;
  const processor = open({ handler: () => (closed ? gate.promise : undefined) });
  const estimator = processor.estimator();
  expect(await estimator.current()).toEqual({ changes: 0, ageMs: 0, complete: false, charge: 0, leases: [] });
  await write(0, 5);
  await processor.start();
  await processor.drained();
  expect(await estimator.current()).toMatchObject({
    changes: 0,
    complete: true,
    leases: [{ leaseToken: '0', range: WHOLE, instance: 'a', position: '"5"', lag: { known: true, changes: 0 } }],
  });
  closed = true;
  emulator.split('d/c');
  // What is written before the lease is split is shared by the parts, and estimated (PROC-L5c).
  await until(async () => expect((await estimator.current()).leases).toHaveLength(2));
  await write(5, 12);
  await until(async () => expect(await estimator.current()).toMatchObject({ changes: 7, complete: true }));
  gate.resolve();
  await processor.drained();
  await processor.stop();
  await write(12, 14);
  const { changes, leases, charge } = await estimator.current();
  expect([changes, leases.map(({ instance }) => instance)]).toEqual([2, [null, null]]);
  expect(charge).toBeGreaterThan(0);
  expect((await estimator.lags()).map(({ container, lease }) => [container, lease])).toEqual(
    leases.map(({ leaseToken }) => ['c', leaseToken]),
  );
});

it.each(['dotnet-v0', 'dotnet-v1', 'java-epk', 'java-pk'] as const)(
  'an estimator knows a processor by its name alone, of leases of %s',
  async (dialect) => {
    const { container, leases, write, put, byRid, byName } = await stage();
    await write(0, 10);
    const prefix = dialect === 'java-pk' ? byName('billing') : byRid('billing');
    await put(dialect, { prefix, partition: '0', range: WHOLE, position: '"4"', owner: 'theirs' });
    const estimator = new ChangeFeedEstimator({ source: container, leases, name: 'billing' });
    expect(await estimator.current()).toMatchObject({
      changes: 6,
      complete: true,
      leases: [{ range: WHOLE, instance: 'theirs', position: '"4"' }],
    });
    const other = new ChangeFeedEstimator({ source: container, leases, name: 'bill' });
    expect((await other.current()).leases, 'a name counts whole').toEqual([]);
  },
);

it('a lag that can’t be known is no number, and the sum says that it is a part', async () => {
  const { container, leases, write, put, byRid } = await stage();
  await write(0, 3);
  await put('dotnet-v0', { prefix: byRid('P'), partition: '0', range: WHOLE, owner: null });
  const from = (start?: 'beginning') =>
    new ChangeFeedEstimator({ source: container, leases, name: 'P', ...(start && { start }) });
  expect(await from().current()).toMatchObject({ changes: 0, complete: false, leases: [{ lag: { known: false } }] });
  expect(await from('beginning').current()).toMatchObject({ changes: 3, complete: true });
});

it('an estimator takes leases in memory, and refuses with the name of what is missing', async () => {
  const { container, leases, write, open } = await stage();
  await write(0, 3);
  const memory = new MemoryLeases(async () => [WHOLE]);
  const processor = open({ leases: memory.store('a') });
  await processor.start();
  await processor.drained();
  expect(await processor.estimator().current()).toMatchObject({ changes: 0, complete: true });
  const nowhere = container.database.container('nowhere');
  await expect(new ChangeFeedEstimator({ source: nowhere, leases, name: 'P' }).current()).rejects.toMatchObject({
    code: 'container-missing',
    hint: 'Create the container, or correct its name.',
  });
  await expect(
    new ChangeFeedEstimator({ source: container, leases: nowhere, name: 'P' }).current(),
  ).rejects.toMatchObject({
    code: 'lease-container-missing',
  });
});
