import { type Clock, systemClock } from '../../base/clock.ts';
import { emit } from '../../base/telemetry/diagnostics.ts';
import { messageOf } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { balance } from './balancer.ts';
import { processorStopped } from './processor-stopped.ts';
import { withLeaseSpans } from '../leases/lease-spans.ts';
import { type Lease, LeaseLost, LeaseStalled, type LeaseStore } from '../leases/lease.ts';
import { RangeMemory } from '../tenure/range-memory.ts';
import { LeaseTenure } from '../tenure/lease-tenure.ts';
import { intersection, lsnOf } from '../reading/position.ts';
import type { SharedHistory } from '../leases/shared-history.ts';
import { type FeedMode, RangeGone, type Start, anchor } from '../reading/source.ts';
import type { Terminal } from '../tenure/states.ts';
import type { Decision, Sighting } from './decision-table.ts';
import { Sightings } from './sightings.ts';
import { gapsOf, isHalfSplit, lastSeen, splitLease } from './split.ts';
import { Halt } from '../tenure/page-handler.ts';
import { LEAVING_MS, Supervisor, type SupervisorOptions, type SupervisorStatus } from '../tenure/supervisor.ts';
import { until } from '../../base/until.ts';
import { feedError } from '../errors.ts';

/** Milliseconds. The timings that .NET and Functions also have use their defaults. */
export interface Timings {
  /** How often the leases are listed while they change; less often if they don't (sightings.ts). */
  readonly acquireMs: number;
  /** Other hosts may take a lease that was not written for longer. */
  readonly expirationMs: number;
  readonly renewMs: number;
  /**
   * The shortest time between two writes that store a checkpoint. A renewal, a stop, a split and an idle feed don't wait
   * for it. Above 0, a crash repeats the changes of this time, not of one page.
   */
  readonly checkpointMs: number;
  /** Time from the start of a read that found nothing new to the start of the next read. */
  readonly pollMs: number;
  /** If a read or a handler takes longer, the host gives the lease up. */
  readonly stallMs: number;
  /** With manual acknowledgement: if a handled change stays unacknowledged for longer, the host gives the lease up. */
  readonly unacknowledgedMs: number;
  /** The longest time that `stop` waits for handlers and for the lease container. */
  readonly stopMs: number;
}

export const DEFAULT_TIMINGS: Timings = {
  acquireMs: 13_000,
  expirationMs: 60_000,
  renewMs: 17_000,
  checkpointMs: 0,
  pollMs: 5_000,
  stallMs: 180_000,
  unacknowledgedMs: 300_000,
  stopMs: 30_000,
};

type OfParts = 'order' | 'together' | 'mostPages' | 'joinedCharge';
type OfTenures = 'container' | 'source' | 'handle' | 'start' | 'budget' | 'listener' | 'deferred';

export interface FeedHostOptions extends Pick<SupervisorOptions, OfParts | OfTenures> {
  /** This host's name. With a stable name it continues with its leases immediately after a restart. */
  readonly host: string;
  readonly leases: LeaseStore;
  /** Default `latest-version`. */
  readonly mode?: FeedMode;
  /** With an `order`: handler calls at the same time on one range. Default 16. */
  readonly concurrency?: number | undefined;
  /** The most changes of a range that are read and not acknowledged, without the last page. Default 10,000. */
  readonly mostUnacknowledged?: number | undefined;
  readonly manual?: boolean | undefined;
  readonly pageSize?: { readonly most: number; readonly targetMs: number } | undefined;
  readonly minLeases?: number | undefined;
  readonly maxLeases?: number | undefined;
  readonly timings?: Partial<Timings>;
  readonly clock?: Clock;
}

export interface LeaseStatus extends SupervisorStatus {
  readonly id: string;
  readonly range: FeedRange;
  /** The history that it shares with other leases since a split. Lags use it. */
  readonly shared?: readonly SharedHistory[];
}

interface Running {
  readonly tenure: LeaseTenure;
  readonly supervisor: Supervisor;
  readonly split: AbortController;
  readonly done: Promise<void>;
}

/** Reads a container's change feed, which this host shares with other hosts by leases. */
export class FeedHost {
  readonly #options: FeedHostOptions;
  readonly #timings: Timings;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #halted = Promise.withResolvers<never>();
  readonly #running = new Map<string, Running>();
  readonly #sightings: Sightings;
  readonly #memories = new Map<string, RangeMemory>();
  readonly #decided = new Map<string, `${Sighting} ${Decision}`>();
  #starting: Promise<void> | undefined;
  #balancing: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;
  #startedBefore: Date | undefined;
  #gaps: readonly FeedRange[] = [];
  /** Number of leases in the last list. */
  #known = 0;
  /** The error of the last balance. */
  #failure: unknown;
  /** Leases that ended here and still name this host. */
  readonly #kept = new Set<string>();
  /** When to list the leases again, monotonic. */
  #nextListing = 0;

  constructor(options: FeedHostOptions) {
    this.#options = { ...options, leases: withLeaseSpans(options.leases, options.container) };
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#clock = options.clock ?? systemClock;
    this.#sightings = new Sightings(this.#timings);
    this.#halted.promise.catch(() => undefined);
  }

  /** Rejects when a handler halts this host. Never resolves. */
  get halted(): Promise<never> {
    return this.#halted.promise;
  }

  /**
   * Prepares the leases and starts. Rejects when the lease container can't be used. A second call returns the same promise.
   * @throws UsageError `processor-stopped`
   */
  start(): Promise<void> {
    if (this.#stopping) throw processorStopped('can’t be started again');
    return (this.#starting ??= this.#start());
  }

  async #start(): Promise<void> {
    const { leases, mode, start } = this.#options;
    // The leases are created with their positions, so that all later writes are delivered, whichever host takes the lease
    // (PROC-L4).
    await leases.prepare(this.#stop.signal, start === 'beginning' ? undefined : (range) => this.#begin(range, start));
    // The all-versions feed can only start from now.
    if (mode !== 'all-versions') this.#startedBefore = await leases.initializedAt?.();
    await this.#balance(true);
    void this.#keepBalancing();
  }

  /** If the range is split at this moment, its parts get their positions at their first read, from the start time. */
  async #begin(range: FeedRange, start: Exclude<Start, 'beginning'>): Promise<string | undefined> {
    try {
      return (await anchor(this.#options.source, range, start, undefined, this.#stop.signal)) || undefined;
    } catch (error) {
      if (error instanceof RangeGone) return undefined;
      throw error;
    }
  }

  /**
   * Lets running handlers end, stores their positions, and offers the leases to other hosts. After `stopMs` it waits no
   * longer: it aborts the handlers' signals, and leases that it could not offer expire.
   */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#end());
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    const over = new AbortController();
    const deadline = (async () => {
      await this.#clock.sleep(this.#timings.stopMs, over.signal);
      for (const { tenure } of this.#running.values()) tenure.abandon('stopping took too long');
      // One more turn, so that these tenures report their end before this host reports that it has stopped.
      await this.#clock.sleep(0, over.signal);
    })();
    deadline.catch(() => undefined);
    const quiet = (async () => {
      // Requests to a failing lease container are retried for up to a minute. A stopping host doesn't wait for that.
      const begun = Promise.all([this.#starting?.catch(() => undefined), this.#balancing]);
      await Promise.race([begun, this.#clock.sleep(LEAVING_MS, over.signal)]);
      await Promise.all([...this.#running.values()].map(({ done }) => done));
    })();
    quiet.catch(() => undefined);
    await Promise.race([quiet, deadline]).finally(() => over.abort());
  }

  /** `kept`: the leases that it could not give back. Other hosts take them when they have expired. */
  status(): {
    readonly leases: readonly LeaseStatus[];
    readonly known: number;
    readonly failure: unknown;
    readonly kept: readonly string[];
  } {
    const leases = [...this.#running.values()].map(({ tenure, supervisor }) => ({
      ...supervisor.status,
      id: tenure.lease.id,
      range: tenure.lease.range,
      ...(tenure.lease.shared && { shared: tenure.lease.shared }),
    }));
    return { leases, known: this.#known, failure: this.#failure, kept: [...this.#kept] };
  }

  async #keepBalancing(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // At most `acquireMs`, because a lost lease moves the next list to an earlier time.
      const left = Math.min(this.#timings.acquireMs, this.#nextListing - this.#clock.monotonic());
      if (left > 0) await this.#clock.sleep(Math.ceil(left), signal).catch(() => undefined);
      if (signal.aborted || this.#clock.monotonic() < this.#nextListing) continue;
      await this.#balance(false).catch((error: unknown) => {
        if (signal.aborted) return;
        emit('balancer:failed', { container: this.#options.container, error });
        this.#options.listener?.failed(error);
      });
    }
  }

  /** Runs one balance at a time. */
  #balance(starting: boolean): Promise<void> {
    const turn = this.#balancing.then(() => this.#balanceOnce(starting));
    this.#balancing = turn.then(
      () => void (this.#failure = undefined),
      (error: unknown) => void (this.#failure = error),
    );
    return turn;
  }

  /** Requests of the SDK always end; those of another store may hang. A call that hangs is abandoned and tried again. */
  async #bounded<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { stallMs } = this.#timings;
    const [over, late] = [new AbortController(), new AbortController()];
    void this.#clock.sleep(stallMs, over.signal).then(
      () => late.abort(feedError('lease-store-hangs', `${what} has not ended within ${stallMs / 1000} s`)),
      () => undefined,
    );
    try {
      return await until(work(), late.signal);
    } finally {
      over.abort();
    }
  }

  async #balanceOnce(starting: boolean): Promise<void> {
    const { host, leases, minLeases: least, maxLeases: most } = this.#options;
    if (this.#stop.signal.aborted) return;
    this.#nextListing = this.#clock.monotonic() + this.#timings.acquireMs;
    const listed = await this.#bounded('listing the leases', () => leases.list());
    this.#known = listed.length;
    const supervised = new Set(this.#running.keys());
    const now = this.#clock.monotonic();
    const expired = this.#sightings.observe(listed, now);
    const handedOver = new Set(listed.filter((lease) => this.#sightings.aloneAt(lease, now) > now).map(({ id }) => id));
    for (const lease of listed) this.#noteTaken(lease);
    const ids = new Set(listed.map(({ id }) => id));
    for (const id of this.#memories.keys()) if (!ids.has(id)) this.#memories.delete(id);
    const left = this.#sightings.left(listed, now);
    const standingBack = new Set([...this.#memories].filter(([, of]) => of.isLeftToOthers(now)).map(([id]) => id));
    const seen = { supervised, expired, left, handedOver, standingBack };
    const decisions = balance(listed, { host, ...seen, starting, least, most });
    const gaps = gapsOf(listed);
    const restless = gaps.length > 0 || decisions.some(({ decision }) => decision === 'take' || decision === 'steal');
    this.#nextListing = this.#sightings.next(listed, supervised, now, restless);
    for (const { lease, decision, sighting, why } of decisions) {
      if (this.#stop.signal.aborted) return;
      this.#report(lease, decision, sighting, why);
      // Leases inside this one: another host has started to split it, and may be gone.
      if (decision === 'keep' && isHalfSplit(lease, listed)) this.#running.get(lease.id)?.split.abort();
      if (decision !== 'take' && decision !== 'steal') continue;
      const sentAt = this.#clock.monotonic();
      const from = decision === 'steal' ? 'owner' : 'nobody';
      const taken = await this.#bounded('taking a lease', () => leases.acquire(lease, from));
      if (!taken) continue;
      const half = isHalfSplit(taken, listed);
      // With a former owner that may still act, the split waits until that is over, but comes before the first read: the
      // parts may be read already.
      if (taken.takenFrom || !half) this.#run(taken, sentAt, half);
      // The next balance can take the parts, so it starts immediately.
      else if (await this.#split(taken)) void this.#balance(false).catch(() => undefined);
    }
    const twin = listed.find((lease) => this.#isOfTwin(lease, supervised));
    await this.#fillGaps(gaps);
    if (twin)
      throw feedError('instance-twice', `Another process has the instance name ${host} too: it writes ${twin.id}`);
  }

  /** True: the lease has this host's name, but another process with the same name writes it. */
  #isOfTwin(lease: Lease, supervised: ReadonlySet<string>): boolean {
    if (lease.owner !== this.#options.host || supervised.has(lease.id)) return false;
    return this.#sightings.isWritten(lease) && this.#memories.get(lease.id)?.tenure !== lease.tenure;
  }

  /** A list may show that another host took the lease, before this host's next write is refused. */
  #noteTaken(lease: Lease): void {
    const tenure = this.#running.get(lease.id)?.tenure;
    if (tenure && lease.takenFrom && lease.takenFrom.tenure === tenure.lease.tenure) tenure.noteTaken(lease);
  }

  /** Reports the decision about a lease if it has changed (PROC-L12). */
  #report(lease: Lease, decision: Decision, sighting: Sighting, why: string): void {
    const now = `${sighting} ${decision}` as const;
    if (this.#decided.get(lease.id) === now) return;
    this.#decided.set(lease.id, now);
    const { container, host } = this.#options;
    emit('balancer:decided', { container, host, lease: lease.id, decision, sighting, why });
  }

  /**
   * Creates vanished leases again; else their ranges would stay unread for ever (PROC-L6). One list may be old, so a gap
   * counts only if two lists show it.
   */
  async #fillGaps(gaps: readonly FeedRange[]): Promise<void> {
    const { container, leases } = this.#options;
    const before = this.#gaps;
    this.#gaps = gaps;
    const stays = gaps.flatMap((gap) =>
      before.map((one) => intersection(one, gap)).filter((both) => both !== undefined),
    );
    if (stays.length === 0) return;
    const physical = await this.#bounded('reading the ranges', () => leases.ranges());
    // A lease that this host has is further than it was listed.
    const seen = [...[...this.#running.values()].map(({ tenure }) => tenure.lease), ...this.#sightings.leases];
    const failures: unknown[] = [];
    for (const gap of stays)
      for (const range of physical) {
        const slice = intersection(range, gap);
        if (!slice) continue;
        const former = lastSeen(slice, seen);
        const position = former?.position;
        try {
          const created = () => leases.create(slice, position, former, former?.shared);
          if (await this.#bounded('creating a lease', created))
            emit('lease:recreated', { container, range: slice, position });
        } catch (error) {
          // A document in its place can't be read. The other gaps are filled all the same.
          failures.push(error);
        }
      }
    if (failures.length > 0) throw failures[0];
  }

  #run(lease: Lease, acquiredAt: number, toSplit: boolean): void {
    const { container, host, leases, order, listener } = this.#options;
    const { concurrency = 16, mostUnacknowledged = 10_000, manual = false } = this.#options;
    const clock = this.#clock;
    const tenure = new LeaseTenure(lease, acquiredAt, { ...this.#timings, container, store: leases, clock });
    const split = new AbortController();
    if (toSplit) split.abort();
    const supervisor = new Supervisor(
      tenure,
      {
        ...this.#options,
        ...this.#timings,
        concurrency,
        mostUnacknowledged,
        manual,
        clock,
        startedBefore: this.#startedBefore,
        memory: this.#memoryOf(lease),
        aloneAt: this.#sightings.aloneAt(lease, clock.monotonic()),
        storedFirst: this.#timings.checkpointMs === 0 && order === undefined && !manual,
      },
      { stop: this.#stop.signal, split: split.signal },
    );
    this.#kept.delete(lease.id);
    emit('lease:acquired', { container, lease: lease.id, host });
    listener?.acquired(lease);
    const done = this.#supervise(tenure, supervisor).catch((error: unknown) => {
      emit('feed:failed', { container, lease: lease.id, error });
      listener?.failed(error, lease);
    });
    this.#running.set(lease.id, { tenure, supervisor, split, done });
    this.#memoryOf(lease).tenure = lease.tenure;
  }

  async #supervise(tenure: LeaseTenure, supervisor: Supervisor): Promise<void> {
    const { container, host } = this.#options;
    const { id } = tenure.lease;
    let ending: Terminal = 'lost';
    try {
      ending = await supervisor.run();
      const reason = { split: 'split', ended: 'stopped', lost: messageOf(tenure.signal.reason) }[ending];
      await tenure.end(ending === 'ended');
      if (tenure.isKept) this.#kept.add(id);
      emit('lease:released', { container, lease: id, host, reason });
      const { reason: cause }: { readonly reason: unknown } = tenure.signal;
      if (cause instanceof LeaseStalled) this.#options.listener?.failed(cause, tenure.lease);
      this.#options.listener?.released(tenure.lease, ending, reason);
      const { failure } = supervisor.status;
      if (failure instanceof Halt && !this.#stopping) {
        this.#halted.reject(failure);
        void this.stop();
      }
      // Take this host's share of the parts immediately. A stopping host leaves them to the others.
      if (ending === 'split' && (await this.#split(tenure.lease))) await this.#balance(false);
    } finally {
      this.#forget(tenure);
    }
  }

  #memoryOf({ id }: Lease): RangeMemory {
    const memory = this.#memories.get(id) ?? new RangeMemory(this.#options.pageSize);
    this.#memories.set(id, memory);
    return memory;
  }

  /** Ends a tenure here. Its last position is remembered, in case the lease vanishes. */
  #forget({ lease, signal }: LeaseTenure): void {
    if (this.#running.get(lease.id)?.tenure.lease !== lease) return;
    this.#running.delete(lease.id);
    const now = this.#clock.monotonic();
    this.#sightings.note(lease, now);
    const { expirationMs, acquireMs } = this.#timings;
    if (signal.reason instanceof LeaseStalled)
      this.#memoryOf(lease).stalled(lease.position, now, expirationMs, Math.max(expirationMs, 4 * acquireMs));
    // List the leases soon, to see which host has it now, or whether it was deleted.
    this.#nextListing = -Infinity;
  }

  /** Replaces a lease of this host by leases of its parts (true). If it is still whole, continues with it (false). */
  async #split(lease: Lease): Promise<boolean> {
    const { leases, source } = this.#options;
    const { signal } = this.#stop;
    // Without the newest lsn of the parts the split is still correct.
    const newestOf = (range: FeedRange): Promise<number | undefined> =>
      source.resolve(range, 'now', signal).then(lsnOf, () => undefined);
    const sentAt = this.#clock.monotonic();
    const kept = await this.#bounded('splitting a lease', async () => {
      try {
        return await splitLease(leases, lease, newestOf);
      } catch (error) {
        // Answer, so that the new owner needn't wait.
        if (error instanceof LeaseLost) await leases.handOver(lease);
        throw error;
      }
    });
    if (!kept) return true;
    this.#running.delete(kept.id);
    if (this.#stop.signal.aborted) await leases.release(kept).catch(ignoreLost);
    else this.#run(kept, sentAt, false);
    return false;
  }
}

function ignoreLost(error: unknown): void {
  if (!(error instanceof LeaseLost)) throw error;
}
