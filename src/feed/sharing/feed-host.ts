import { type Clock, systemClock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { balance } from './balancer.ts';
import { processorStopped } from './processor-stopped.ts';
import { type Lease, LeaseLost, LeaseStalled, type LeaseStore } from '../leases/lease.ts';
import { RangeMemory } from '../tenure/range-memory.ts';
import { LeaseSession } from '../tenure/lease-session.ts';
import { intersection, lsnOf } from '../reading/position.ts';
import type { SharedHistory } from '../leases/shared-history.ts';
import { type FeedMode, RangeGone, type Start, anchor } from '../reading/source.ts';
import type { Terminal } from '../tenure/states.ts';
import type { Decision, Sighting } from './decisions.ts';
import { Sightings } from './sightings.ts';
import { gapsOf, isHalfSplit, lastSeen, splitLease } from './split.ts';
import { Halt } from '../tenure/handle.ts';
import { LEAVING_MS, Supervisor, type SupervisorOptions, type SupervisorStatus } from '../tenure/supervisor.ts';
import { until } from '../../base/until.ts';

/** Milliseconds; those that .NET and Functions have too have their defaults. */
export interface Timings {
  /** How often leases are looked at while anything moves; at rest less often (sightings.ts). */
  readonly acquireMs: number;
  /** A lease that nobody wrote for longer may be taken by others. */
  readonly expirationMs: number;
  readonly renewMs: number;
  /**
   * Least time between two writes that store a checkpoint; a renewal, a stop, a split and an idle feed don't wait for it.
   * Above 0, a crash repeats what was handled in so long, and not one page.
   */
  readonly checkpointMs: number;
  /** From the beginning of a read that found nothing new to that of the next. */
  readonly pollMs: number;
  /** A read or a handler that takes longer gives its lease up. */
  readonly stallMs: number;
  /** So does a change that was handled and isn't acknowledged for longer, where that is done by hand. */
  readonly unacknowledgedMs: number;
  /** The longest that stopping waits for handlers and for the lease container. */
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

export interface FeedHostOptions extends Pick<
  SupervisorOptions,
  'container' | 'source' | 'handle' | 'start' | 'order' | 'budget'
> {
  /** This host's name; a stable one goes on with its leases at once after a restart. */
  readonly host: string;
  readonly leases: LeaseStore;
  /** Default `latest-version`. */
  readonly mode?: FeedMode;
  /** Handlers at once on one range, with an `order`. Default 16. */
  readonly concurrency?: number | undefined;
  /** Most changes of a range that are read and not acknowledged, but for the last page. Default 10,000. */
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
  /** What it has in common with other leases since a split: lags are counted by it. */
  readonly shared?: readonly SharedHistory[];
}

interface Running {
  readonly session: LeaseSession;
  readonly supervisor: Supervisor;
  readonly split: AbortController;
  readonly done: Promise<void>;
}

/** One host's part of reading a container's change feed, which it shares with other hosts by leases. */
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
  /** How many leases the last listing had. */
  #known = 0;
  /** What the last look at the leases failed with. */
  #failure: unknown;
  /** When the leases are to be listed again, monotonic. */
  #nextListing = 0;

  constructor(options: FeedHostOptions) {
    this.#options = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#clock = options.clock ?? systemClock;
    this.#sightings = new Sightings(this.#timings);
    this.#halted.promise.catch(() => undefined);
  }

  /** Rejects when a handler halted this host; else it stays open. */
  get halted(): Promise<never> {
    return this.#halted.promise;
  }

  /**
   * Prepares the leases and begins; rejects when the lease container can't be used. Asked again, it is the same start.
   * @throws UsageError `processor-stopped`
   */
  start(): Promise<void> {
    if (this.#stopping) throw processorStopped('can’t be started again');
    return (this.#starting ??= this.#start());
  }

  async #start(): Promise<void> {
    const { leases, mode, start } = this.#options;
    // The leases are made at their positions: what is written from now on is delivered, whichever host takes them (L4).
    await leases.prepare(this.#stop.signal, start === 'beginning' ? undefined : (range) => this.#begin(range, start));
    // Nothing can be asked of the all-versions feed but the present.
    if (mode !== 'all-versions') this.#startedBefore = await leases.initializedAt?.();
    await this.#balance(true);
    void this.#keepBalancing();
  }

  /** A range that is split at just this moment begins when its parts are first read, by the time. */
  async #begin(range: FeedRange, start: Exclude<Start, 'beginning'>): Promise<string | undefined> {
    try {
      return (await anchor(this.#options.source, range, start, undefined, this.#stop.signal)) || undefined;
    } catch (error) {
      if (error instanceof RangeGone) return undefined;
      throw error;
    }
  }

  /**
   * Lets running handlers end, stores how far they got and offers the leases to the others. After `stopMs` it waits no
   * longer: handlers are told by their signal, and what could not be offered expires.
   */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#end());
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    const over = new AbortController();
    const deadline = (async () => {
      await this.#clock.sleep(this.#timings.stopMs, over.signal);
      for (const { session } of this.#running.values()) session.abandon('stopping took too long');
      // Tenures that end by that say so before this host says that it has stopped.
      await this.#clock.sleep(0, over.signal);
    })();
    deadline.catch(() => undefined);
    const quiet = (async () => {
      // A lease container that fails is asked again and again for as long as a minute: not by who leaves.
      const begun = Promise.all([this.#starting?.catch(() => undefined), this.#balancing]);
      await Promise.race([begun, this.#clock.sleep(LEAVING_MS, over.signal)]);
      await Promise.all([...this.#running.values()].map(({ done }) => done));
    })();
    quiet.catch(() => undefined);
    await Promise.race([quiet, deadline]).finally(() => over.abort());
  }

  status(): { readonly leases: readonly LeaseStatus[]; readonly known: number; readonly failure: unknown } {
    const leases = [...this.#running.values()].map(({ session, supervisor }) => ({
      ...supervisor.status,
      id: session.lease.id,
      range: session.lease.range,
      ...(session.lease.shared && { shared: session.lease.shared }),
    }));
    return { leases, known: this.#known, failure: this.#failure };
  }

  async #keepBalancing(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Not further: a lease that is lost meanwhile brings the next listing forward.
      const left = Math.min(this.#timings.acquireMs, this.#nextListing - this.#clock.monotonic());
      if (left > 0) await this.#clock.sleep(Math.ceil(left), signal).catch(() => undefined);
      if (signal.aborted || this.#clock.monotonic() < this.#nextListing) continue;
      await this.#balance(false).catch((error: unknown) => {
        if (!signal.aborted) emit('balancer:failed', { container: this.#options.container, error });
      });
    }
  }

  /** One balance after the other. */
  #balance(starting: boolean): Promise<void> {
    const turn = this.#balancing.then(() =>
      this.#bounded('balancing', (signal) => this.#balanceOnce(starting, (call) => until(call, signal))),
    );
    this.#balancing = turn.then(
      () => void (this.#failure = undefined),
      (error: unknown) => void (this.#failure = error),
    );
    return turn;
  }

  /** Requests of the SDK end by themselves; those of another store may not. What hangs is left behind, and tried again. */
  async #bounded<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { stallMs } = this.#timings;
    const [over, late] = [new AbortController(), new AbortController()];
    void this.#clock.sleep(stallMs, over.signal).then(
      () => late.abort(new MillraceError('lease-store-hangs', `${what} has taken more than ${stallMs / 1000} s`)),
      () => undefined,
    );
    try {
      return await until(work(late.signal), late.signal);
    } finally {
      over.abort();
    }
  }

  async #balanceOnce(starting: boolean, within: <T>(call: Promise<T>) => Promise<T>): Promise<void> {
    const { host, leases, minLeases: least, maxLeases: most } = this.#options;
    if (this.#stop.signal.aborted) return;
    this.#nextListing = this.#clock.monotonic() + this.#timings.acquireMs;
    const listed = await within(leases.list());
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
    const verdicts = balance(listed, { host, ...seen, starting, least, most });
    const gaps = gapsOf(listed);
    const restless = gaps.length > 0 || verdicts.some(({ decision }) => decision === 'take' || decision === 'steal');
    this.#nextListing = this.#sightings.next(listed, supervised, now, restless);
    for (const { lease, decision, sighting, why } of verdicts) {
      if (this.#stop.signal.aborted) return;
      this.#tell(lease, decision, sighting, why);
      // Supervised or not: whoever made leases inside ours has begun to split it, and may be gone.
      if (decision === 'keep' && isHalfSplit(lease, listed)) this.#running.get(lease.id)?.split.abort();
      if (decision !== 'take' && decision !== 'steal') continue;
      const sentAt = this.#clock.monotonic();
      const taken = await within(leases.acquire(lease, decision === 'steal' ? 'owner' : 'nobody'));
      if (!taken) continue;
      const half = isHalfSplit(taken, listed);
      // What may have another owner still is split when that is over, and before it is read: its parts are read already.
      if (taken.takenFrom || !half) this.#run(taken, sentAt, half);
      // The parts may be had by the next balance, which needn't wait for its time.
      else if (await within(this.#split(taken))) void this.#balance(false).catch(() => undefined);
    }
    const twin = listed.find((lease) => this.#isOfTwin(lease, supervised));
    await within(this.#fillGaps(gaps));
    if (twin)
      throw new MillraceError('instance-twice', `Another process reads as ${host} too: it writes ${twin.id}`, {
        mend: 'Give each process an instance of its own: of two with one name, the older is left without leases.',
      });
  }

  /** In our name, and written by somebody else who has our name. */
  #isOfTwin(lease: Lease, supervised: ReadonlySet<string>): boolean {
    if (lease.owner !== this.#options.host || supervised.has(lease.id)) return false;
    return this.#sightings.isWritten(lease) && this.#memories.get(lease.id)?.tenure !== lease.tenure;
  }

  /** A listing may know it before this host's next write does. */
  #noteTaken(lease: Lease): void {
    const session = this.#running.get(lease.id)?.session;
    if (session && lease.takenFrom && lease.takenFrom.tenure === session.lease.tenure) session.noteTaken(lease);
  }

  /** Says what is decided of a lease when it is another than before (L12). */
  #tell(lease: Lease, decision: Decision, sighting: Sighting, why: string): void {
    const now = `${sighting} ${decision}` as const;
    if (this.#decided.get(lease.id) === now) return;
    this.#decided.set(lease.id, now);
    const { container, host } = this.#options;
    emit('balancer:decided', { container, host, lease: lease.id, decision, sighting, why });
  }

  /** A lease that vanished would leave its range unread for ever (L6). One listing may be old: the same gap is seen twice. */
  async #fillGaps(gaps: readonly FeedRange[]): Promise<void> {
    const { container, leases } = this.#options;
    const before = this.#gaps;
    this.#gaps = gaps;
    const stays = gaps.flatMap((gap) =>
      before.map((one) => intersection(one, gap)).filter((both) => both !== undefined),
    );
    if (stays.length === 0) return;
    const physical = await leases.ranges();
    const failures: unknown[] = [];
    for (const gap of stays)
      for (const range of physical) {
        const slice = intersection(range, gap);
        if (!slice) continue;
        const former = lastSeen(slice, this.#sightings.leases);
        const position = former?.position;
        try {
          if (await leases.create(slice, position, former, former?.shared))
            emit('lease:recreated', { container, range: slice, position });
        } catch (error) {
          // What is there in its place can't be read; the other gaps are filled all the same.
          failures.push(error);
        }
      }
    if (failures.length > 0) throw failures[0];
  }

  #run(lease: Lease, acquiredAt: number, toSplit: boolean): void {
    const { container, host, leases, order } = this.#options;
    const { concurrency = 16, mostUnacknowledged = 10_000, manual = false } = this.#options;
    const clock = this.#clock;
    const session = new LeaseSession(lease, acquiredAt, { ...this.#timings, container, store: leases, clock });
    const split = new AbortController();
    if (toSplit) split.abort();
    const supervisor = new Supervisor(
      session,
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
    emit('lease:acquired', { container, lease: lease.id, host });
    const done = this.#supervise(session, supervisor).catch((error: unknown) =>
      emit('feed:failed', { container, lease: lease.id, error }),
    );
    this.#running.set(lease.id, { session, supervisor, split, done });
    this.#memoryOf(lease).tenure = lease.tenure;
  }

  async #supervise(session: LeaseSession, supervisor: Supervisor): Promise<void> {
    const { container, host } = this.#options;
    const { id } = session.lease;
    let ending: Terminal = 'lost';
    try {
      ending = await supervisor.run();
      const reason = { split: 'split', ended: 'stopped', lost: messageOf(session.signal.reason) }[ending];
      await session.end(ending === 'ended');
      emit('lease:released', { container, lease: id, host, reason });
      const { failure } = supervisor.status;
      if (failure instanceof Halt && !this.#stopping) {
        this.#halted.reject(failure);
        void this.stop();
      }
      // What is ours of it is looked for at once; a stopping host leaves it to the others.
      if (ending === 'split' && (await this.#split(session.lease))) await this.#balance(false);
    } finally {
      this.#forget(session);
    }
  }

  #memoryOf({ id }: Lease): RangeMemory {
    const memory = this.#memories.get(id) ?? new RangeMemory(this.#options.pageSize);
    this.#memories.set(id, memory);
    return memory;
  }

  /** The tenure is over; where it ended is remembered, for should the lease vanish. */
  #forget({ lease, signal }: LeaseSession): void {
    if (this.#running.get(lease.id)?.session.lease !== lease) return;
    this.#running.delete(lease.id);
    const now = this.#clock.monotonic();
    this.#sightings.note(lease, now);
    const { expirationMs, acquireMs } = this.#timings;
    if (signal.reason instanceof LeaseStalled)
      this.#memoryOf(lease).stalled(lease.position, now, expirationMs, Math.max(expirationMs, 4 * acquireMs));
    // Whoever has it now, or has deleted it, is looked for.
    this.#nextListing = -Infinity;
  }

  /** Replaces a lease of ours by leases of its parts (true), or goes on with it where it turns out to be whole. */
  async #split(lease: Lease): Promise<boolean> {
    const { leases, source } = this.#options;
    const { signal } = this.#stop;
    // A split is no less right where it isn't known how far the parts are.
    const newestOf = (range: FeedRange): Promise<number | undefined> =>
      source.resolve(range, 'now', signal).then(lsnOf, () => undefined);
    const sentAt = this.#clock.monotonic();
    const kept = await this.#bounded('splitting a lease', async () => {
      try {
        return await splitLease(leases, lease, newestOf);
      } catch (error) {
        // Whoever took it needn't wait.
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
