// What handlers and readers get in both modes of the feed, as TypeScript sees it and as it comes.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { type Change, ChangeFeedProcessor, type VersionChange, readChanges } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

interface Order {
  readonly id: string;
  readonly pk: string;
  readonly v: number;
}

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

async function stage() {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  const { database, container } = await emulate({ changeFeedPolicy });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = (v: number) => container.items.upsert<Order>({ id: '1', pk: 'p', v });
  return { container, leases, write, common: { source: container, leases, name: 'P', instance: 'a', timings: BRISK } };
}

it('in the latest version each change has a document of the given type', async () => {
  const { common, write } = await stage();
  await write(1);
  await write(2);
  const seen: Order[] = [];
  const processor = new ChangeFeedProcessor<Order>({
    ...common,
    start: 'beginning',
    handler: (changes) => {
      // A handler may change its array: what it takes off is acknowledged all the same.
      for (let change; (change = changes.pop());) seen.push({ ...change.doc, v: change.doc.v + 1 });
    },
  });
  onTestFinished(() => processor.stop());
  await processor.start();
  await processor.drained();
  expect(seen).toMatchObject([{ id: '1', pk: 'p', v: 3 }]);
  const [position] = await processor.checkpoint();
  expect(position?.position).toBe('"2"');
});

it('a handler that names its changes needs no other type', async () => {
  const { common, write } = await stage();
  await write(7);
  const seen: number[] = [];
  const processor = new ChangeFeedProcessor({
    ...common,
    start: 'beginning',
    handler: (changes: Change<Order>[]) => void seen.push(...changes.map(({ doc }) => doc.v)),
  });
  onTestFinished(() => processor.stop());
  await processor.start();
  await processor.drained();
  expect(seen).toEqual([7]);
});

it('in all versions and deletes the operation says whether there is a document', async () => {
  const { container, common, write } = await stage();
  const changes: VersionChange<Order>[] = [];
  const processor = new ChangeFeedProcessor<Order>({
    ...common,
    mode: 'all-versions-and-deletes',
    start: 'now',
    handler: (given) => void changes.push(...given),
  });
  onTestFinished(() => processor.stop());
  await processor.start();
  await until(() => expect(processor.status().leases[0]?.position).toBeDefined());
  await container.items.create({ id: '1', pk: 'p', v: 1 });
  await write(2);
  await container.item('1', 'p').delete();
  await until(() => expect(changes).toHaveLength(3));
  const said = changes.map((change): [string, string, number | undefined] =>
    change.operation === 'delete' || change.operation === 'expired'
      ? [change.op, change.operation, change.before?.v]
      : [change.op, change.operation, change.doc.v],
  );
  expect(said).toEqual([
    ['upsert', 'create', 1],
    ['upsert', 'replace', 2],
    ['delete', 'delete', undefined],
  ]);
  for (const change of changes) expect(change).toMatchObject({ id: '1', key: ['p'], container: 'c' });
  const lsns = changes.map(({ version }) => version.lsn);
  expect(lsns).toEqual(lsns.toSorted((a, b) => a - b));
});

it('a reader without leases has the same types', async () => {
  const { container, write } = await stage();
  let checkpoint;
  for await (const page of readChanges(container, { mode: 'all-versions-and-deletes', from: 'now' }))
    checkpoint = page.checkpoint;
  expect(checkpoint, 'nothing was written yet').toBeUndefined();
  await write(1);
  const seen: number[] = [];
  for await (const { changes } of readChanges<Order>(container)) seen.push(...changes.map(({ doc }) => doc.v));
  expect(seen).toEqual([1]);
});

it('what does not fit its mode does not compile', () => {
  const nothing = (): void => undefined;
  const of = (..._given: ConstructorParameters<typeof ChangeFeedProcessor<Order>>): void => undefined;
  const common = { source: {} as never, leases: {} as never, name: 'P', instance: 'a', handler: nothing };
  // @ts-expect-error All versions and deletes don't begin at a time.
  of({ ...common, mode: 'all-versions-and-deletes', start: new Date() });
  // @ts-expect-error The latest version has no operation.
  of({ ...common, handler: (changes) => changes.map(({ operation }) => operation).forEach(nothing) });
  // @ts-expect-error An order has no such field.
  of({ ...common, handler: (changes) => changes.map(({ doc }) => doc.total).forEach(nothing) });
  const { handler: _, ...without } = common;
  // @ts-expect-error A deletion has no document.
  of({ ...without, mode: 'all-versions-and-deletes', handler: (c) => c.map(({ doc }) => doc.v).forEach(nothing) });
  expect(of).toBeTypeOf('function');
});
