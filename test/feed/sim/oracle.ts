import type { Events } from '../../../src/base/telemetry/diagnostics.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { Lease } from '../../../src/feed/leases/lease.ts';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { lsnOf, overlaps } from '../../../src/feed/reading/position.ts';
import type { Container } from './feed.ts';
import type { Watcher } from './leases.ts';
import type { World } from './world.ts';

export interface Rules {
  readonly expirationMs: number;
  readonly renewMs: number;
  readonly stallMs: number;
  /** Changes that may be handed over and not acknowledged. */
  readonly window: number;
  readonly start: 'beginning' | 'now';
  readonly checkpointMs: number;
  /** Pages are handled one after the other, and acknowledged when they are. */
  readonly pages: boolean;
  /** Order values may share a call of the handler. */
  readonly together: boolean;
}

/** One tenure, told by its signal, as the handler sees it. */
interface Tenure {
  readonly host: string;
  readonly lease: string;
  readonly range: FeedRange;
  /** Tenures are numbered as their leases were taken. */
  readonly number: number;
  /** The highest lsn that was handed on. */
  reached: number;
  /** Set by what happened elsewhere: from then on nothing may be begun. */
  over: string | undefined;
  readonly newest: Map<string, number>;
  readonly busy: Map<string, number>;
  inHand: number;
  /** The highest lsn of a batch that was handled to its end. */
  handled: number;
}

/** Judges a history by what reached the server and the handlers; knows PROC-L1 to PROC-L12 and nothing of the code. */
export class Oracle implements Watcher {
  readonly failures: string[] = [];
  readonly #world: World;
  readonly #container: Container;
  readonly #rules: Rules;
  /** By document, the highest version whose effect is durable. */
  readonly #durable = new Map<string, number>();
  readonly #tenures = new Map<AbortSignal, Tenure>();
  readonly #stolen = new Map<string, string>();
  /** By host and lease, the number of its last acquisition. */
  readonly #acquisitions = new Map<string, number>();
  #acquired = 0;
  /** Where people deleted or doubled leases: two owners may be at work there, whatever hosts do. */
  readonly #meddled: FeedRange[] = [];
  readonly #steals = new Map<string, number>();
  readonly #decided = new Map<string, string>();
  readonly #writing = new Map<string, number>();
  /** Checkpoints, and what they may cost: pages, anchors and ends. */
  readonly #cost = new Map<string, { writes: number; allowed: number }>();
  readonly #states = new Map<string, string>();
  readonly #open = new Map<string, number>();
  readonly #given = new Map<string, number>();
  /** By lease, when each change was handed over, in order. */
  readonly #times = new Map<string, number[]>();
  readonly #leases: () => Iterable<Lease>;
  /** Whether a change is durable among those that are deferred. */
  readonly #isDeferred: (id: string, lsn: number) => boolean;
  preparedAt = Infinity;
  /** How often each host has listed the leases. */
  readonly listings = new Map<string, number>();
  repeated = 0;
  /** How many changes may be handed over again, by what happened. */
  mayRepeat = 0;

  constructor(
    world: World,
    container: Container,
    rules: Rules,
    leases: () => Iterable<Lease>,
    isDeferred: (id: string, lsn: number) => boolean,
  ) {
    this.#isDeferred = isDeferred;
    this.#world = world;
    this.#container = container;
    this.#rules = rules;
    this.#leases = leases;
  }

  /** PROC-L2, PROC-L3, PROC-L5: whatever a stored position passes is durable, and it never goes back. */
  stored(lease: Lease, before: Lease | undefined): void {
    const lsn = lsnOf(lease.position);
    if (before && lsn < lsnOf(before.position))
      this.#fail('PROC-L3', `${lease.id} went from ${before.position} to ${lease.position}`);
    if (lease.position === '') this.#fail('PROC-L5', `${lease.id} has an empty position`);
    for (const doc of this.#container.docs.values()) {
      if (doc.lsn > lsn || doc.hash < lease.range.min || doc.hash >= lease.range.max || this.#isBefore(doc.at))
        continue;
      if ((this.#durable.get(doc.id) ?? 0) < doc.lsn && !this.#isDeferred(doc.id, doc.lsn))
        this.#fail(before ? 'PROC-L2' : 'PROC-L5', `${lease.id} at ${lease.position} passes ${doc.id}@${doc.lsn}`);
    }
  }

  acquired(host: string, lease: Lease, before: Lease, from: 'nobody' | 'owner', writtenAt: number): void {
    this.#acquisitions.set(`${host} ${lease.id}`, ++this.#acquired);
    if (before.owner !== null && before.owner !== host && from === 'nobody') {
      const unchanged = this.#world.now - writtenAt;
      if (unchanged <= this.#rules.expirationMs)
        this.#fail('PROC-L11', `${host} took ${lease.id} of ${before.owner}, written ${unchanged} ms ago`);
      this.#end(lease.id, host, 'another host took it, as it had expired');
    }
    if (from === 'owner') {
      this.#stolen.set(`${before.owner} ${lease.id}`, host);
      const steals = (this.#steals.get(host) ?? 0) + 1;
      this.#steals.set(host, steals);
      if (steals > 1) this.#fail('PROC-L7', `${host} stole ${steals} leases by one listing`);
    }
    const decided = this.#decided.get(`${host} ${lease.id}`);
    if (decided !== 'take' && decided !== 'steal')
      this.#fail('PROC-L12', `${host} took ${lease.id} and had said: ${decided}`);
    this.#goesBack(lease.id);
  }

  removed(lease: Lease): void {
    this.#goesBack(lease.id);
    this.#cost.delete(lease.id);
  }

  /** What was handled and not stored is handled again: what is in hand, and what came within one checkpoint interval. */
  #goesBack(id: string): void {
    const times = this.#times.get(id) ?? [];
    const last = times.at(-1) ?? 0;
    this.mayRepeat += 2 * this.#rules.window + times.filter((at) => at > last - this.#rules.checkpointMs).length;
  }

  told(host: string, id: string): void {
    // Whoever took it waits for this host's answer: what was begun may end.
    if ([...this.#leases()].some((lease) => lease.id === id && lease.takenFrom?.owner === host)) return;
    for (const tenure of this.#tenures.values())
      if (tenure.host === host && tenure.lease === id) tenure.over ??= 'it was told that its lease is lost';
  }

  answered(host: string, id: string): void {
    for (const tenure of this.#tenures.values())
      if (tenure.host === host && tenure.lease === id) tenure.over ??= 'it had answered that it does no more';
  }

  tookOver(host: string, id: string): void {
    this.#end(id, host, 'another host took it and has waited for long enough');
  }

  listed(host: string): void {
    this.#steals.set(host, 0);
    this.listings.set(host, (this.listings.get(host) ?? 0) + 1);
  }

  listedAtMost(times: number): void {
    for (const [host, listed] of this.listings)
      if (listed > times) this.#fail('PROC-L7', `${host} listed leases at rest ${listed} times, more than ${times}`);
  }

  /** Somebody has gone: each of its leases is in use again. */
  replaced(hosts: readonly string[], how: string): void {
    for (const { id, owner } of this.#leases())
      if (owner === null || !hosts.includes(owner)) this.#fail('PROC-L7', `${id} is still ${owner}’s after its ${how}`);
  }

  writing(host: string, id: string, position: string | undefined): () => void {
    const key = `${host} ${id}`;
    // Outside of a tenure a split proves the parent; one that hangs is given up and begun again, its ETag too old by then.
    const held = (this.#open.get(key) ?? 0) > 0;
    const count = (this.#writing.get(key) ?? 0) + Number(held);
    this.#writing.set(key, count);
    if (count > 1) this.#fail('PROC-L9', `${host} writes ${id} ${count} times at once`);
    if (position !== undefined) {
      const cost = this.#costOf(host, id);
      cost.writes += 1;
      if (cost.writes > cost.allowed)
        this.#fail('PROC-L9', `${host} wrote ${cost.writes} checkpoints of ${id}, more than pages`);
    }
    return () => this.#writing.set(key, Math.max(0, (this.#writing.get(key) ?? 0) - Number(held)));
  }

  /** A write that failed, a noted position that a renewal takes along, or an end: it may be written once more. */
  allowWrite(host: string, id: string): void {
    this.#costOf(host, id).allowed += 1;
  }

  meddled(range: FeedRange): void {
    this.#meddled.push(range);
  }

  /** PROC-L1c: what an old owner delivers must not come after something newer of the same range from a later owner. */
  #delivers(tenure: Tenure, lsn: number): void {
    if (this.#meddled.some((range) => overlaps(range, tenure.range))) return;
    for (const other of this.#tenures.values())
      if (other.number > tenure.number && other.reached > lsn && overlaps(other.range, tenure.range))
        this.#fail(
          'PROC-L1c',
          `${tenure.host} delivers @${lsn} of ${tenure.lease} after ${other.host} delivered @${other.reached}`,
        );
  }

  /** PROC-L1c, PROC-L4, PROC-L10: a handler is begun. */
  begins(
    host: string,
    lease: string,
    range: FeedRange,
    signal: AbortSignal,
    changes: readonly Change[],
    order: (change: Change) => string,
  ): Tenure {
    const tenure = this.#tenures.get(signal) ?? {
      host,
      lease,
      range,
      number: this.#acquisitions.get(`${host} ${lease}`) ?? 0,
      reached: -1,
      over: undefined,
      newest: new Map<string, number>(),
      busy: new Map<string, number>(),
      inHand: 0,
      handled: -1,
    };
    this.#tenures.set(signal, tenure);
    const stored = [...this.#leases()].find(({ id }) => id === lease);
    if (this.#rules.start === 'now' && stored?.owner === host && stored.position === undefined)
      this.#fail('PROC-L4', `${lease} hands on without a stored position`);
    // PROC-L9b: of pages whose checkpoint isn't stored there is one at most.
    const { pages, checkpointMs } = this.#rules;
    const own = stored?.owner === host && tenure.over === undefined;
    if (pages && checkpointMs === 0 && own && lsnOf(stored.position) < tenure.handled)
      this.#fail(
        'PROC-L9',
        `${lease} hands on a page while it stands at ${stored.position}, before @${tenure.handled}`,
      );
    const handed = this.#times.get(lease) ?? [];
    this.#times.set(lease, handed);
    handed.push(...changes.map(() => this.#world.now));
    const values = new Set(changes.map(order));
    if (values.size > 1 && !this.#rules.together) this.#fail('PROC-L10', 'two order values in one batch');
    for (const value of values) {
      const busy = (tenure.busy.get(value) ?? 0) + 1;
      tenure.busy.set(value, busy);
      if (busy > 1) this.#fail('PROC-L10', `${value} is handled twice at once`);
    }
    tenure.inHand += changes.length;
    for (const { id, version } of changes) {
      this.#delivers(tenure, version.lsn);
      const newest = tenure.newest.get(id) ?? 0;
      if (version.lsn < newest) this.#fail('PROC-L10', `${id}@${version.lsn} was handed on after @${newest}`);
      tenure.newest.set(id, version.lsn);
      const times = (this.#given.get(`${id}@${version.lsn}`) ?? 0) + 1;
      this.#given.set(`${id}@${version.lsn}`, times);
      if (times > 1) this.repeated += 1;
    }
    tenure.reached = Math.max(tenure.reached, ...changes.map(({ version }) => version.lsn));
    if (tenure.inHand > 2 * this.#rules.window) this.#fail('PROC-L10', `${tenure.inHand} changes in hand`);
    return tenure;
  }

  ends(tenure: Tenure, changes: readonly Change[], order: (change: Change) => string, handled: boolean): void {
    if (handled) tenure.handled = Math.max(tenure.handled, ...changes.map(({ version }) => version.lsn));
    for (const value of new Set(changes.map(order))) tenure.busy.set(value, (tenure.busy.get(value) ?? 1) - 1);
    tenure.inHand -= changes.length;
  }

  /** PROC-L1, PROC-L1c: the fence let the write of a change begin. */
  acts(tenure: Tenure, lsn: number): void {
    const { host, lease, over } = tenure;
    this.#delivers(tenure, lsn);
    if (over !== undefined) this.#fail('PROC-L1', `${host} acts for ${lease} though ${over}`);
  }

  /** PROC-L1: the fence let the write of a change begin that was deferred. It comes later than newer ones of other keys. */
  drains(signal: AbortSignal): void {
    const { host, lease, over } = this.#tenures.get(signal) ?? {};
    if (over !== undefined) this.#fail('PROC-L1', `${host} drains for ${lease} though ${over}`);
  }

  /** The write has reached the server: the version guard keeps what is newer. */
  durable(id: string, lsn: number): void {
    this.#durable.set(id, Math.max(this.#durable.get(id) ?? 0, lsn));
  }

  /** PROC-L12: what is published has to fit together. */
  event<N extends keyof Events>(name: N, event: Events[N], host: string): void {
    const of = event as { lease?: string };
    const key = `${host} ${of.lease}`;
    if (name === 'balancer:decided') this.#decided.set(key, (event as Events['balancer:decided']).decision);
    if (name === 'feed:page') this.#costOf(host, of.lease ?? '').allowed += 1;
    if (name === 'feed:failed') {
      this.allowWrite(host, of.lease ?? '');
      this.mayRepeat += 2 * this.#rules.window;
    }
    if (name === 'lease:acquired') {
      this.#states.delete(key);
      this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
      this.#costOf(host, of.lease ?? '').allowed += 2;
      if (this.#open.get(key) !== 1) this.#fail('PROC-L12', `${key} was acquired twice without a release`);
    }
    if (name === 'lease:released') {
      this.#open.set(key, (this.#open.get(key) ?? 0) - 1);
      // A write whose answer never comes is left behind with its tenure.
      this.#writing.delete(key);
      this.allowWrite(host, of.lease ?? '');
      if (this.#open.get(key) !== 0) this.#fail('PROC-L12', `${key} was released without being acquired`);
      if ((event as Events['lease:released']).reason === '')
        this.#fail('PROC-L12', `${key} was released without a reason`);
    }
    if (name === 'lease:state') {
      const { from, to } = event as Events['lease:state'];
      if ((this.#states.get(key) ?? from) !== from)
        this.#fail('PROC-L12', `${key} was ${this.#states.get(key)}, and then moved from ${from}`);
      this.#states.set(key, to);
    }
  }

  forget(host: string): void {
    for (const key of this.#open.keys()) if (key.startsWith(`${host} `)) this.#open.delete(key);
    for (const key of this.#writing.keys()) if (key.startsWith(`${host} `)) this.#writing.delete(key);
  }

  /** PROC-L8: a handler that hangs has lost its lease by now. */
  hung(signal: AbortSignal, what: string): void {
    if (!signal.aborted) this.#fail('PROC-L8', `${what} hangs, and its lease was kept`);
  }

  /** Everything written was handled, and every range has one lease; `evenly`: no host stands back. */
  atRest(hosts: readonly string[], evenly: boolean): void {
    for (const { id, lsn, at } of this.#container.docs.values())
      if (!this.#isBefore(at) && (this.#durable.get(id) ?? 0) < lsn)
        this.#fail('lost', `${id}@${lsn} was never handled (${this.#durable.get(id) ?? 'no version'} was)`);
    const leases = [...this.#leases()].toSorted((a, b) => (a.range.min < b.range.min ? -1 : 1));
    let end = '';
    for (const { id, range } of leases) {
      if (range.min > end) this.#fail('PROC-L6', `nothing covers ${end}-${range.min}`);
      if (range.min < end) this.#fail('PROC-L6', `${id} covers what another lease covers`);
      end = range.max > end ? range.max : end;
    }
    if (end !== 'FF') this.#fail('PROC-L6', `nothing covers ${end}-FF`);
    const counts = hosts.map((host) => leases.filter(({ owner }) => owner === host).length);
    if (evenly && Math.max(...counts) > Math.ceil(leases.length / hosts.length))
      this.#fail('PROC-L7', `hosts have ${counts.join(', ')} leases`);
    if (leases.some(({ owner }) => owner === null || !hosts.includes(owner)))
      this.#fail('PROC-L7', 'a lease is nobody’s');
    if (this.repeated > this.mayRepeat)
      this.#fail('PROC-L5', `${this.repeated} changes came again, more than ${this.mayRepeat}`);
  }

  /** After every host was stopped: all is offered, and stands at the end of what was written. */
  stopped(): void {
    for (const { id, owner, position, range } of this.#leases()) {
      if (owner !== null) this.#fail('PROC-L7', `${id} was not offered by ${owner}`);
      const last = [...this.#container.docs.values()]
        .filter(({ hash }) => hash >= range.min && hash < range.max)
        .reduce((most, { lsn, at }) => (this.#isBefore(at) ? most : Math.max(most, lsn)), -1);
      if (lsnOf(position) < last) this.#fail('PROC-L2', `${id} ends at ${position}, before ${last}`);
    }
    for (const [key, count] of this.#open)
      if (count !== 0) this.#fail('PROC-L12', `${key} was never said to be released`);
  }

  #costOf(host: string, id: string): { writes: number; allowed: number } {
    const key = `${host} ${id}`;
    const cost = this.#cost.get(key) ?? { writes: 0, allowed: 1 };
    this.#cost.set(key, cost);
    return cost;
  }

  #end(lease: string, except: string, why: string): void {
    for (const tenure of this.#tenures.values())
      if (tenure.lease === lease && tenure.host !== except) tenure.over ??= why;
  }

  #isBefore(at: number): boolean {
    return this.#rules.start === 'now' && at < this.preparedAt;
  }

  #fail(invariant: string, what: string): void {
    this.failures.push(`${invariant}: ${what} (at ${this.#world.now} ms)`);
  }
}
