import type { Container, PatchRequestBody } from '@azure/cosmos';
import { MillraceError, UsageError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import type { FeedRange } from '../cosmos/ranges.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';
import { type LeaseDocument, newLeaseDocument, parseLease } from './lease-document.ts';
import { type Lease, LeaseLost, type LeaseStore } from './lease.ts';

export interface CosmosLeaseStoreOptions {
  readonly monitored: Container;
  /** Partition key `/id`, time to live on. */
  readonly leases: Container;
  /** The owner written into leases. Stable names let a restarted host go on at once. */
  readonly host: string;
  /** Everything before `..`: processor name, account host, database and container rid, as .NET joins them. */
  readonly prefix: string;
}

const LOCK_SECONDS = 30;
/** Of a write whose outcome stays unknown; then the caller decides. */
const MOST_ATTEMPTS = 5;

/** The prefix under which .NET and Functions look for leases: name and host stand side by side, without a separator. */
export const leasePrefix = (name: string, endpoint: string, databaseRid: string, containerRid: string): string =>
  `${name}${new URL(endpoint).hostname}_${databaseRid}_${containerRid}`;

export class CosmosLeaseStore implements LeaseStore {
  readonly #options: CosmosLeaseStoreOptions;
  readonly #ranges = new Map<string, FeedRange>();
  /**
   * The document behind each lease, so that fields we don't know are written back. By lease as it was read, not by id: a
   * listing that was overtaken by a write must not lend its old position to the next renewal (L3).
   */
  readonly #documents = new WeakMap<Lease, LeaseDocument>();

  constructor(options: CosmosLeaseStoreOptions) {
    this.#options = options;
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const { leases, prefix } = this.#options;
    await this.#loadRanges();
    for (;;) {
      signal.throwIfAborted();
      if (await this.#exists(`${prefix}.info`)) break;
      if (await this.#create({ id: `${prefix}.lock`, ttl: LOCK_SECONDS })) {
        await this.#createMissing();
        await this.#create({ id: `${prefix}.info` });
        await withRetry(() => leases.item(`${prefix}.lock`, `${prefix}.lock`).delete(), { reads: true }).catch(
          ignoreMissing,
        );
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    // A lease that vanished after `.info` would leave its range unread for ever (L6).
    await this.#createMissing();
  }

  async list(): Promise<Lease[]> {
    const { leases, prefix } = this.#options;
    const query = {
      query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)',
      parameters: [{ name: '@prefix', value: `${prefix}..` }],
    };
    const { resources } = await withRetry(() => leases.items.query<LeaseDocument>(query).fetchAll(), { reads: true });
    return resources.map((raw) => this.#remember(raw)).filter((lease) => lease !== undefined);
  }

  async acquire(lease: Lease, from: 'nobody' | 'owner' = 'nobody'): Promise<Lease | undefined> {
    if (from === 'owner') return this.#steal(lease);
    try {
      return await this.#write(lease, { Owner: this.#options.host });
    } catch (error) {
      if (error instanceof LeaseLost) return undefined;
      throw error;
    }
  }

  renew(lease: Lease, position?: string): Promise<Lease> {
    if (position === '')
      throw new MillraceError('position-missing', `Refusing to store an empty position in lease ${lease.id}`);
    return this.#write(lease, position === undefined ? {} : { ContinuationToken: position });
  }

  async ranges(): Promise<readonly FeedRange[]> {
    await this.#loadRanges();
    return [...this.#ranges.values()];
  }

  async create(range: FeedRange, position: string | undefined): Promise<void> {
    const partition = [...this.#ranges].find(([, { min, max }]) => min === range.min && max === range.max)?.[0];
    await this.#create(newLeaseDocument(this.#options.prefix, partition, range, position ?? null));
  }

  async assertOwned(lease: Lease): Promise<void> {
    const stored = await this.#read(lease.id);
    if (stored?._etag !== lease.etag) throw new LeaseLost(lease.id, 'another host wrote it');
  }

  async remove(lease: Lease): Promise<void> {
    const options = { accessCondition: { type: 'IfMatch', condition: lease.etag } };
    try {
      await withRetry(() => this.#options.leases.item(lease.id, lease.id).delete(options), { reads: false });
    } catch (error) {
      // Whoever finds it still there finishes the split.
      if (!(error instanceof AmbiguousOutcome)) ignoreMissing(error);
    }
  }

  async release(lease: Lease): Promise<void> {
    try {
      await this.#write(lease, { Owner: null });
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    }
  }

  /** Replaces the lease under its ETag. An unknown outcome is settled by reading what is stored now. */
  async #write(lease: Lease, changed: Partial<LeaseDocument>): Promise<Lease> {
    const known = this.#documents.get(lease);
    if (!known) throw new MillraceError('lease-unknown', `Lease ${lease.id} was not listed by this store`);
    const wanted: LeaseDocument = { ...known, ...changed, timestamp: new Date().toISOString() };
    const item = this.#options.leases.item(lease.id, lease.id);
    const condition = { accessCondition: { type: 'IfMatch', condition: lease.etag } };
    // Two writes of ours may carry one timestamp, but not on two sides of an ETag.
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
          const stored = await this.#read(lease.id);
          if (stored && landed(stored)) return this.#written(lease, stored);
          if (stored && stored._etag !== lease.etag) {
            throw new LeaseLost(lease.id, 'it changed while the outcome of our write was unknown', error);
          }
          if (attempt === MOST_ATTEMPTS) throw error;
          // What was read may be older than our write; the condition of the next try is not.
          continue;
        }
        const { kind } = failureOf(error);
        if (kind === 'precondition') {
          const stored = unsure ? await this.#read(lease.id) : undefined;
          if (stored && landed(stored)) return this.#written(lease, stored);
          throw new LeaseLost(lease.id, 'another host wrote it', error);
        }
        if (kind === 'not-found') throw new LeaseLost(lease.id, 'it was deleted', error);
        throw error;
      }
    }
  }

  /**
   * Takes a lease from its live owner, who writes it at every page, faster than others can read it: under the condition
   * that it is still the owner's, leaving the position as it is at that moment. The new ETag fences the owner.
   */
  async #steal(lease: Lease): Promise<Lease | undefined> {
    const { leases, host } = this.#options;
    const timestamp = new Date().toISOString();
    const patch: PatchRequestBody = {
      condition: `from c where c.Owner = ${JSON.stringify(lease.owner)}`,
      operations: [
        { op: 'set', path: '/Owner', value: host },
        { op: 'set', path: '/timestamp', value: timestamp },
      ],
    };
    try {
      const item = leases.item(lease.id, lease.id);
      const { resource } = await withRetry(() => item.patch<LeaseDocument>(patch), { reads: false });
      return resource && this.#remember(resource);
    } catch (error) {
      if (error instanceof AmbiguousOutcome) {
        const stored = await this.#read(lease.id);
        return stored?.Owner === host && stored.timestamp === timestamp ? this.#remember(stored) : undefined;
      }
      const { kind } = failureOf(error);
      if (kind === 'precondition' || kind === 'not-found') return undefined;
      throw error;
    }
  }

  #written(lease: Lease, document: LeaseDocument): Lease {
    const parsed = this.#remember(document);
    if (!parsed) throw new MillraceError('lease-unreadable', `Lease ${lease.id} can't be read back`);
    return parsed;
  }

  #remember(raw: LeaseDocument): Lease | undefined {
    const lease = parseLease(raw, (token) => this.#ranges.get(token));
    if (lease) this.#documents.set(lease, raw);
    return lease;
  }

  async #loadRanges(): Promise<void> {
    const { resources } = await withRetry(() => this.#options.monitored.readPartitionKeyRanges().fetchAll(), {
      reads: true,
    });
    this.#ranges.clear();
    for (const range of resources as { id: string; minInclusive: string; maxExclusive: string }[]) {
      this.#ranges.set(range.id, { min: range.minInclusive, max: range.maxExclusive });
    }
  }

  async #createMissing(): Promise<void> {
    const covered = await this.list();
    for (const [token, range] of this.#ranges) {
      if (covered.some((lease) => lease.range.min < range.max && range.min < lease.range.max)) continue;
      await this.#create(newLeaseDocument(this.#options.prefix, token, range, null));
    }
  }

  /** True where the document was created, as far as that can be told; false where it was there. It is there either way. */
  async #create(document: { id: string } & Record<string, unknown>): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        await withRetry(() => this.#options.leases.items.create(document), { reads: false });
        return true;
      } catch (error) {
        // Whether it was done is not read but tried again: a read may be stale, and a lease that isn't there is a hole.
        if (error instanceof AmbiguousOutcome) {
          if (attempt < MOST_ATTEMPTS) continue;
          if (await this.#exists(document.id)) return true;
        }
        const { kind } = failureOf(error);
        if (kind === 'conflict') return attempt > 1;
        if (kind !== 'not-found') throw error;
        const why = `The lease container ${this.#options.leases.id} does not exist`;
        const mend = 'Create it with `millrace model apply`, or name another in LEASES_CONTAINER.';
        throw new UsageError('lease-container-missing', why, { cause: error, mend });
      }
    }
  }

  async #read(id: string): Promise<LeaseDocument | undefined> {
    const { resource } = await withRetry(() => this.#options.leases.item(id, id).read<LeaseDocument>(), {
      reads: true,
    });
    return resource;
  }

  async #exists(id: string): Promise<boolean> {
    return (await this.#read(id)) !== undefined;
  }
}

function ignoreMissing(error: unknown): void {
  if (failureOf(error).kind !== 'not-found') throw error;
}
