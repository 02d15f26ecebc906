// Hosts that defer the changes of a flood, on the embedded server: the real feed, window, engine and deferred.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { effectivePartitionKey } from '../../src/cosmos/effective-partition-key.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Erased } from '../../src/engine/erasures/watch.ts';
import { openDeferred } from '../../src/engine/open-deferred.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { CosmosChangeSource } from '../../src/feed/reading/source.ts';
import { FeedHost } from '../../src/feed/sharing/feed-host.ts';
import { leaseStage } from '../feed/lease-stage.ts';
import { BRISK } from '../feed/processor-stage.ts';

const FLOOD = 2_000;
/** A twentieth of the flood. */
const MOST = 100;

interface HostOptions {
  readonly tenants?: boolean;
  readonly erased?: Erased;
}

async function stage() {
  const { monitored, store } = await leaseStage(1);
  const { database } = monitored;
  const { container: state } = await database.containers.create({ id: 'state', partitionKey: { paths: ['/pk'] } });
  const rid = (await monitored.read()).resource?._rid ?? '';
  const map = { name: monitored.id, keyPaths: [['pk']], types: new Map([['item', {}]]) };
  /** By any host, in order. */
  const applied: Effect[] = [];
  /** The flood is applied only after this. */
  const dam = { open: Promise.resolve() };
  const apply = async (changes: readonly Change[]): Promise<void> => {
    if (changes.some(({ key }) => key[0] === 'flood')) await dam.open;
    for (const { key, id, version } of changes) applied.push({ key: key[0] as string, id, lsn: version.lsn });
    await turn();
  };
  const sources = [{ container: monitored.id, type: 'item' }];
  const host = (name: string, { tenants = true, erased = () => undefined }: HostOptions = {}): FeedHost => {
    const runners = [{ id: 'log@1', order: 'document', sources, apply }] as const;
    const engine = new Engine({
      database,
      runners,
      deadLetters: new DeadLetters(state),
      erasures: { current: () => Promise.resolve(erased) },
    });
    const source = new CosmosChangeSource(monitored, rid, map, { epoch: 1, pageSize: 50 });
    const deferred = openDeferred({
      pipeline: 'p',
      source: monitored.id,
      database,
      state,
      hashOf: (key) => effectivePartitionKey(key, 'Hash', 2),
      engine,
      meter: new Meter(),
      sources: new Map([[monitored.id, map]]),
      cold: () => Promise.resolve(undefined),
      readLagMs: 0,
    });
    const read: CosmosChangeSource['read'] = async (...request) => {
      const page = await source.read(...request);
      const changes = page.changes.map((change) => ({ ...change, tenant: change.key[0] as string }));
      return tenants ? { ...page, changes } : page;
    };
    const processor = new FeedHost({
      container: monitored.id,
      host: name,
      source: { read, resolve: (...where) => source.resolve(...where), prepare: () => source.prepare() },
      leases: store(name),
      start: 'beginning',
      timings: BRISK,
      handle: engine.handle,
      order: ({ tenant, id }) => tenant ?? id,
      concurrency: 2,
      mostUnacknowledged: MOST,
      deferred,
    });
    onTestFinished(() => processor.stop());
    return processor;
  };
  const write = async (pk: string, ids: readonly string[]): Promise<void> => {
    for (let from = 0; from < ids.length; from += 100) {
      const some = ids.slice(from, from + 100);
      await monitored.items.batch(
        some.map((id) => ({ operationType: 'Upsert', resourceBody: { id, pk, type: 'item' } }) as const),
        pk,
      );
    }
  };
  const stored = async (): Promise<string[]> =>
    (await state.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources;
  return { host, write, applied, stored, dam };
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `f${String(at).padStart(5, '0')}`);
const until = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 5 });

interface Effect {
  readonly key: string;
  readonly id: string;
  readonly lsn: number;
}

/** The first effect of each document of a key. */
const firsts = (applied: readonly Effect[], of: string): Effect[] =>
  [
    ...new Map(
      applied
        .filter(({ key }) => key === of)
        .toReversed()
        .map((effect) => [effect.id, effect]),
    ).values(),
  ].toReversed();

/** In the order of their transactions: within one, a feed has any order (ASM-A1). */
function expectWhole(applied: readonly Effect[]): void {
  const flood = firsts(applied, 'flood').toSorted((a, b) => applied.indexOf(a) - applied.indexOf(b));
  expect(flood.map(({ id }) => id).toSorted()).toEqual(ids(FLOOD));
  const lsns = flood.map(({ lsn }) => lsn);
  expect(lsns).toEqual(lsns.toSorted((a, b) => a - b));
}

it('the engine applies what stands behind a flood before the flood, and then the flood in its order', async () => {
  const { host, write, applied, stored, dam } = await stage();
  const { promise, resolve } = Promise.withResolvers<void>();
  dam.open = promise;
  await write('flood', ids(FLOOD));
  await write('quiet', ['q']);
  await host('a').start();
  await until(() => expect(applied).toMatchObject([{ key: 'quiet' }]));
  resolve();
  await until(() => expect(firsts(applied, 'flood')).toHaveLength(FLOOD));
  expectWhole(applied);
  await until(async () => expect(await stored()).toEqual(['register']));
});

it('the engine goes on with what another host has deferred', async () => {
  const { host, write, applied, stored } = await stage();
  await write('flood', ids(FLOOD));
  await write('quiet', ['q']);
  const first = host('a');
  await first.start();
  await until(() => expect(firsts(applied, 'quiet')).toHaveLength(1));
  await first.stop();
  const left = FLOOD - firsts(applied, 'flood').length;
  expect(left, 'otherwise nothing was left to another host').toBeGreaterThan(0);
  await host('b').start();
  await until(() => expect(firsts(applied, 'flood')).toHaveLength(FLOOD));
  expectWhole(applied);
  await until(async () => expect(await stored()).toEqual(['register']));
});

it('the engine defers nothing where changes have no tenant', async () => {
  const { host, write, applied, stored } = await stage();
  await write('flood', ids(300));
  await host('a', { tenants: false }).start();
  await until(() => expect(firsts(applied, 'flood')).toHaveLength(300));
  expect(await stored()).toEqual([]);
});

it('the engine defers nothing of a tenant that is erased', async () => {
  const { host, write, applied, stored } = await stage();
  await write('flood', ids(FLOOD));
  await write('quiet', ['q']);
  const record = { id: 'e', salt: '', digest: '', at: '', state: 'removing' } as const;
  await host('a', { erased: (tenant) => (tenant === 'flood' ? record : undefined) }).start();
  await until(() => expect(firsts(applied, 'quiet')).toHaveLength(1));
  expect(firsts(applied, 'flood')).toEqual([]);
  expect(await stored()).toEqual([]);
});
