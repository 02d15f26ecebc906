// Where projections begin, on the embedded server: what is recorded, by whom, and what it is compared with. START-S1 to START-S9.
import { ChangeFeedStartFrom, PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { custom, definePipeline, embed, react } from 'millrace';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Starts, readStarts } from '../../../src/engine/views/starts.ts';
import type { Page } from '../../../src/feed/reading/change.ts';
import { currentEpoch, raiseEpoch, renumber } from '../../../src/feed/reading/epochs.ts';
import { openSource } from '../../../src/feed/reading/open-source.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { sourceContainers } from '../../../src/engine/runners.ts';
import { physicalRanges } from '../../../src/cosmos/physical-ranges.ts';
import { FULL_RANGE } from '../../../src/cosmos/ranges.ts';
import type { DerivedSpec } from '../../../src/pipeline/specs.ts';
import type { EmulatorOptions } from '../../../src/emulator/index.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { type Purpose, openEngine } from '../../../src/runtime/open-engine.ts';
import { recordStarts, triggerConsumer } from '../../../src/runtime/hosts/trigger-host.ts';
import { m } from '../../fixtures/shop/model.ts';
import { openStage } from '../../support/stage.ts';

const NEVER = new AbortController().signal;
const FENCE = untilStopped(NEVER, () => undefined);

const order = (id: string, cents: number) => ({
  id,
  type: 'order',
  storeId: 's',
  customerId: 'c',
  placedAt: '2026-01-01T00:00:00Z',
  cents,
});

async function shop(server: EmulatorOptions = {}) {
  const stage = await openStage(server);
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const orders = () => stage.container('Orders');
  const called: number[] = [];
  const calls = (start?: 'beginning' | 'now' | Date, name = 'calls') =>
    react(name, {
      from: m.Orders.order,
      attempts: 1,
      ...(start !== undefined && { start }),
      run: async ({ cents }) => {
        called.push(cents);
        if (cents < 0) throw new MillraceError('refused', 'Refused');
      },
    });
  const at = (...projections: readonly DerivedSpec[]) => ({
    ...stage,
    loaded: { ...stage.loaded, pipeline: definePipeline({ model: m, projections }) },
    readLagMs: 0,
    viewsRefreshMs: 0,
  });
  const hostOf = (projections: readonly DerivedSpec[], purpose: Purpose = 'live') => {
    const options = at(...projections);
    const opened = openEngine(options, purpose);
    /** Gives it a feed from its beginning, each time as a host does that has just started. */
    const deliver = async (container = 'Orders'): Promise<void> => {
      const map = sourceContainers(options.loaded.pipeline, stage.loaded.model).get(container);
      if (!map) throw new Error(`It does not read ${container}`);
      const { source } = await openSource(stage.container(container), { map, state: stage.services.place.state });
      for (let from = ''; ;) {
        const page: Page & { next: string } = await source.read(FULL_RANGE, from, NEVER);
        await opened.engine.consume(page, FENCE);
        if (page.next === from) return;
        from = page.next;
      }
    };
    return { ...opened, deliver };
  };
  const write = (...docs: readonly object[]) =>
    Promise.all(docs.map((doc) => orders().items.upsert<object>(doc))).then(() => undefined);
  return { stage, state: stage.services.place.state, orders, called, calls, at, hostOf, write };
}

describe('what is recorded', () => {
  test('a first host records each start, and from then on nothing changes it', async () => {
    const { state, calls, hostOf, write, called } = await shop();
    await write(order('a', 1));
    const before = hostOf([calls(), calls('beginning', 'all')]);
    const recorded = await before.starts.recorded();
    expect(recorded).toMatchObject({
      'all@1': { start: 'beginning' },
      'calls@1': { start: 'now', positions: { Orders: { epoch: 1, ranges: [{ min: '', max: 'FF' }] } } },
    });
    // Another declaration under the same version, by another host.
    await write(order('b', 2));
    const after = hostOf([calls('beginning'), calls('now', 'all'), calls('now', 'more')]);
    const more = await after.starts.recorded();
    expect(more).toMatchObject(recorded);
    expect(Object.keys(more).toSorted()).toEqual(['all@1', 'calls@1', 'more@1']);
    expect(await readStarts(state, 'millrace')).toEqual(more);
    await after.deliver();
    expect(
      called.toSorted((a, b) => a - b),
      'by calls: the second; by all: both; by more: none',
    ).toEqual([1, 2, 2]);
  });

  test('hosts that start together store one start, with lost answers and throttling too', async () => {
    const { stage, calls, hostOf } = await shop();
    stage.emulator.faults({ failAfterEffect: 0.2, throttle: 0.1 });
    const hosts = Array.from({ length: 5 }, () => hostOf([calls()]));
    const found = await Promise.all(hosts.map(({ starts }) => starts.recorded()));
    expect(new Set(found.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test('a pipeline without such projections stands recorded too: the first one that is added begins now', async () => {
    const { calls, hostOf } = await shop();
    await hostOf([]).starts.recorded();
    expect(await hostOf([calls()]).starts.recorded()).toMatchObject({ 'calls@1': { start: 'now' } });
  });
});

describe('what is compared', () => {
  test('a change at the position is below the start; written again it is above', async () => {
    const { calls, hostOf, called, write } = await shop();
    await write(order('a', 1), order('b', 2));
    const host = hostOf([calls()]);
    const recorded = await host.starts.recorded();
    const lsn = recorded['calls@1']?.positions?.['Orders']?.ranges[0]?.lsn;
    expect(lsn).toBeGreaterThan(0);
    await write(order('b', 3));
    await host.deliver();
    expect(called).toEqual([3]);
  });

  test('a rewind leaves the start where it is', async () => {
    const { stage, state, calls, hostOf, called, write } = await shop();
    await write(order('a', 1));
    const host = hostOf([calls()]);
    await host.starts.recorded();
    await write(order('b', 2));
    const { rid } = await openSource(stage.container('Orders'), { state });
    await raiseEpoch(state, 'Orders', rid, await currentEpoch(state, 'Orders', rid));
    await host.deliver();
    await hostOf([calls()]).deliver();
    expect(called).toEqual([2, 2]);
  });

  test('in a container that was made again every document is a change', async () => {
    const { stage, calls, hostOf, called, write } = await shop();
    await write(order('a', 1), order('b', 2), order('c', 3));
    await hostOf([calls()]).starts.recorded();
    await stage.container('Orders').delete();
    await stage.services.place.database.containers.create({ id: 'Orders', partitionKey: { paths: ['/storeId'] } });
    await write(order('d', 4));
    await hostOf([calls()]).deliver();
    expect(called).toEqual([4]);
  });

  test('where a failover has lost changes, those that use their lsns again count', async () => {
    const { stage, state, at, calls, hostOf, called, write } = await shop({ faults: { historyMs: 600_000 } });
    await write(order('a', 1));
    stage.emulator.advance(300_000);
    await write(order('b', 2), order('c', 3));
    const { pipeline } = at(calls()).loaded;
    const { database } = stage.services.place;
    // The server's clock is five minutes ahead, and so is this host's.
    const clock = { ...systemClock, now: () => Date.now() + 300_000 };
    await new Starts({ database, state, pipeline, clock }).recorded();
    stage.emulator.failover('shop/Orders', 100_000);
    const { rid } = await openSource(stage.container('Orders'), { state });
    await renumber(state, 'Orders', rid, 1);
    await write(order('d', 4));
    await hostOf([calls()]).deliver();
    expect(called).toEqual([4]);
  });

  test('documents under keys of several levels are found in the ranges of their start', async () => {
    const { stage, calls, hostOf, called } = await shop();
    await stage.container('Orders').delete();
    await stage.services.place.database.containers.create({
      id: 'Orders',
      partitionKey: {
        paths: ['/storeId', '/customerId'],
        kind: PartitionKeyKind.MultiHash,
        version: PartitionKeyDefinitionVersion.V2,
      },
      throughput: 20_000,
    });
    const orders = stage.container('Orders');
    const all = Array.from({ length: 60 }, (_, n) => ({ ...order(`o${n}`, n), customerId: `c${n % 20}` }));
    for (const doc of all.slice(0, 40)) await orders.items.create(doc);
    const recorded = await hostOf([calls()]).starts.recorded();
    expect(recorded['calls@1']?.positions?.['Orders']?.ranges.length).toBe(4);
    stage.emulator.split('shop/Orders');
    for (const doc of all.slice(40)) await orders.items.create(doc);
    const map = { name: 'Orders', keyPaths: [['storeId'], ['customerId']], types: new Map([['order', {}]]) };
    const { source } = await openSource(orders, { map, state: stage.services.place.state });
    const host = hostOf([calls()]);
    for (const range of await physicalRanges(orders)) {
      // As under Functions: a page says neither range nor position.
      const { changes, charge, readAt } = await source.read(range, '', NEVER);
      await host.engine.consume({ changes, charge, readAt }, FENCE);
    }
    expect(called.toSorted((a, b) => a - b)).toEqual(all.slice(40).map(({ cents }) => cents));
  });
});

describe('who passes over what', () => {
  test('a processor that starts records first: the first document that is written then is a change', async () => {
    const { at, calls, called, write } = await shop();
    await write(order('a', 1));
    const app = await compose({ ...at(calls()), host: 'one', timings: { pollMs: 40, acquireMs: 50 } });
    onTestFinished(() => app.stop());
    await app.start();
    await write(order('b', 2));
    await app.drained(AbortSignal.timeout(20_000));
    expect(called).toEqual([2]);
  });

  test('a trigger records at its first batch, and passes over what the batch holds', async () => {
    const { at, calls, called, write, orders } = await shop();
    await write(order('a', 1));
    const feed = async (): Promise<Record<string, unknown>[]> => {
      const pull = orders().items.getChangeFeedIterator<Record<string, unknown>>({
        changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      });
      return (await pull.readNext()).result ?? [];
    };
    const consume = triggerConsumer(at(calls(), calls(new Date('2001-01-01'), 'since')));
    const batch = async () => ({ container: 'Orders', documents: await feed(), again: false, signal: NEVER });
    await consume(await batch());
    expect(called, 'by since').toEqual([1]);
    await write(order('b', 2));
    await consume(await batch());
    expect(called.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2]);
  });

  test('an app that was asked whether it is ready has recorded: its first batch is applied', async () => {
    const { at, calls, called, write, orders } = await shop();
    await write(order('a', 1));
    const parts = at(calls());
    await recordStarts(parts);
    await write(order('b', 2));
    const pull = orders().items.getChangeFeedIterator<Record<string, unknown>>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    });
    const documents = (await pull.readNext()).result ?? [];
    await triggerConsumer(parts)({ container: 'Orders', documents, again: false, signal: NEVER });
    expect(called).toEqual([2]);
  });

  test('a change below the start resolves no dead letter, and a redrive applies what was parked', async () => {
    const { state, calls, hostOf, called, write } = await shop();
    await write(order('a', -1));
    await hostOf([calls()], 'redrive').deliver();
    const letters = new DeadLetters(state);
    expect(await letters.list('calls@1')).toHaveLength(1);
    const host = hostOf([calls()]);
    await host.starts.recorded();
    await write(order('b', 2));
    await host.deliver();
    expect(called).toEqual([-1, 2]);
    expect(await letters.list('calls@1'), 'still parked').toHaveLength(1);
  });

  test('a held projection parks nothing of what lies below its start', async () => {
    const { at, calls, state, write, stage } = await shop();
    await write(order('a', 1));
    const options = { ...at(calls()), held: new Map([['calls@1', 'it waits']]) };
    const { engine, starts } = openEngine(options, 'live');
    await starts.recorded();
    await write(order('b', 2));
    const [map] = sourceContainers(options.loaded.pipeline, stage.loaded.model).values();
    const { source } = await openSource(stage.container('Orders'), { ...(map && { map }), state });
    await engine.consume(await source.read(FULL_RANGE, '', NEVER), FENCE);
    expect((await new DeadLetters(state).list('calls@1')).map(({ id }) => id)).toEqual(['b']);
  });

  test('what an embed writes into a document below the start runs no reaction; what the application writes does', async () => {
    const { stage, calls, hostOf, called, write } = await shop();
    const names = embed('names', {
      from: m.Customers.customer,
      into: m.Orders.order,
      on: { storeId: 'storeId', id: 'customerId' },
      set: { placedAt: ({ name }) => name },
    });
    await write(order('a', 1), order('b', 2));
    const host = hostOf([calls(), names]);
    await host.starts.recorded();
    await host.deliver();
    // The embed's write: only its own field.
    await write({ ...order('a', 1), placedAt: 'Ann' });
    await host.deliver();
    expect(called, 'only the embed’s field differs').toEqual([]);
    await write({ ...order('b', 5), placedAt: 'Ann' });
    await hostOf([calls(), names]).deliver();
    expect(called).toEqual([5]);
    expect(await new DeadLetters(stage.services.place.state).list()).toEqual([]);
  });

  test('a runner of one’s own begins where it says', async () => {
    const { hostOf, write } = await shop();
    const seen: string[] = [];
    const own = (name: string, start?: 'now') =>
      custom(name, {
        sources: [m.Orders.order, m.Customers.customer],
        ...(start && { start }),
        apply: async (changes) => void seen.push(...changes.map(({ id }) => `${name} ${id}`)),
      });
    await write(order('a', 1));
    const host = hostOf([own('whole'), own('rest', 'now')]);
    await host.starts.recorded();
    await write(order('b', 2));
    await host.deliver();
    expect(seen.toSorted()).toEqual(['rest b', 'whole a', 'whole b']);
  });
});
