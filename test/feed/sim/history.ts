import { setImmediate as turn } from 'node:timers/promises';
import type { Events } from '../../../src/base/telemetry/diagnostics.ts';
import type { Change, Page } from '../../../src/feed/reading/change.ts';
import { FeedHost, type Timings } from '../../../src/feed/sharing/feed-host.ts';
import type { Fence } from '../../../src/feed/tenure/fence.ts';
import type { LeaseStore } from '../../../src/feed/leases/lease.ts';
import type { Tenure } from '../../../src/feed/tenure/page-handler.ts';
import { Random } from '../../support/random.ts';
import { Container, SimSource } from './feed.ts';
import { overlaps } from '../../../src/feed/reading/position.ts';
import { SimQueues, simDeferred } from './deferred.ts';
import { Leases } from './leases.ts';
import type { OpenDeferred } from '../../../src/feed/tenure/deferred.ts';
import { Oracle } from './oracle.ts';
import { type Faults, NO_FAULTS, Process, World, remote } from './world.ts';

const TIMINGS: Timings = {
  acquireMs: 3_000,
  expirationMs: 14_000,
  renewMs: 4_000,
  checkpointMs: 0,
  pollMs: 2_500,
  stallMs: 30_000,
  unacknowledgedMs: 25_000,
  stopMs: 10_000,
};
const NAMES = ['a', 'b', 'c'];
const DOCUMENTS = 16;
const MOST_UNACKNOWLEDGED = 6;
const PAGE = 4;
const ACTIVE_MS = 70_000;
const STEPS = 60;
/** Long enough for what hangs to be given up, to expire, to be taken, and to be balanced. */
const CALM_MS = 100_000;
/** Slow answers, old listings and several leases to take, one after the other. */
const SLACK_MS = 10_000;

const INTERVALS = [0, 1_500, 9_000];

const ORDERS: readonly (((change: Change) => string) | undefined)[] = [
  undefined,
  ({ key }) => key[0] as string,
  ({ id }) => id,
];

interface Host {
  readonly process: Process;
  readonly feed: FeedHost;
  leaving?: boolean;
}

/**
 * One random history: the real feed host, supervisors, sessions, balancer and splits, on a service that lags, throttles,
 * fails and forgets to answer; hosts with wrong clocks that come, go, die and stand still; splits, merges, and people who
 * delete and double leases.
 */
export class History {
  readonly #name: string;
  readonly #world: World;
  readonly #random: Random;
  readonly #faults: Faults = { ...NO_FAULTS };
  readonly #container: Container;
  readonly #leases: Leases;
  readonly #oracle: Oracle;
  readonly #hosts = new Map<string, Host>();
  readonly #hanging: { readonly signal: AbortSignal; readonly process: Process }[] = [];
  readonly #order: ((change: Change) => string) | undefined;
  readonly #manual: boolean;
  readonly #start: 'beginning' | 'now';
  /**
   * All handlers of this host hang, as where it can't reach the sink: healthy hosts handle what it can't (PROC-L8f).
   */
  readonly #sick: string | undefined;
  /** People delete and double leases. */
  readonly #meddling: boolean;
  readonly #timings: Timings;
  /** Tenants are over their share now and then (TEN-F4). Then no lease is doubled: see the gaps of SPEC-tenants. */
  readonly #floods: boolean;
  /** Order values that have less of a page share a call (TEN-F14). */
  readonly #together: number;
  readonly #mostPages: number | undefined;
  /** Pages that wait are joined (PROC-L10a). */
  readonly #joinedCharge: number | undefined;
  readonly #queues = new SimQueues();
  #calm = false;
  /** Changes that were deferred and applied. */
  drained = 0;
  /** Calls of the handler with changes of several pages. */
  joined = 0;

  constructor(seed: number, floods = false) {
    this.#floods = floods;
    const random = new Random(seed);
    this.#random = random;
    this.#name = `sim${seed}`;
    this.#world = new World(random);
    this.#order = ORDERS[random.int(ORDERS.length)];
    this.#manual = random.chance(0.25);
    this.#meddling = random.chance(0.5);
    this.#sick = random.chance(0.15) ? 'c' : undefined;
    this.#start = random.chance(0.5) ? 'now' : 'beginning';
    this.#container = new Container(this.#world, random.pick([1, 2, 4]));
    this.#timings = { ...TIMINGS, checkpointMs: random.pick(INTERVALS) };
    const pages = this.#order === undefined && !this.#manual;
    this.#together = floods ? random.pick([0, 0.6]) : 0;
    this.#mostPages = floods && random.chance(0.5) ? 2 : undefined;
    this.#joinedCharge = random.pick([0, 3, 100]) || undefined;
    const window = MOST_UNACKNOWLEDGED + PAGE;
    const rules = { ...this.#timings, window, start: this.#start, pages, together: this.#together > 0 };
    this.#oracle = new Oracle(
      this.#world,
      this.#container,
      rules,
      () => this.#leases.documents.values(),
      (id, lsn) => this.#queues.holds(id, lsn),
    );
    this.#leases = new Leases(this.#world, this.#container, this.#oracle);
  }

  /** Published events carry the container's name; it tells the history and the life of the host. */
  event<N extends keyof Events>(name: N, event: Events[N]): void {
    const [, , host = ''] = String((event as { container?: string }).container).split('/');
    this.#oracle.event(name, event, host);
  }

  /** Resolves to what went wrong. */
  async run(): Promise<string[]> {
    const random = this.#random;
    for (let n = random.int(10); n > 0; n--) this.#write();
    const strength = random.pick([0, 0.5, 1, 2]);
    Object.assign(this.#faults, {
      throttle: 0.03 * strength,
      failBefore: 0.02 * strength,
      loseAnswer: 0.02 * strength,
      hang: 0.002 * strength,
    });
    this.#begin('a');
    for (let step = 0; step < STEPS; step++) {
      this.#step();
      await this.#world.pass(random.int((2 * ACTIVE_MS) / STEPS));
    }
    this.#calm = true;
    Object.assign(this.#faults, NO_FAULTS);
    for (const { process } of this.#hosts.values()) process.resume();
    await this.#world.pass(2 * TIMINGS.stopMs);
    if ([...this.#hosts.keys()].every((name) => name === this.#sick)) this.#begin('a');
    await this.#world.pass(this.#sick ? 2 * CALM_MS : CALM_MS);
    for (const { signal, process } of this.#hanging)
      if (process.state === 'running') this.#oracle.hung(signal, 'a handler');
    const sick = this.#sick !== undefined && this.#hosts.has(this.#sick);
    this.#oracle.atRest([...this.#hosts.keys()], !sick);
    if (!sick && !this.#queues.isEmpty) this.#oracle.failures.push('TEN-F8: a queue is left');
    if (!sick && random.chance(0.3)) await this.#goFromRest();
    const stopped = Promise.all([...this.#hosts.values()].map(({ feed }) => feed.stop()));
    await this.#world.pass(TIMINGS.stopMs + 1_000);
    await Promise.race([stopped, turn().then(() => this.#oracle.failures.push('PROC-L7: stop() does not end'))]);
    this.#oracle.stopped();
    return this.#oracle.failures;
  }

  /** PROC-L7c: leases at rest are seldom listed, and yet whoever goes is replaced in time. */
  async #goFromRest(): Promise<void> {
    const { acquireMs, renewMs, expirationMs } = this.#timings;
    const settledMs = Math.max(acquireMs, renewMs);
    this.#oracle.listings.clear();
    await this.#world.pass(4 * expirationMs);
    this.#oracle.listedAtMost(4 * (this.#hosts.size === 1 ? 1 : expirationMs / settledMs) + 1);
    for (const how of ['kill', 'stop'] as const) {
      if (this.#hosts.size < 2) return;
      this.#end(this.#random.pick([...this.#hosts.keys()]), how);
      await this.#world.pass((how === 'kill' ? expirationMs : 0) + settledMs + SLACK_MS);
      this.#oracle.replaced([...this.#hosts.keys()], how);
    }
  }

  #step(): void {
    const random = this.#random;
    const kind = random.unit();
    const name = random.pick(NAMES);
    const host = this.#hosts.get(name);
    if (kind < 0.5) this.#write();
    else if (kind < 0.62) this.#begin(name);
    else if (kind < 0.66) this.#end(name, 'stop');
    else if (kind < 0.71) this.#end(name, 'kill');
    else if (kind < 0.8 && host) {
      host.process.state = 'paused';
      this.#world.in(random.int(2 * TIMINGS.expirationMs), () => host.process.resume());
    } else if (kind < 0.86) this.#container.split();
    else if (kind < 0.89) this.#container.merge();
    else if (!this.#meddling) return;
    else if (kind < 0.91 && this.#leases.documents.size > 0) {
      const one = random.pick([...this.#leases.documents.values()]);
      this.#oracle.meddled(one.range);
      this.#leases.delete(one.id);
    } else if (kind < 0.92 && !this.#floods && this.#leases.documents.size > 0) {
      const { range, position } = random.pick([...this.#leases.documents.values()]);
      this.#oracle.meddled(range);
      this.#leases.create(range, position, 'x');
    }
  }

  #write(): void {
    const n = this.#random.int(DOCUMENTS);
    this.#container.write(this.#random.chance(0.3) ? [n, (n + 8) % DOCUMENTS] : [n]);
  }

  #begin(name: string): void {
    if (this.#hosts.has(name)) return;
    const random = this.#random;
    const process = new Process(this.#world, random.int(180_001) - 90_000, random.int(1_000_000));
    const feed = new FeedHost({
      container: `c/${this.#name}/${name}`,
      host: name,
      source: new SimSource(process, this.#container, this.#faults, 1 + random.int(PAGE)),
      leases: this.#watched(name, process),
      start: this.#start,
      order: this.#order,
      concurrency: 3,
      mostUnacknowledged: MOST_UNACKNOWLEDGED,
      manual: this.#manual,
      handle: (page, fence, tenure) => this.#handle(page, fence, tenure, name, process),
      joinedCharge: this.#joinedCharge,
      timings: this.#timings,
      clock: process.clock,
      ...(this.#floods && {
        deferred: this.#deferred(process, name),
        together: this.#together,
        mostPages: this.#mostPages,
      }),
    });
    this.#hosts.set(name, { process, feed });
    const again = (): void => {
      if (this.#hosts.get(name)?.feed !== feed || this.#hosts.get(name)?.leaving) return;
      this.#gone(name);
      this.#world.in(1_000, () => this.#begin(name));
    };
    let started = false;
    // A host whose start fails, or hangs, is started again by whoever looks after it.
    this.#world.in(20_000, () => !started && again());
    void (async () => {
      try {
        await feed.start();
        started = true;
        this.#oracle.preparedAt = Math.min(this.#oracle.preparedAt, this.#leases.preparedAt ?? Infinity);
      } catch {
        again();
      }
    })();
  }

  /** A stopping host keeps its name until it is gone: two of one name are not allowed for. */
  #end(name: string, how: 'stop' | 'kill'): void {
    const host = this.#hosts.get(name);
    if (!host || host.process.state === 'paused') return;
    const gone = (): void => {
      if (this.#hosts.get(name) === host) this.#gone(name);
    };
    if (how === 'kill') return gone();
    host.leaving = true;
    void host.feed.stop().then(gone);
    this.#world.in(TIMINGS.stopMs + 2_000, gone);
  }

  #gone(name: string): void {
    const host = this.#hosts.get(name);
    if (!host) return;
    host.process.state = 'dead';
    this.#hosts.delete(name);
    this.#oracle.forget(name);
  }

  #watched(host: string, process: Process): LeaseStore {
    const store = this.#leases.store(process, host, this.#faults);
    return {
      ...store,
      list: () => {
        this.#oracle.listed(host);
        return store.list();
      },
      renew: (lease, position) => {
        const done = this.#oracle.writing(host, lease.id, position);
        return store.renew(lease, position).finally(done);
      },
    };
  }

  async #handle(page: Page, fence: Fence, tenure: Tenure, host: string, process: Process): Promise<void> {
    const random = this.#random;
    const { changes } = page;
    if (new Set(changes.map((change) => SimSource.pages.get(change))).size > 1) this.joined += 1;
    const order = this.#order ?? (() => 'page');
    const seen = this.#oracle.begins(host, `P..${tenure.token}`, page.range!, fence.signal, changes, order);
    let handled = false;
    try {
      for (const change of changes) {
        if (host === this.#sick) await this.#hang(fence.signal, process);
        await process.clock.sleep(random.chance(0.1) ? random.int(4_000) : random.int(100));
        if (!this.#calm && random.chance(0.03)) throw new Error('The sink is not there');
        if (!this.#calm && random.chance(0.004)) await this.#hang(fence.signal, process);
        // It computes: nothing else happens in its process meanwhile.
        if (random.chance(0.01)) await this.#compute(process);
        fence.assert();
        const { id, version } = change;
        this.#oracle.acts(seen, version.lsn);
        await remote(process, NO_FAULTS, () => this.#oracle.durable(id, version.lsn));
        if (this.#manual) this.#acknowledgeLater(process, tenure, change);
      }
      handled = true;
    } finally {
      this.#oracle.ends(seen, changes, order, handled);
    }
  }

  #deferred(process: Process, host: string): OpenDeferred {
    const random = this.#random;
    return simDeferred({
      process,
      container: this.#container,
      stored: this.#queues,
      faults: this.#faults,
      over: () => !this.#calm && random.chance(0.2),
      apply: async (changes, fence) => {
        for (const { id, version } of changes) {
          await process.clock.sleep(random.chance(0.1) ? random.int(4_000) : random.int(100));
          if (!this.#calm && random.chance(0.03)) throw new Error('The sink is not there');
          if (!this.#calm && random.chance(0.004)) await this.#hang(fence.signal, process);
          fence.assert();
          this.#oracle.drains(fence.signal);
          await remote(process, NO_FAULTS, () => this.#oracle.durable(id, version.lsn));
          this.drained += 1;
        }
      },
      confirmed: (range) => {
        for (const lease of this.#leases.documents.values())
          if (overlaps(lease.range, range)) this.#oracle.allowWrite(host, lease.id);
      },
    });
  }

  async #hang(signal: AbortSignal, process: Process): Promise<void> {
    this.#hanging.push({ signal, process });
    await new Promise(() => undefined);
  }

  async #compute(process: Process): Promise<void> {
    if (process.state !== 'running') return;
    process.state = 'paused';
    this.#world.in(this.#random.int(2 * TIMINGS.expirationMs), () => process.resume());
    await process.clock.sleep(0);
  }

  #acknowledgeLater(process: Process, tenure: Tenure, change: Change): void {
    if (!this.#calm && this.#random.chance(0.01)) return;
    process.in(this.#random.int(2_000), () => tenure.acknowledge([change]));
  }
}
