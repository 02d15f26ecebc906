// A random history of one tenant: documents change at the source while two hosts deliver pages of its real change feed to
// a runner, crash between any two requests, fall asleep and wake up as zombies, and read stale replicas. In the end the
// feed is drained and the sink has to be what the oracle says.
import { ChangeFeedStartFrom, type ChangeFeedPullModelIterator, type Container, type Database } from '@azure/cosmos';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Meter } from '../../src/cosmos/meter.ts';
import type { Change } from '../../src/feed/change.ts';
import { type SourceContainer, toChange } from '../../src/feed/change-mapper.ts';
import type { Fence } from '../../src/feed/fence.ts';
import type { Runner } from '../../src/projections/runner.ts';
import { CosmosSession } from '../../src/sinks/cosmos-session.ts';
import type { SinkSession } from '../../src/sinks/session.ts';
import type { Random } from '../support/random.ts';

export class Crash extends Error {}

/** A host of its own: another client, so another session, so reads as stale as the server makes them. */
export interface Host {
  readonly database: Database;
}

export interface HistoryOptions {
  readonly random: Random;
  readonly tenant: string;
  readonly hosts: readonly Host[];
  readonly sources: readonly SourceContainer[];
  /** A runner a host: each keeps what it caches. */
  readonly runners: readonly Runner[];
  /** Makes one random write at the source. */
  readonly write: (random: Random) => Promise<void>;
  readonly steps: number;
  readonly readLagMs: number;
}

export const UNFENCED: Fence = { kind: 'host', signal: new AbortController().signal, assert: () => undefined };

/** Runs the history to its end: everything delivered, no zombie left. */
export async function runHistory(options: HistoryOptions): Promise<void> {
  const { random, hosts, sources, runners, steps } = options;
  const feeds = sources.map((source) => new Feed(hosts, source, options.tenant));
  const zombies = new Zombies();
  const underway = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const deliver = async (host: number, feed: Feed, faults: boolean): Promise<boolean> => {
    const page = await feed.page(host, 1 + random.int(4));
    if (page.read === 0) return false;
    const inner = new CosmosSession(hosts[host]?.database ?? never(), UNFENCED, new Meter());
    const session = faults ? injected(inner, random, zombies) : inner;
    const task = (runners[host] ?? never()).apply(page.changes, session).then(
      () => feed.acknowledge(page),
      (error: unknown) => {
        if (!(error instanceof Crash)) failures.push(error);
      },
    );
    const tracked = task.finally(() => underway.delete(tracked));
    underway.add(tracked);
    if (!faults) await tracked;
    return true;
  };
  const resume = async (host: number, faults: boolean): Promise<boolean> => {
    const runner = runners[host] ?? never();
    if (!runner.resume) return true;
    const inner = new CosmosSession(hosts[host]?.database ?? never(), UNFENCED, new Meter());
    let idle = true;
    const task = runner.resume(faults ? injected(inner, random, zombies) : inner).then(
      (outcome) => void (idle = outcome.idle),
      (error: unknown) => {
        if (!(error instanceof Crash)) failures.push(error);
      },
    );
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
    else if (kind < 0.8) random.pick(feeds).rewind(random);
    else if (kind < 0.9) zombies.wakeOne(random);
    else await turn();
  }
  // What a delivery wrote may be a source as well, and its feed be read from a replica that lags behind.
  const drain = async (): Promise<void> => {
    for (let quiet = false, wroteAt = performance.now(); !quiet && failures.length === 0;) {
      quiet = performance.now() - wroteAt > options.readLagMs;
      for (const feed of feeds) {
        if (await deliver(random.int(hosts.length), feed, false)) {
          quiet = false;
          wroteAt = performance.now();
        }
        if (random.chance(0.5)) zombies.wakeOne(random);
      }
      for (const host of hosts.keys()) {
        if (await resume(host, false)) continue;
        quiet = false;
        wroteAt = performance.now();
      }
      // Until the replicas have caught up there is nothing to read.
      if (!quiet) await delay(2);
    }
  };
  // Some zombies wake while the feeds are drained, the last ones after everybody else has finished.
  await drain();
  while (underway.size > 0) {
    zombies.wakeAll();
    await Promise.race([...underway, turn()]);
  }
  await drain();
  if (failures.length > 0) throw new AggregateError(failures, `The runner failed: ${String(failures[0])}`);
}

interface FeedPage {
  /** Documents, those of no projection included. */
  readonly read: number;
  readonly changes: readonly Change[];
  readonly next: string;
  readonly from: string;
}

/** The real change feed of one partition key, with one checkpoint that two hosts share as they would a lease's. */
class Feed {
  readonly #hosts: readonly Host[];
  readonly #source: SourceContainer;
  readonly #tenant: string;
  readonly #history: string[] = [''];
  #checkpoint = '';

  constructor(hosts: readonly Host[], source: SourceContainer, tenant: string) {
    this.#hosts = hosts;
    this.#source = source;
    this.#tenant = tenant;
  }

  async page(host: number, size: number): Promise<FeedPage> {
    const from = this.#checkpoint;
    const container: Container = (this.#hosts[host] ?? never()).database.container(this.#source.name);
    const changeFeedStartFrom =
      from === '' ? ChangeFeedStartFrom.Beginning([this.#tenant]) : ChangeFeedStartFrom.Continuation(from);
    const pull: ChangeFeedPullModelIterator<unknown> = container.items.getChangeFeedIterator({
      changeFeedStartFrom,
      maxItemCount: size,
    });
    for (let tries = 0; ; tries++) {
      try {
        const { result, continuationToken } = await pull.readNext();
        const changes = (result ?? [])
          .map((raw) => toChange(this.#source, raw, 1))
          .filter((change) => change !== undefined);
        return { read: result?.length ?? 0, changes, next: continuationToken, from };
      } catch (error) {
        if (tries > 20) throw error;
      }
    }
  }

  /** As a lease would: only the holder of the position it began with moves it. */
  acknowledge({ from, next }: FeedPage): void {
    if (this.#checkpoint !== from) return;
    this.#checkpoint = next;
    this.#history.push(next);
  }

  rewind(random: Random): void {
    this.#checkpoint = random.pick(this.#history);
  }
}

export class Zombies {
  #asleep: (() => void)[] = [];

  sleep(): Promise<void> {
    return new Promise((resolve) => this.#asleep.push(resolve));
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
export function injected(inner: SinkSession, random: Random, zombies: Zombies, sleeps = 0.04): SinkSession {
  const point = async (): Promise<void> => {
    for (let turns = random.int(3); turns > 0; turns--) await turn();
    if (random.chance(0.02)) throw new Crash('crashed');
    if (random.chance(sleeps)) await zombies.sleep();
  };
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    await point();
    const result = await call();
    await point();
    return result;
  };
  return {
    fence: inner.fence,
    read: (...of) => around(() => inner.read(...of)),
    commit: (...of) => around(() => inner.commit(...of)),
    query: (...of) => around(() => inner.query(...of)),
  };
}

function never(): never {
  throw new Error('No such host');
}
