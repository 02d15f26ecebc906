// Where projections begin, under random histories: hosts that start together, crash and start again, partitions that split
// and merge, feeds that are read again from anywhere, rewinds, and a container that is made again. START-S1 to START-S6. Judged by what
// was written before and after each start, which the history knows by its own order and not by positions.
import { PartitionKeyDefinitionVersion, PartitionKeyKind, type Container } from '@azure/cosmos';
import { definePipeline, publish, react, send } from 'millrace';
import { afterAll, beforeAll, expect, it } from 'vitest';
import pMap from 'p-map';
import { MillraceError } from '../../../src/base/errors.ts';
import type { Settings } from '../../../src/base/settings.ts';
import { physicalRanges } from '../../../src/cosmos/physical-ranges.ts';
import { raiseEpoch } from '../../../src/feed/reading/epochs.ts';
import { openSource } from '../../../src/feed/reading/open-source.ts';
import { RangeGone } from '../../../src/feed/reading/source.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { sourceContainers } from '../../../src/engine/runners.ts';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import type { Entry, Pipeline } from '../../../src/index.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenEngine, openEngine } from '../../../src/runtime/open-engine.ts';
import { type OpenServices, openServices } from '../../../src/runtime/services.ts';
import type { LoadedPipeline } from '../../../src/runtime/workspace.ts';
import { EventHubSink } from '../../../src/access/event-hub.ts';
import { openHubs } from '../../emulator/hubs.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { SHOP } from '../../support/stage.ts';
import { m, type Order } from '../../kinds/effects.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 12);
const AT_ONCE = 4;
const NEVER = new AbortController().signal;

let emulator: Emulator;
let hubs: Awaited<ReturnType<typeof openHubs>>;
let shop: LoadedPipeline;
beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  hubs = await openHubs({ seed: SEED, hubs: { out: { partitions: 2 } } });
  shop = await loadPipeline(SHOP);
  emulator.faults({ failAfterEffect: 0.01, throttle: 0.005, replicaLagMs: 3, historyMs: 600_000 });
});
afterAll(async () => {
  await hubs[Symbol.asyncDispose]();
  await emulator.close();
});

/** One write: which document, its number, and the second that the service gave it. */
interface Written {
  readonly document: string;
  readonly n: number;
  readonly at: number;
}

/** What one projection has done, and between which writes its start was recorded. */
interface Observed {
  readonly seen: Set<number>;
  /** Of writes up to this number it may know nothing; from the second on it has to know each document's last one. */
  start?: { readonly before: number; readonly after: number };
}

it(`exactly the changes after its start reach a projection, in any history (seed ${SEED})`, async () => {
  const seeds = Array.from({ length: HISTORIES }, (_, index) => SEED + index);
  await pMap(
    seeds,
    async (seed) => {
      try {
        await runHistory(seed);
      } catch (error) {
        if (error instanceof Error) error.message = `MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1: ${error.message}`;
        throw error;
      }
    },
    { concurrency: AT_ONCE },
  );
});

async function runHistory(seed: number): Promise<void> {
  const random = new Random(seed);
  const name = `h${seed}`;
  const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
  const settings: Settings = {
    cosmos: account,
    database: name,
    leases: { account, database: name, container: 'leases' },
    stateContainer: 'millrace',
    preferredRegions: [],
  };
  const services: OpenServices[] = [];
  const connect = async (): Promise<OpenServices> => {
    const opened = await openServices(settings, { httpClient: emulator.clientOptions.httpClient });
    services.push(opened);
    return opened;
  };
  const application = await connect();
  await application.place.database.client.databases.create({ id: name });
  await application.place.database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] } });
  const version = random.chance(0.3) ? PartitionKeyDefinitionVersion.V1 : PartitionKeyDefinitionVersion.V2;
  const create = () =>
    application.place.database.containers.create({
      id: 'Orders',
      partitionKey: { paths: ['/storeId'], kind: PartitionKeyKind.Hash, version },
      throughput: random.pick([1_000, 10_000, 20_000]),
    });
  await create();
  const orders: Container = application.place.database.container('Orders');
  const fresh = (): Container => random.pick(connected).place.database.container('Orders');

  const writes: Written[] = [];
  /** The writes that went with a container that was deleted. */
  let gone = 0;
  const write = async (): Promise<void> => {
    const key = random.chance(0.15) ? undefined : random.chance(0.1) ? null : `k${random.int(8)}`;
    // A change shows a missing key value as null, so the two share no id.
    const id = `${key === null ? 'null' : 'd'}${random.int(3)}`;
    const n = writes.length + 1;
    const document = JSON.stringify([key ?? String(key), id]);
    writes.push({ document, n, at: 0 });
    const body = { id, type: 'order', tenant: 't', cents: n, ...(key !== undefined && { storeId: key }) };
    for (;;) {
      try {
        const { resource } = await orders.items.upsert<typeof body>(body);
        writes[n - 1] = { document, n, at: Number(resource?._ts) * 1_000 };
        return;
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (typeof code === 'number' && code < 500 && code !== 429 && code !== 408 && code !== 410) throw error;
      }
    }
  };

  const observed = new Map<string, Observed>();
  const of = (projection: string): Observed => {
    const found = observed.get(projection) ?? { seen: new Set<number>() };
    observed.set(projection, found);
    return found;
  };
  const lost = (): void => {
    if (random.chance(0.05)) throw new MillraceError('away', 'It was away', { retryable: true });
  };
  const reaction = (projection: string, start?: 'beginning' | 'now' | Date) =>
    react(projection, {
      from: m.Orders.order,
      ...(start !== undefined && { start }),
      run: async ({ cents }: Order) => {
        of(projection).seen.add(cents);
        lost();
      },
    });
  const rows = new Map<string, Entry>();
  // A second that the history may come to, or has passed.
  const time = new Date(Math.floor(Date.now() / 1_000) * 1_000 + random.int(4) * 1_000 - 1_000);
  const first = [
    reaction('calls'),
    reaction('all', 'beginning'),
    reaction('since', time),
    publish('out', { from: m.Orders.order, to: 'out', map: ({ cents }) => ({ seed, cents }) }),
    send('rows', {
      from: m.Orders.order,
      to: {
        write: async (entries) => {
          lost();
          for (const entry of entries)
            if ((rows.get(entry.id)?.version ?? '') < entry.version) rows.set(entry.id, entry);
        },
      },
      map: ({ cents }) => {
        of('rows').seen.add(cents);
        return { cents };
      },
    }),
  ];
  const later = [...first, reaction('late'), reaction('late-all', 'beginning')];
  const pipelineOf = (projections: typeof later): Pipeline => definePipeline({ name, model: m, projections });
  let declared = pipelineOf(first);

  const open = (using: OpenServices): OpenEngine =>
    openEngine(
      {
        settings: {},
        services: using,
        loaded: { ...shop, pipeline: declared },
        readLagMs: 5,
        viewsRefreshMs: 5,
        instead: { hub: (hub) => new EventHubSink(hub, async () => producer, { attemptMs: 2_000 }) },
      },
      'live',
    );
  const producer = hubs.producer('out');
  const [map] = sourceContainers(declared, shop.model).values();
  if (!map) throw new Error('The pipeline reads a container');

  let connected = await Promise.all([connect(), connect(), connect()]);
  let hosts: OpenEngine[] = [];
  /** Notes the start of what is new in `declared`: hosts record it together, while the application may write. */
  const begin = async (names: readonly string[]): Promise<void> => {
    hosts = connected.map(open);
    const before = writes.length;
    const writing = random.chance(0.5) ? write() : undefined;
    await Promise.all([...hosts.map(({ starts }) => untilDone(() => starts.recorded())), writing]);
    for (const each of names) of(each).start = { before, after: writes.length };
  };

  for (let left = random.int(14); left > 0; left--) await write();
  if (random.chance(0.3)) emulator.split(`${name}/Orders`);
  await begin(['calls', 'out']);

  const positions = [''];
  /** One page of one range, from anywhere; as a processor gives it, or as a trigger does. */
  const deliver = async (from: string, faults: boolean): Promise<string | undefined> => {
    const host = random.pick(hosts);
    const { source } = await openSource(random.pick(connected).place.database.container('Orders'), {
      map,
      state: application.place.state,
      pageSize: 1 + random.int(4),
    });
    const range = random.pick(await physicalRanges(fresh()));
    return page(source, host, range, from, faults);
  };
  const page = async (
    source: Awaited<ReturnType<typeof openSource>>['source'],
    host: OpenEngine,
    range: { readonly min: string; readonly max: string },
    from: string,
    faults: boolean,
  ): Promise<string | undefined> => {
    const fence = untilStopped(NEVER, () => {
      if (faults && random.chance(0.05)) throw new MillraceError('crashed', 'The host crashed', { retryable: true });
    });
    try {
      const read = await source.read(range, from, NEVER);
      const { changes, charge, readAt } = read;
      await host.engine.consume(random.chance(0.3) ? { changes, charge, readAt } : read, fence);
      positions.push(read.next);
      return read.next;
    } catch (error) {
      if (error instanceof RangeGone || (error instanceof MillraceError && error.retryable)) return undefined;
      throw error;
    }
  };

  let added = false;
  for (let steps = 8 + random.int(20); steps > 0; steps--) {
    const kind = random.unit();
    if (kind < 0.4) await write();
    else if (kind < 0.75) await deliver(random.pick(positions), true);
    else if (kind < 0.8) hosts = connected.map(open);
    else if (kind < 0.86) emulator.split(`${name}/Orders`);
    else if (kind < 0.9 && (await physicalRanges(fresh())).length > 1) emulator.merge(`${name}/Orders`);
    else if (kind < 0.95) {
      // As a rewind does it: what is read again counts as newer.
      const { rid } = await openSource(fresh(), { state: application.place.state });
      await raiseEpoch(application.place.state, 'Orders', rid, 1 + random.int(3));
    } else if (kind < 0.97) {
      // Its lsns begin again, and so do the positions of its readers.
      await orders.delete();
      await create();
      gone = writes.length;
      positions.splice(1);
      // A client keeps the partitions of the old container, and would read those of the new one by their numbers.
      connected = await Promise.all([connect(), connect(), connect()]);
      hosts = connected.map(open);
    } else if (!added) {
      added = true;
      declared = pipelineOf(later);
      await begin(['late']);
    }
  }
  if (!added) {
    declared = pipelineOf(later);
    await begin(['late']);
  }
  if (random.chance(0.7)) await write();

  // To the end of every range, twice: the whole feed from its beginning.
  for (let round = 0; round < 2; round++) {
    const { source } = await openSource(fresh(), { map, state: application.place.state, pageSize: 3 });
    for (const range of await physicalRanges(fresh()))
      for (let from = ''; ;) {
        const next = await page(source, random.pick(hosts), range, from, false);
        if (next === from) break;
        from = next ?? from;
      }
  }

  for (const { body } of hubs.hubs.events('out')) {
    const { data } = body as { data: { seed: number; cents: number } | null };
    if (data?.seed === seed) of('out').seen.add(data.cents);
  }
  const last = new Map(writes.slice(gone).map((each) => [each.document, each]));
  const missing = (projection: string, wanted: (each: Written) => boolean): number[] =>
    [...last.values()].filter((each) => wanted(each) && !of(projection).seen.has(each.n)).map(({ n }) => n);
  const tooMany = (projection: string, allowed: (each: Written) => boolean): number[] =>
    writes.filter((each) => !allowed(each) && of(projection).seen.has(each.n)).map(({ n }) => n);
  for (const projection of ['calls', 'out', 'late']) {
    const { start } = of(projection);
    if (!start) throw new Error(`${projection} was not started`);
    expect(
      missing(projection, ({ n }) => n > start.after),
      `missing of ${projection}`,
    ).toEqual([]);
    expect(
      tooMany(projection, ({ n }) => n > start.before),
      `before the start of ${projection}`,
    ).toEqual([]);
  }
  for (const projection of ['all', 'rows', 'late-all'])
    expect(
      missing(projection, () => true),
      `missing of ${projection}`,
    ).toEqual([]);
  const inTime = ({ at }: Written): boolean => at >= time.getTime();
  expect(missing('since', inTime), 'missing since the time').toEqual([]);
  expect(tooMany('since', inTime), 'before the time').toEqual([]);
  for (const opened of services) opened.close();
}

async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MillraceError && error.retryable)) throw error;
    }
  }
}
