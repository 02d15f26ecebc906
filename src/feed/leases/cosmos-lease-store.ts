import { randomUUID } from 'node:crypto';
import type { Container, PatchOperation } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { readableWhere } from '../../base/format.ts';
import { once } from '../../base/once.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { readDocument } from './dialects/read.ts';
import { parseTimestamp } from './dialects/timestamp.ts';
import { LeaseContainer, type LeaseId, explainLeases } from './lease-container.ts';
import type { LeaseDocument } from './dialects/dialect.ts';
import { inOurDialect, newLeaseDocument, leaseOwnFields, parseLease } from './lease-document.ts';
import { type KnownLease, readLeases } from './lease-listing.ts';
import { type Lease, LeaseDeleted, LeaseLost, type LeaseStore } from './lease.ts';
import { Partitions } from './partitions.ts';
import { without } from '../reading/position.ts';
import { sharedAfter } from './shared-history.ts';
import type { FeedMode } from '../reading/source.ts';
import { feedError } from '../errors.ts';

export interface CosmosLeaseStoreOptions {
  readonly monitored: Container;
  /** A container with the partition key `/id` or `/partitionKey`, in any account. Time to live should be on. */
  readonly leases: Container;
  /** The owner name in the leases. With a stable name a restarted host continues immediately. */
  readonly host: string;
  /** Everything before `..`: processor name, account host, database rid and container rid, joined like .NET does. */
  readonly prefix: string;
  /** The feed mode of the positions. A lease of the other mode is refused. Default: latest-version. */
  readonly mode?: FeedMode;
  readonly clock?: Clock;
}

/** The condition of each patch, so that this version never changes a lease of a format that it can't read. */
const READABLE = readableWhere('lease', 'c.millrace.format');
const LOCK_SECONDS = 30;
const LOCK_POLL_MS = 500;
const READ_AGAIN_MS = 200;
/** The list of `prepare` serves the first `list` if that follows at once. */
const FRESH_MS = 1_000;
/** The SDK throws a TypeError if a client requests answers without documents (`prefer: return=minimal`). */
const WHOLE_ANSWER = { initialHeaders: { prefer: 'return=representation' } };
/** The most attempts while the outcome of a write stays unknown. Then the caller decides. */
const MOST_ATTEMPTS = 5;

/** The lease prefix of .NET and Functions: name and host without a separator. */
export const leasePrefix = (name: string, endpoint: string, databaseRid: string, containerRid: string): string =>
  `${name}${new URL(endpoint).hostname}_${databaseRid}_${containerRid}`;

/** Resolves to the position of a new lease. */
type Begin = Parameters<LeaseStore['prepare']>[1];

/** Leases, and when their reading began, monotonic. */
interface Listed {
  readonly at: number;
  readonly leases: Lease[];
}

export class CosmosLeaseStore implements LeaseStore {
  readonly #options: CosmosLeaseStoreOptions;
  readonly #mode: FeedMode;
  readonly #clock: Clock;
  #partitions = new Partitions([]);
  /** `.info` as `prepare` has found it, for the next question when that was. */
  #marker: LeaseDocument | undefined;
  /** What `prepare` has found. */
  #listed: Listed | undefined;
  #open = this.#opener();
  /**
   * The document of each lease, so that unknown fields are written back. The key is the lease object, not its id: a
   * listing that is older than a write must not bring its old position into the next renewal (PROC-L3).
   */
  readonly #documents = new WeakMap<Lease, LeaseDocument>();

  constructor(options: CosmosLeaseStoreOptions) {
    this.#options = options;
    this.#mode = options.mode ?? 'latest-version';
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * @throws UsageError `lease-container-missing`, `lease-container-denied`, `lease-container-key`, `lease-mode-mismatch`
   */
  async prepare(signal: AbortSignal, begin?: Begin): Promise<void> {
    const { prefix } = this.#options;
    const at = this.#clock.monotonic();
    // Nearly always everything is there, and this is all that has to be asked.
    const [documents] = await Promise.all([this.#documentsOf('.'), this.#loadPartitions()]);
    this.#marker = documents.find(({ id }) => id === `${prefix}.info`) as LeaseDocument | undefined;
    // A lease that vanished after `.info` would leave its range unread for ever (PROC-L6).
    if (this.#marker) return this.#createMissing(undefined, { at, leases: this.#leasesOf(documents) });
    const lock = { id: `${prefix}.lock`, ttl: LOCK_SECONDS };
    const info = { id: `${prefix}.info` };
    for (let seen: { etag: unknown; since: number } | undefined; !this.#marker;) {
      signal.throwIfAborted();
      if (await this.#create(lock)) {
        await this.#createMissing(begin);
        this.#marker = (await this.#create(info))?.stored;
        await this.#unlock(lock);
        return;
      }
      const etag = (await this.#read(lock))?._etag;
      const now = this.#clock.monotonic();
      if (!seen || seen.etag !== etag) seen = { etag, since: now };
      // Without time to live, the lock of a host that died would stay for ever.
      else if (etag !== undefined && now - seen.since > LOCK_SECONDS * 1000) await this.#unlock(lock, etag);
      await this.#clock.sleep(LOCK_POLL_MS, signal).catch(() => undefined);
      this.#marker = await this.#read(info);
    }
    await this.#createMissing();
  }

  async initializedAt(): Promise<Date | undefined> {
    const marker = this.#marker ?? (await this.#read({ id: `${this.#options.prefix}.info` }));
    this.#marker = undefined;
    const at = marker && parseTimestamp(marker['_ts']);
    return at === undefined ? undefined : new Date(at);
  }

  async list(): Promise<Lease[]> {
    const listed = this.#listed;
    this.#listed = undefined;
    return listed && this.#clock.monotonic() - listed.at < FRESH_MS ? listed.leases : this.#list();
  }

  async #list(): Promise<Lease[]> {
    const documents = await this.#documentsOf('..');
    const unresolved = documents.some(({ FeedRange, feedRange }) => !FeedRange && !feedRange);
    if (unresolved && this.#partitions.ranges.length === 0) await this.#loadPartitions();
    return this.#leasesOf(documents);
  }

  #opener(): () => Promise<LeaseContainer> {
    return once(() => LeaseContainer.open(this.#options.leases));
  }

  async #documentsOf(rest: '.' | '..'): Promise<Record<string, unknown>[]> {
    const container = await this.#open();
    return container.query(`${this.#options.prefix}${rest}`).catch((error: unknown) => {
      // When it is made again, its key may be another one.
      if (isLeaseContainerMissing(error)) this.#open = this.#opener();
      throw error;
    });
  }

  #leasesOf(documents: readonly Record<string, unknown>[]): Lease[] {
    const start = `${this.#options.prefix}..`;
    // Another processor may have this name with dots after it. Tokens never contain two dots.
    const own = documents.filter(({ id }) => String(id).startsWith(start) && !String(id).includes('..', start.length));
    return readLeases(own, this.#partitions, this.#mode).map((known) => this.#remember(known));
  }

  async acquire(lease: Lease, from: 'nobody' | 'owner' = 'nobody'): Promise<Lease | undefined> {
    if (from === 'owner') return this.#steal(lease);
    try {
      return await this.#write(lease, {
        Owner: this.#options.host,
        ...leaseOwnFields({ ...lease, tenure: randomUUID() }),
      });
    } catch (error) {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    }
  }

  renew(lease: Lease, position?: string): Promise<Lease> {
    if (position === '') throw feedError('position-empty', `Lease ${lease.id} can't be stored with an empty position`);
    if (position === undefined) return this.#write(lease, {});
    const passed = lease.shared && leaseOwnFields({ ...lease, shared: sharedAfter(lease.shared, position) });
    return this.#write(lease, { ContinuationToken: position, ...passed });
  }

  async ranges(): Promise<readonly FeedRange[]> {
    await this.#loadPartitions();
    return this.#partitions.ranges;
  }

  async create(...[range, position, from, shared]: Parameters<LeaseStore['create']>): Promise<boolean> {
    const { prefix } = this.#options;
    const former = from && this.#documents.get(from);
    const partition = this.#partitions.idOf(range);
    const document = {
      ...newLeaseDocument(prefix, partition, range, position ?? null, this.#mode, former),
      ...leaseOwnFields(shared ? { shared } : {}),
    };
    if (await this.#create(document)) return true;
    const stored = await this.#read(document);
    const reading = stored && readDocument(stored);
    if (reading && reading.kind !== 'lease')
      throw unreadable(document.id, 'why' in reading ? reading.why : reading.kind);
    return false;
  }

  async read(lease: Lease): Promise<Lease | undefined> {
    const stored = await this.#read(this.#idOf(lease));
    return stored && this.#written(lease, stored);
  }

  takeOver(lease: Lease): Promise<Lease> {
    const { takenFrom: _, ...rest } = lease;
    return this.#write(lease, leaseOwnFields(rest));
  }

  async handOver(lease: Lease, position?: string): Promise<void> {
    const condition = `from c where c.millrace.takenFrom.tenure = ${JSON.stringify(lease.tenure)} and ${READABLE}`;
    const operations: PatchOperation[] = [
      { op: 'remove', path: '/millrace/takenFrom' },
      { op: 'set', path: '/timestamp', value: new Date().toISOString() },
    ];
    if (position !== undefined) operations.push({ op: 'set', path: '/ContinuationToken', value: position });
    const item = (await this.#open()).item(this.#idOf(lease));
    for (let attempt = 1; ; attempt++) {
      try {
        await withRetry(() => item.patch({ condition, operations }), { reads: false });
        return;
      } catch (error) {
        // A retry is safe: after the first success the condition is false.
        if (error instanceof AmbiguousOutcome && attempt < MOST_ATTEMPTS) continue;
        return ignore(error, 'precondition', 'not-found');
      }
    }
  }

  async remove(lease: Lease): Promise<void> {
    const options = { accessCondition: { type: 'IfMatch', condition: lease.etag } };
    const item = (await this.#open()).item(this.#idOf(lease));
    try {
      await withRetry(() => item.delete(options), { reads: false });
    } catch (error) {
      // If the lease still exists, the host that finds it finishes the split.
      if (error instanceof AmbiguousOutcome) return;
      if (failureOf(error).kind === 'precondition') throw writtenByAnother(lease, error);
      ignore(error, 'not-found');
    }
  }

  async release(lease: Lease): Promise<void> {
    await this.#write(lease, { Owner: null });
  }

  /** Replaces the lease under its ETag. After an unknown outcome it reads the stored lease. */
  async #write(lease: Lease, changed: Partial<LeaseDocument>): Promise<Lease> {
    const known = this.#documentOf(lease);
    const wanted: LeaseDocument = {
      ...inOurDialect(known, lease, this.#partitions.idOf(lease.range)),
      ...changed,
      timestamp: new Date().toISOString(),
    };
    const item = (await this.#open()).item(known);
    const condition = { accessCondition: { type: 'IfMatch', condition: lease.etag } };
    // Two writes of this host may have the same timestamp, but then the ETag differs.
    const landed = (stored: LeaseDocument): boolean =>
      stored._etag !== lease.etag &&
      stored.timestamp === wanted.timestamp &&
      stored.Owner === wanted.Owner &&
      stored.ContinuationToken === wanted.ContinuationToken;
    for (let attempt = 1, unsure = false; ; attempt++) {
      try {
        const answer = await withRetry(() => item.replace(wanted, condition), { reads: false });
        return this.#written(lease, { ...wanted, _etag: answer.etag });
      } catch (error) {
        if (error instanceof AmbiguousOutcome) {
          unsure = true;
          const stored = await this.#read(known);
          if (stored && landed(stored)) return this.#written(lease, stored);
          if (stored && stored._etag !== lease.etag) {
            throw new LeaseLost(lease.id, 'it changed while the outcome of this host’s write was unknown', error);
          }
          if (attempt === MOST_ATTEMPTS) throw error;
          // The read may be older than the write; the condition of the next attempt is exact.
          continue;
        }
        const { kind } = failureOf(error);
        if (kind === 'precondition') {
          const stored = unsure ? await this.#read(known) : undefined;
          if (stored && landed(stored)) return this.#written(lease, stored);
          throw writtenByAnother(lease, error);
        }
        if (kind === 'not-found') throw new LeaseDeleted(lease.id, error);
        throw error;
      }
    }
  }

  /**
   * Takes a lease from its live owner. The owner writes it at every page, faster than others can read it. So the condition
   * is only that it is still the owner's, and the stored position stays. The new ETag fences the owner.
   */
  async #steal(lease: Lease): Promise<Lease | undefined> {
    const { host } = this.#options;
    const { owner, tenure, takenFrom } = lease;
    const own = randomUUID();
    const former = { owner: owner ?? '', tenure: tenure ?? randomUUID() };
    const asListed = [
      `c.Owner = ${JSON.stringify(owner)}`,
      isStored('c.millrace.tenure', tenure),
      isStored('c.millrace.takenFrom.tenure', takenFrom?.tenure),
      READABLE,
    ];
    const condition = `from c where ${asListed.join(' AND ')}`;
    const operations: PatchOperation[] = [
      { op: 'set', path: '/Owner', value: host },
      { op: 'set', path: '/timestamp', value: new Date().toISOString() },
      { op: 'set', path: '/millrace', value: leaseOwnFields({ ...lease, tenure: own, takenFrom: former }).millrace },
    ];
    const item = (await this.#open()).item(this.#documentOf(lease));
    for (let attempt = 1, unsure = false; ; attempt++) {
      try {
        const { resource } = await withRetry(() => item.patch<LeaseDocument>({ condition, operations }, WHOLE_ANSWER), {
          reads: false,
        });
        // A client may request answers without documents.
        return resource ? this.#written(lease, resource) : await this.#taken(lease, own);
      } catch (error) {
        if (error instanceof AmbiguousOutcome) {
          const stored = await this.#read(this.#documentOf(lease));
          if (stored?.millrace?.tenure === own) return this.#written(lease, stored);
          if (attempt === MOST_ATTEMPTS) throw error;
          // The read may be older than the write; the condition of the next attempt is exact.
          unsure = true;
          continue;
        }
        const { kind } = failureOf(error);
        if (kind === 'precondition' && unsure) return this.#taken(lease, own);
        if (kind === 'precondition' || kind === 'not-found') return undefined;
        throw error;
      }
    }
  }

  /** The lease that was taken for a tenure; undefined if another host has it. Reads again while a read may be older. */
  async #taken(lease: Lease, tenure: string): Promise<Lease | undefined> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const stored = await this.#read(this.#documentOf(lease));
      if (stored?.millrace?.tenure === tenure) return this.#written(lease, stored);
      if (stored?.millrace?.tenure !== lease.tenure) return undefined;
      await this.#clock.sleep(READ_AGAIN_MS);
    }
    return undefined;
  }

  #written(lease: Lease, document: LeaseDocument): Lease {
    const written = parseLease(document, (token) => this.#partitions.rangeOf(token));
    // A lease without a range has the range of its partition, and a split may have removed that partition.
    if (!written) throw unreadable(lease.id, 'its range is unknown');
    return this.#remember({ lease: written, document });
  }

  #remember({ lease, document }: KnownLease): Lease {
    this.#documents.set(lease, document);
    return lease;
  }

  #documentOf(lease: Lease): LeaseDocument {
    const known = this.#documents.get(lease);
    if (!known) throw feedError('lease-unlisted', `Lease ${lease.id} was not listed by this store`);
    return known;
  }

  /** Tests and models pass leases that they made: their key is the id. */
  #idOf(lease: Lease): LeaseId {
    return this.#documents.get(lease) ?? { id: lease.id };
  }

  async #loadPartitions(): Promise<void> {
    this.#partitions = await Partitions.read(this.#options.monitored);
  }

  /** Creates a lease for each part of the container without one. */
  async #createMissing(begin?: Begin, found?: Listed): Promise<void> {
    const listed = found ?? { at: this.#clock.monotonic(), leases: await this.#list() };
    const { leases: covered } = listed;
    const missing = this.#partitions.ranges.some((range) => partsWithout(covered, range).length > 0);
    if (!missing) this.#listed = listed;
    for (const physical of this.#partitions.ranges) {
      for (const gap of partsWithout(covered, physical)) {
        const position = await begin?.(gap);
        // A document that can't be read doesn't stop the other leases. Each later look reports it again.
        await this.create(gap, position).catch((error: unknown) => {
          if (!isUnreadable(error)) throw error;
        });
      }
    }
  }

  /** The document was created, as far as this is known. Undefined: it existed. `stored`: as the answer has it. */
  async #create(
    document: { id: string } & Record<string, unknown>,
  ): Promise<{ readonly stored?: LeaseDocument | undefined } | undefined> {
    const container = await this.#open();
    for (let attempt = 1; ; attempt++) {
      try {
        const { items } = container.container;
        const create = () => items.create<LeaseDocument>(container.stamped(document) as LeaseDocument, WHOLE_ANSWER);
        return { stored: (await withRetry(create, { reads: false })).resource };
      } catch (error) {
        // Try again instead of reading: a read may be stale, and a missing lease leaves its range unread.
        if (error instanceof AmbiguousOutcome) {
          if (attempt < MOST_ATTEMPTS) continue;
          if (await this.#read(document)) return {};
        }
        if (failureOf(error).kind === 'conflict') return attempt > 1 ? {} : undefined;
        throw explainLeases(error, container.container);
      }
    }
  }

  async #read(id: LeaseId): Promise<LeaseDocument | undefined> {
    const item = (await this.#open()).item(id);
    return (await withRetry(() => item.read<LeaseDocument>(), { reads: true })).resource;
  }

  async #unlock(lock: LeaseId, etag?: string): Promise<void> {
    const item = (await this.#open()).item(lock);
    const options = etag === undefined ? {} : { accessCondition: { type: 'IfMatch', condition: etag } };
    await withRetry(() => item.delete(options), { reads: true }).catch((error: unknown) =>
      ignore(error, 'not-found', 'precondition'),
    );
  }
}

const writtenByAnother = ({ id }: Lease, cause: unknown): LeaseLost =>
  new LeaseLost(id, 'another host wrote it', cause);

/** The parts of a range that no lease covers. */
const partsWithout = (covered: readonly Lease[], physical: FeedRange): FeedRange[] =>
  covered.reduce<FeedRange[]>((left, { range }) => left.flatMap((one) => without(one, range)), [physical]);

function ignore(error: unknown, ...kinds: readonly string[]): void {
  if (!kinds.includes(failureOf(error).kind)) throw error;
}

const isStored = (path: string, value: string | undefined): string =>
  value === undefined ? `NOT IS_DEFINED(${path})` : `${path} = ${JSON.stringify(value)}`;

const isLeaseContainerMissing = (error: unknown): boolean =>
  error instanceof MillraceError && error.code === 'lease-container-missing';

const isUnreadable = (error: unknown): boolean => error instanceof MillraceError && error.code === 'lease-unreadable';

const unreadable = (id: string, why: string): MillraceError =>
  feedError('lease-unreadable', `Lease ${id} can't be read: ${why}`);
