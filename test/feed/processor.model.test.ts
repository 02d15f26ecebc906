// Random histories of several hosts over one container: documents are written while hosts start, stop, stand still, are
// killed and fail, their clocks differ, and partitions are split and merged, on a server that lags, throttles and loses
// answers. Whatever happens, no change is lost (PROC-L2), no position goes back (PROC-L3), no lease that expired is
// acted on (PROC-L1), and within one tenure no document is handled in an older version after a newer one.
import { setImmediate as turn } from 'node:timers/promises';
import { type Container, type CosmosClient, PartitionKeyDefinitionVersion } from '@azure/cosmos';
import pMap from 'p-map';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { type FeedRange, rangeId } from '../../src/cosmos/ranges.ts';
import { withRetry } from '../../src/cosmos/retry.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { Page } from '../../src/feed/reading/change.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import type { Lease, LeaseStore } from '../../src/feed/leases/lease.ts';
import { FeedHost } from '../../src/feed/sharing/feed-host.ts';
import { CosmosChangeSource } from '../../src/feed/reading/source.ts';
import { clientOf } from '../emulator/emulate.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { CutStore } from './processor-stage.ts';
import { TurnClock } from './tenure/turn-clock.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 10);
const FAULTS = { replicaLagMs: 10, failAfterEffect: 0.04, failBefore: 0.01, throttle: 0.02 };
const TIMINGS = { acquireMs: 15, expirationMs: 200, renewMs: 40, pollMs: 5, stallMs: 60_000 };
const HOSTS = ['a', 'b', 'c'];
const DOCUMENTS = 15;
const TIME = new TurnClock();

let emulator: Emulator;
let clients: CosmosClient[];

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  clients = Array.from({ length: HOSTS.length + 1 }, () => clientOf(emulator));
  await client(0).databases.create({ id: 'd' });
});

afterAll(async () => {
  for (const each of clients) each.dispose();
  await emulator.close();
});

it(`nothing is lost, and nothing goes back (seed ${SEED})`, async () => {
  emulator.faults(FAULTS);
  const seeds = Array.from({ length: HISTORIES }, (_, n) => SEED + n);
  const failures = await pMap(seeds, (seed) => new History(seed).run(), { concurrency: 20 });
  const said = failures.flatMap((of, n) =>
    of.map((text) => `${text} (MILLRACE_SEED=${SEED + n} MILLRACE_HISTORIES=1)`),
  );
  expect(said).toEqual([]);
  expect(emulator.stats().faults).toBeGreaterThan(HISTORIES);
});

interface Checkpoint {
  readonly range: FeedRange;
  readonly lsn: number;
  /** The moment when its write was begun. */
  readonly moment: number;
}

interface Host {
  readonly leases: CutStore;
  /** True: its process is gone. A host that is merely cut off goes on until its fence stops it. */
  dead: boolean;
  readonly started: Promise<FeedHost>;
}

interface Tenure {
  readonly range: string;
  /** By document, the lsn handled last. */
  readonly seen: Map<string, number>;
  /** True once another host has taken the lease because this one had let it expire. */
  expired: boolean;
}

class History {
  readonly #random: Random;
  readonly #name: string;
  readonly #leases: string;
  /** Counts what happens, so that it can be said what was before what. */
  #moment = 0;
  #calm = false;
  #splits = 0;
  #merges = 0;
  readonly #failures: string[] = [];
  readonly #running = new Map<string, Host>();
  readonly #ended: Promise<void>[] = [];
  readonly #written = new Map<string, number>();
  /** When each version of each document was first handled. */
  readonly #handled = new Map<string, number>();
  readonly #newest = new Map<string, number>();
  readonly #tenures = new Map<AbortSignal, Tenure>();
  readonly #checkpoints: Checkpoint[] = [];
  /** By lease, the highest position that is known to be stored. */
  readonly #stored = new Map<string, number>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#name = `c${seed}`;
    this.#leases = `leases${seed}`;
  }

  /** Resolves to what went wrong. */
  async run(): Promise<string[]> {
    const random = this.#random;
    const definition = {
      id: this.#name,
      partitionKey: { paths: ['/pk'], version: PartitionKeyDefinitionVersion.V2 },
      throughput: 6_000 * random.pick([1, 2, 4]),
    };
    const { containers } = client(0).database('d');
    await containers.createIfNotExists(definition);
    // Leases of its own: a listing would look through those of all histories.
    await containers.createIfNotExists({ id: this.#leases, partitionKey: { paths: ['/id'] }, defaultTtl: -1 });
    // A host that dies while it prepares makes the others wait for its lock to expire: seen elsewhere.
    await this.#store(0, 'first').prepare(new AbortController().signal);
    for (let step = 0; step < 80; step++) {
      const kind = random.unit();
      const name = random.pick(HOSTS);
      if (kind < 0.6) await this.#write(`d${random.int(DOCUMENTS)}`);
      else if (kind < 0.72) this.#start(name, random.int(1_000_000));
      else if (kind < 0.75) this.#end(name, 'stop');
      else if (kind < 0.78) this.#end(name, 'kill');
      else if (kind < 0.81) this.#end(name, 'cut off');
      else if (kind < 0.84) this.#standStill(name, random.int(2 * TIMINGS.expirationMs));
      else if (kind < 0.86 && ++this.#splits <= 4) emulator.split(`d/${this.#name}`);
      else if (kind < 0.88) await this.#merge();
      else await TIME.sleep(random.int(40));
    }
    // Somebody comes back and finishes what is left.
    this.#calm = true;
    for (const name of HOSTS) this.#end(name, random.pick(['stop', 'kill', 'cut off']));
    this.#start('a', 1);
    await this.#drained();
    this.#end('a', 'stop');
    await Promise.all(this.#ended);
    await this.#judge();
    return this.#failures;
  }

  async #write(id: string): Promise<void> {
    const n = (this.#written.get(id) ?? 0) + 1;
    this.#written.set(id, n);
    // The application's own retry: an upsert may be sent again.
    await withRetry(() => this.#container(0).items.upsert({ id, pk: id, type: 'item', n }), { reads: true });
  }

  #start(name: string, seed: number): void {
    if (this.#running.has(name)) return;
    const index = HOSTS.indexOf(name) + 1;
    const clock = skewed(seed);
    const leases = new CutStore(this.#watched(name, this.#store(index, name, clock)));
    const host: Host = { leases, dead: false, started: Promise.resolve().then(() => open()) };
    const open = async (): Promise<FeedHost> => {
      const random = new Random(seed);
      const processor = new FeedHost({
        container: this.#name,
        host: name,
        source: await this.#source(index, 1 + random.int(4), clock),
        leases,
        start: 'beginning',
        timings: TIMINGS,
        clock,
        handle: (page, fence) => this.#handle(page, fence, host, random),
      });
      // Rejects when it is cut off meanwhile.
      await processor.start().catch(() => undefined);
      return processor;
    };
    this.#running.set(name, host);
  }

  #end(name: string, how: 'stop' | 'kill' | 'cut off'): void {
    const host = this.#running.get(name);
    if (!host) return;
    this.#running.delete(name);
    host.leases.cut = how !== 'stop';
    host.dead = how === 'kill';
    this.#ended.push(host.started.then((processor) => processor.stop()));
  }

  /** For a while nothing that it asks is answered, and nothing it handles goes on; its lease expires, or doesn't. */
  #standStill(name: string, ms: number): void {
    const host = this.#running.get(name);
    if (!host) return;
    const awake = TIME.sleep(ms);
    host.leases.standing = awake;
    this.#ended.push(awake);
  }

  async #merge(): Promise<void> {
    const { length } = await this.#container(0).getFeedRanges();
    if (length > 1 && ++this.#merges <= 2) emulator.merge(`d/${this.#name}`);
  }

  /** One change after the other, under the fence, with a crash or a failure anywhere between. */
  async #handle(page: Page, fence: Fence, host: Host, random: Random): Promise<void> {
    const tenure = this.#tenures.get(fence.signal) ?? {
      range: rangeId(page.range ?? NOWHERE),
      seen: new Map(),
      expired: false,
    };
    this.#tenures.set(fence.signal, tenure);
    for (const { id, version, doc } of page.changes) {
      for (let turns = random.int(4); turns > 0; turns--) await turn();
      if (random.chance(0.05)) await TIME.sleep(random.int(30));
      await host.leases.standing;
      if (host.dead) throw new Error('This host was killed');
      if (!this.#calm && random.chance(0.05)) throw new Error('The sink is not there');
      fence.assert();
      if (tenure.expired) this.#failures.push(`${id} was handled after another host had taken the expired lease`);
      const before = tenure.seen.get(id) ?? 0;
      if (version.lsn < before) this.#failures.push(`${id} was handled at lsn ${version.lsn} after ${before}`);
      tenure.seen.set(id, version.lsn);
      const key = `${id}@${version.lsn}`;
      if (!this.#handled.has(key)) this.#handled.set(key, ++this.#moment);
      this.#newest.set(id, Math.max(this.#newest.get(id) ?? 0, Number(doc?.['n'])));
    }
  }

  /** Notes every checkpoint, and compares what is stored with what was known to be stored before. */
  #watched(name: string, inner: CosmosLeaseStore): LeaseStore {
    const forward = async <T extends Lease | undefined>(id: string, write: () => Promise<T>): Promise<T> => {
      const known = this.#stored.get(id) ?? -1;
      const lease = await write();
      if (!lease) return lease;
      const now = lsnOf(lease.position);
      if (now < known) this.#failures.push(`${id} went back from ${known} to ${now}`);
      this.#stored.set(id, Math.max(this.#stored.get(id) ?? -1, now));
      return lease;
    };
    return {
      prepare: (signal, begin) => inner.prepare(signal, begin),
      initializedAt: () => inner.initializedAt(),
      list: () => inner.list(),
      release: (lease) => inner.release(lease),
      ranges: () => inner.ranges(),
      create: (range, position, from) => inner.create(range, position, from),
      read: (lease) => inner.read(lease),
      takeOver: (lease) => forward(lease.id, () => inner.takeOver(lease)),
      handOver: (lease, position) => {
        if (position !== undefined) {
          this.#checkpoints.push({ range: lease.range, lsn: lsnOf(position), moment: ++this.#moment });
        }
        return inner.handOver(lease, position);
      },
      remove: (lease) => inner.remove(lease),
      acquire: async (lease, from) => {
        const others = [...this.#tenures.values()].filter(({ range }) => range === rangeId(lease.range));
        const taken = await forward(lease.id, () => inner.acquire(lease, from));
        const hadExpired = taken && from !== 'owner' && lease.owner !== null && lease.owner !== name;
        if (hadExpired) for (const tenure of others) tenure.expired = true;
        return taken;
      },
      renew: (lease, position) => {
        if (position !== undefined) {
          this.#checkpoints.push({ range: lease.range, lsn: lsnOf(position), moment: ++this.#moment });
        }
        return forward(lease.id, () => inner.renew(lease, position));
      },
    };
  }

  async #drained(): Promise<void> {
    const missing = (): string[] =>
      [...this.#written].filter(([id, n]) => this.#newest.get(id) !== n).map(([id, n]) => `${id} version ${n}`);
    for (let waited = 0; missing().length > 0 && waited < 20_000; waited += 10) await TIME.sleep(10);
    if (missing().length > 0) this.#failures.push(`never handled: ${missing().join(', ')}`);
  }

  /** What is in the feed below a checkpoint was handled before that checkpoint's write was begun (PROC-L2). */
  async #judge(): Promise<void> {
    const source = await this.#source(0, 1_000);
    const now = await this.#container(0).getFeedRanges();
    const bounds = new Set([
      ...now.flatMap(({ minInclusive, maxExclusive }) => [minInclusive, maxExclusive]),
      ...this.#checkpoints.flatMap(({ range }) => [range.min, range.max]),
    ]);
    const parts = [...bounds].toSorted();
    for (const [index, min] of parts.slice(0, -1).entries()) {
      const max = parts[index + 1]!;
      // A checkpoint of a range that was split later covers its parts, and one of a part stays one of it in what was
      // merged: both keep the numbering.
      const passing = this.#checkpoints.filter(({ range }) => range.min <= min && max <= range.max);
      for (let position = ''; ;) {
        const page = await source.read({ min, max }, position, new AbortController().signal);
        for (const { id, version } of page.changes) {
          const handled = this.#handled.get(`${id}@${version.lsn}`) ?? Infinity;
          const passed = Math.min(...passing.filter(({ lsn }) => lsn >= version.lsn).map(({ moment }) => moment));
          if (passed < handled) this.#failures.push(`a checkpoint passed ${id}@${version.lsn} before it was handled`);
        }
        if (page.next === position) break;
        position = page.next;
      }
    }
  }

  #container(index: number): Container {
    return client(index).database('d').container(this.#name);
  }

  #store(index: number, host: string, clock: Clock = TIME): CosmosLeaseStore {
    const leases = client(index).database('d').container(this.#leases);
    return new CosmosLeaseStore({
      monitored: this.#container(index),
      leases,
      host,
      prefix: this.#name,
      clock,
    });
  }

  async #source(index: number, pageSize: number, clock: Clock = TIME): Promise<CosmosChangeSource> {
    const container = this.#container(index);
    const { resource } = await withRetry(() => container.read(), { reads: true });
    const map = { name: this.#name, keyPaths: [['pk']], types: new Map([['item', {}]]) };
    return new CosmosChangeSource(container, resource?._rid ?? '', map, { epoch: 1, pageSize, clock });
  }
}

/** A process's own clock, up to 90 s before or after the others'. */
function skewed(seed: number): Clock {
  const random = new Random(seed);
  const [wall, since] = [random.int(180_001) - 90_000, random.int(1_000_000)];
  return {
    now: () => TIME.now() + wall,
    monotonic: () => TIME.monotonic() + since,
    sleep: (ms, signal) => TIME.sleep(ms, signal),
  };
}

const NOWHERE = { min: '', max: '' };
const lsnOf = (position: string | undefined): number => (position === undefined ? -1 : Number(position.slice(1, -1)));

function client(index: number): CosmosClient {
  const found = clients[index];
  if (!found) throw new Error('No such client');
  return found;
}
