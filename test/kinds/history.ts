// A random history of one tenant: documents change at the source while two hosts deliver pages of its real change feed to
// a runner, crash between any two requests, fall asleep and wake up as zombies, and read stale replicas. In the end the
// feed is drained and the sink has to be what the oracle says.
import type { Database } from '@azure/cosmos';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { MillraceError } from '../../src/base/errors.ts';
import { isObject } from '../../src/base/json.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { type SourceContainer, toChange, toVersion } from '../../src/feed/reading/mapper.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import type { EmbedState } from '../../src/kinds/embed/states.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import type { Random } from '../support/random.ts';
import { bound } from '../support/access.ts';

/** Of a host, between any two requests: its page is read again. */
export class Crash extends MillraceError<'crashed'> {
  constructor(message = 'The host crashed') {
    super('crashed', message, { retryable: true });
  }
}

/** A host of its own: another client, so another session, so reads as stale as the server makes them. */
export interface Host {
  readonly database: Database;
}

/** A source container, and the feed that it is read by; absent: the latest versions. */
export interface FedSource extends SourceContainer {
  readonly feed?: 'latest' | 'all-versions';
}

/** One page of a change feed of one partition key, from a position on ('': the beginning; '*': now). */
export type ReadFeed = (
  source: Pick<FedSource, 'name' | 'feed'>,
  key: string,
  from: string,
  size: number,
) => Promise<{ readonly documents: readonly unknown[]; readonly next: string }>;

export interface HistoryOptions {
  readonly feed: ReadFeed;
  readonly random: Random;
  readonly tenant: string;
  readonly hosts: readonly Host[];
  readonly sources: readonly FedSource[];
  /** A runner a host: each keeps what it caches. */
  readonly runners: readonly Runner[];
  /**
   * A version that is built: documents are there before its all-versions feeds are first read, and it gets them by the
   * latest-version feed as well, beside what it follows.
   */
  readonly filled?: boolean;
  /** Makes one random write at the source. */
  readonly write: (random: Random) => Promise<void>;
  /** Ends what would still change by itself; after it nothing does but what `write` is called for. */
  readonly settle?: () => void;
  readonly readLagMs: number;
  /** One delivery after the other, none repeated unless its host crashed, no zombies: for what keeps an order. */
  readonly serial?: boolean;
  /** Each feed has a lease: its holder alone delivers, until another host takes it; what is under way may still land. */
  readonly leased?: boolean;
}

/** Most are short and dense, some long, for what takes many changes to go wrong. */
const stepsOf = (random: Random): number => (random.chance(0.2) ? 40 : 10 + random.int(8));

export const UNFENCED: Fence = {
  kind: 'host',
  tenure: {},
  signal: new AbortController().signal,
  assert: () => undefined,
};

/** Runs the history to its end: everything delivered, no zombie left. */
export async function runHistory(options: HistoryOptions): Promise<void> {
  const { random, hosts, sources, runners, serial = false, leased = false } = options;
  const steps = stepsOf(random);
  const read = (of: readonly FedSource[]): Feed[] =>
    of.map((source) => new Feed(options.feed, source, options.tenant, random));
  if (options.filled) for (let n = random.int(12); n > 0; n--) await options.write(random);
  const followed = read(sources);
  for (const feed of followed) await feed.begin();
  const feeds = options.filled
    ? [...followed, ...read(sources.map((source) => ({ ...source, feed: 'latest' })))]
    : followed;
  for (const feed of feeds.slice(followed.length)) await feed.begin();
  const zombies = new Zombies();
  const underway = new Set<Promise<void>>();
  const failures: unknown[] = [];
  /** As a host would: what another attempt may correct has the page read again. */
  const note = (error: unknown): void => {
    if (!(error instanceof MillraceError && error.retryable)) failures.push(error);
  };
  const seen: FeedPage[] = [];
  const deliver = async (by: number, feed: Feed, faults: boolean): Promise<boolean> => {
    const lease = leased ? feed.lease(by, random.chance(0.1), faults) : undefined;
    if (lease?.busy) return false;
    const host = lease?.host ?? by;
    let page = await feed.page();
    if (page.read === 0) return false;
    // As where they waited for the page before them: one more or two, and what was written meanwhile (PROC-L10a).
    for (let more = faults && random.chance(0.3) ? 1 + random.int(2) : 0; more > 0; more--) {
      await options.write(random);
      page = await feed.joined(page);
    }
    if (faults) seen.push(page);
    const inner = accessOf(options, host, lease?.fence);
    const access = faults ? injected(inner, random, zombies, serial ? 0 : 0.05, 0.03) : inner;
    const apply = async (): Promise<void> => {
      if (lease) lease.busy = true;
      await (runners[host] ?? never()).apply(page.changes, access);
      // Or it dies before it can say how far it got.
      if (!faults || !random.chance(0.05)) feed.acknowledge(page, lease);
    };
    const end = (): void => {
      if (lease) lease.busy = false;
    };
    const task = apply().catch(note).finally(end);
    const tracked = task.finally(() => underway.delete(tracked));
    underway.add(tracked);
    if (!faults || serial) await tracked;
    return true;
  };
  const resume = async (host: number, faults: boolean): Promise<boolean> => {
    const runner = runners[host] ?? never();
    if (!runner.resume) return true;
    const inner = accessOf(options, host);
    // A look that failed has found no one idle.
    let idle = false;
    const task = runner
      .resume(faults ? injected(inner, random, zombies, serial ? 0 : 0.05, 0.03) : inner)
      .then((outcome) => void (idle = outcome.idle), note);
    const tracked = task.finally(() => underway.delete(tracked));
    underway.add(tracked);
    if (!faults) await tracked;
    return idle;
  };
  for (let step = 0; step < steps; step++) {
    const kind = random.unit();
    if (runners[0]?.resume && random.chance(0.1)) await resume(random.int(hosts.length), true);
    else if (kind < 0.4) await options.write(random);
    else if (kind < 0.75) await deliver(random.int(hosts.length), random.pick(feeds), true);
    else if (kind < 0.8 && !serial) random.pick(feeds).rewind(random);
    else if (kind < 0.9) zombies.wakeOne(random);
    else await turn();
  }
  // What a delivery wrote may be a source as well, and its feed be read from a replica that lags behind: quiet is what
  // had nothing to give before and after that long.
  const drain = async (): Promise<void> => {
    options.settle?.();
    for (let quiet = 0; quiet < 2 && failures.length === 0;) {
      let moved = false;
      for (const feed of feeds) {
        while (await deliver(random.int(hosts.length), feed, false)) moved = true;
        if (random.chance(0.5)) zombies.wakeOne(random);
      }
      for (const host of hosts.keys()) if (!(await resume(host, false))) moved = true;
      quiet = moved ? 0 : quiet + 1;
      if (quiet < 2) await delay(options.readLagMs);
    }
  };
  // Some zombies wake while the feeds are drained, the last ones after everybody else has finished.
  await drain();
  while (underway.size > 0) {
    zombies.wakeAll();
    await Promise.race([...underway, turn()]);
  }
  zombies.assertNone();
  // The last of all had a page of long ago in hand, with its documents as they were then.
  for (let late = serial || seen.length === 0 ? 0 : 1 + random.int(2); late > 0; late--) {
    const host = random.int(hosts.length);
    const access = accessOf(options, host);
    await (runners[host] ?? never()).apply(random.pick(seen).changes, access).catch(note);
    // What it left is seen by what is written from now on.
    await options.write(random);
  }
  await drain();
  if (failures.length > 0) throw new AggregateError(failures, `The runner failed: ${String(failures[0])}`);
}

/**
 * A host looks for parents that another one left behind, wherever they are. Those of the other histories in the same
 * containers are not its business: its zombies would still write to their children when they have been judged.
 */
function accessOf({ hosts, tenant }: HistoryOptions, host: number, fence = UNFENCED): DocumentAccess {
  const access = new CosmosAccess(hosts[host]?.database ?? never(), fence, new Meter());
  const isOwn = (row: unknown): boolean =>
    !isObject(row) || row['type'] !== 'millrace.embed' || (row as unknown as EmbedState).parent.key[0] === tenant;
  return {
    ...bound(access),
    query: async <T>(...of: Parameters<DocumentAccess['query']>) => (await access.query<T>(...of)).filter(isOwn),
  };
}

interface FeedPage {
  /** Documents, those of no projection included. */
  readonly read: number;
  readonly changes: readonly Change[];
  readonly next: string;
  readonly from: string;
}

/** One host's hold on a feed. */
interface Lease {
  readonly host: number;
  readonly fence: Fence;
  /** It has a page in hand. */
  busy: boolean;
}

/** A real change feed of one partition key, with one checkpoint that two hosts share as they would a lease's. */
class Feed {
  readonly #read: ReadFeed;
  readonly #source: FedSource;
  readonly #tenant: string;
  readonly #size: number;
  readonly #history: string[] = [];
  #checkpoint = '';
  #lease: Lease | undefined;

  constructor(read: ReadFeed, source: FedSource, tenant: string, random: Random) {
    this.#read = read;
    this.#source = source;
    this.#tenant = tenant;
    this.#size = 1 + random.int(4);
  }

  /** The all-versions feed has no beginning: it is read from now on. */
  async begin(): Promise<void> {
    if (this.#source.feed === 'all-versions')
      this.#checkpoint = (await this.#read(this.#source, this.#tenant, '*', this.#size)).next;
    this.#history.push(this.#checkpoint);
  }

  async page(from = this.#checkpoint): Promise<FeedPage> {
    const { documents, next } = await this.#read(this.#source, this.#tenant, from, this.#size);
    const changes = documents.map((raw) => changeOf(this.#source, raw)).filter((change) => change !== undefined);
    return { read: documents.length, changes, next, from };
  }

  async joined(before: FeedPage): Promise<FeedPage> {
    const { read, changes, next } = await this.page(before.next);
    return { read: before.read + read, changes: [...before.changes, ...changes], next, from: before.from };
  }

  /** Who delivers its next page: its holder, or a host that takes it. `waits`: not because its holder is busy. */
  lease(host: number, takes: boolean, waits: boolean): Lease {
    if (!this.#lease || takes || (this.#lease.busy && !waits))
      this.#lease = { host, fence: { ...UNFENCED, kind: 'lease', tenure: {} }, busy: false };
    return this.#lease;
  }

  /** As a lease would: only the holder of the position it began with moves it. */
  acknowledge({ from, next }: FeedPage, lease?: Lease): void {
    if (this.#checkpoint !== from || (lease && lease !== this.#lease)) return;
    this.#checkpoint = next;
    this.#history.push(next);
  }

  rewind(random: Random): void {
    this.#checkpoint = random.pick(this.#history);
    this.#lease = undefined;
  }
}

export const changeOf = (source: FedSource, raw: unknown): Change | undefined =>
  source.feed === 'all-versions'
    ? toVersion(source, raw, 1, (current) => toChange(source, current, 1))
    : toChange(source, raw, 1);

export class Zombies {
  #asleep: (() => void)[] = [];
  #requests = 0;

  sleep(): Promise<void> {
    return new Promise((resolve) => this.#asleep.push(resolve));
  }

  async request<T>(call: () => Promise<T>): Promise<T> {
    this.#requests += 1;
    try {
      return await call();
    } finally {
      this.#requests -= 1;
    }
  }

  /** A page that has ended, well or not, leaves nothing running that a repetition of it would meet. */
  assertNone(): void {
    const left = this.#asleep.length + this.#requests;
    if (left > 0) throw new Error(`${left} requests of pages that have ended are still under way`);
  }

  wakeOne(random: Random): void {
    const [woken] = this.#asleep.splice(random.int(Math.max(1, this.#asleep.length)), 1);
    woken?.();
  }

  wakeAll(): void {
    for (const wake of this.#asleep.splice(0)) wake();
  }
}

/** Between any two requests: another's turn, a crash, or a long sleep. */
export function injected(
  inner: DocumentAccess,
  random: Random,
  zombies: Zombies,
  sleeps = 0.04,
  crashes = 0.02,
): DocumentAccess {
  const point = async (): Promise<void> => {
    for (let turns = random.int(3); turns > 0; turns--) await turn();
    if (random.chance(crashes)) throw new Crash();
    if (random.chance(sleeps)) await zombies.sleep();
  };
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    await point();
    const result = await zombies.request(call);
    await point();
    return result;
  };
  const { kind, tenure, signal } = inner.fence;
  const assert = (): void => {
    inner.fence.assert();
    if (random.chance(crashes)) throw new Crash();
  };
  return {
    fence: { kind, tenure, signal, assert },
    read: (...of) => around(() => inner.read(...of)),
    commit: (...of) => around(() => inner.commit(...of)),
    query: (...of) => around(() => inner.query(...of)),
  };
}

function never(): never {
  throw new Error('No such host');
}
