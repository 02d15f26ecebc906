import { randomUUID } from 'node:crypto';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { Container, FeedRange, PartitionKeyRange } from '@azure/cosmos';

/** A lease in the form of .NET's change feed processor and of the Functions trigger. */
export interface ForeignLease {
  readonly id: string;
  /** 0: for a physical partition, whose id is the token; 1: for a part of the key space. */
  readonly version: 0 | 1;
  readonly LeaseToken: string;
  readonly FeedRange: { readonly Range: { readonly min: string; readonly max: string } };
  readonly Owner: string | null;
  /** A quoted lsn, quotes included; null before the first checkpoint. */
  readonly ContinuationToken: string | null;
  readonly timestamp: string;
  readonly _etag?: string;
}

export interface ForeignHostOptions {
  readonly source: Container;
  readonly leases: Container;
  /** Processor name, account and resource ids, joined like the real prefix. */
  readonly prefix: string;
  /** Where this host begins with a lease without a token. */
  readonly start?: 'now' | 'beginning' | undefined;
  /** Whether the host moves past a batch whose handler threw: Functions does, the processor doesn't. */
  readonly advanceFailed?: boolean | undefined;
  /** After this time without a renewal the host takes a lease; default 60,000. */
  readonly expirationMs?: number | undefined;
  /** Gets each page. If it throws, the batch has failed. */
  readonly handle?: Handle | undefined;
  /** Milliseconds since 1970, for the leases' timestamps. */
  readonly now?: (() => number) | undefined;
}

type Handle = (documents: readonly Record<string, unknown>[]) => void | Promise<void>;

/**
 * A host that looks to others like one of .NET's change feed processor: its owner is a GUID, its positions in memory
 * override the stored ones, and a null token means its own start. A test calls its steps one by one, and so decides the
 * order of several hosts. Errors of the client (a fault, a deleted container) are thrown unchanged.
 */
export class ForeignHost {
  readonly owner = randomUUID();
  /** The leases that it owns, with their positions, by lease token. */
  readonly held = new Map<string, { readonly lease: ForeignLease; readonly position: string | null }>();
  readonly #options: ForeignHostOptions;

  constructor(options: ForeignHostOptions) {
    this.#options = options;
  }

  /**
   * Writes the leases of a new processor, under a lock, and then `.info`. After that no host creates missing leases again,
   * not even a deleted one. A physical partition gets no lease if it has one, or if a lease for a part of the key space
   * has one of its ends.
   * @returns false if another host has the lock; a real host tries again after 15 seconds
   */
  async bootstrap(): Promise<boolean> {
    const { leases, prefix } = this.#options;
    const info = `${prefix}.info`;
    const lock = `${prefix}.lock`;
    const { statusCode } = await leases.item(info, info).read();
    if (statusCode !== 404) return true;
    const held = await leases.items.create({ id: lock, ttl: LOCK_SECONDS }).catch(ignore(409));
    if (!held) return false;
    try {
      const ranges = await this.#ranges();
      const known = await this.#leases();
      for (const range of ranges) if (!known.some((lease) => covers(lease, range))) await this.#create(range, null);
      await leases.items.create({ id: info });
      return true;
    } finally {
      const accessCondition = { type: 'IfMatch', condition: held.etag };
      await leases.item(lock, lock).delete({ accessCondition }).catch(ignore(404, 412));
    }
  }

  /** Takes every lease that has no owner or has expired. */
  async acquire(): Promise<void> {
    const { expirationMs = 60_000, now = Date.now } = this.#options;
    for (const lease of await this.#leases()) {
      const expired = now() - Date.parse(lease.timestamp) > expirationMs;
      if (lease.Owner === this.owner || (lease.Owner !== null && !expired)) continue;
      await this.#write({ ...lease, Owner: this.owner }, lease.ContinuationToken).catch(ignore(412));
    }
  }

  /** Reads one page of each range that it owns and calls `handle` with it; returns the number of documents. */
  async work(handle: Handle = this.#options.handle ?? (() => {})): Promise<number> {
    const { advanceFailed = false } = this.#options;
    let count = 0;
    await this.#follow();
    for (const [token, { lease, position }] of this.held) {
      const page = await this.#page(lease, position);
      const next = /"continuationToken":"((?:[^"\\]|\\.)*)"/.exec(page.continuationToken)?.[1];
      const reached = next === undefined ? position : (JSON.parse(`"${next}"`) as string);
      count += page.result.length;
      try {
        if (page.result.length > 0) await handle(page.result);
      } catch {
        if (!advanceFailed) continue;
      }
      if (page.result.length > 0) await this.#checkpoint(token, lease, reached);
      else this.held.set(token, { lease, position: reached });
    }
    return count;
  }

  /** Renews its leases, and writes the positions in its memory with them. */
  async renew(): Promise<void> {
    for (const [token, { lease, position }] of this.held) await this.#checkpoint(token, lease, position);
  }

  /** Releases its leases, so that other hosts can take them. */
  async stop(): Promise<void> {
    for (const { lease, position } of this.held.values()) {
      await this.#write({ ...lease, Owner: null }, position).catch(ignore(412));
    }
    this.held.clear();
  }

  /** After a split, replaces a lease by leases of the children with the same position, which any host may take. */
  async #follow(): Promise<void> {
    const ranges = await this.#ranges();
    for (const [token, { lease, position }] of this.held) {
      const { min, max } = lease.FeedRange.Range;
      const children = ranges.filter((range) => range.minInclusive >= min && range.maxExclusive <= max);
      // After a merge the lease continues to read its own part.
      if (children.length < 2) continue;
      for (const child of children) await this.#create(child, position);
      await this.#options.leases.item(lease.id, lease.id).delete().catch(ignore(404));
      this.held.delete(token);
    }
  }

  async #ranges(): Promise<PartitionKeyRange[]> {
    return (await this.#options.source.readPartitionKeyRanges().fetchAll()).resources;
  }

  async #leases(): Promise<ForeignLease[]> {
    const { leases, prefix } = this.#options;
    const { resources } = await leases.items
      .query<ForeignLease>({
        query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @p)',
        parameters: [{ name: '@p', value: `${prefix}..` }],
      })
      .fetchAll();
    return resources;
  }

  async #create({ id, minInclusive, maxExclusive }: PartitionKeyRange, position: string | null): Promise<void> {
    const { leases, prefix } = this.#options;
    await leases.items
      .create<ForeignLease>({
        id: `${prefix}..${id}`,
        version: 0,
        LeaseToken: id,
        FeedRange: { Range: { min: minInclusive, max: maxExclusive } },
        Owner: null,
        ContinuationToken: position,
        timestamp: this.#timestamp(),
      })
      .catch(ignore(409));
  }

  async #page(lease: ForeignLease, position: string | null) {
    const { source, start = 'now' } = this.#options;
    const { min, max } = lease.FeedRange.Range;
    const range = { minInclusive: min, maxExclusive: max };
    const own: FeedRange | undefined = ((await source.getFeedRanges()) as FeedRange[]).find(
      (each) => (each as unknown as typeof range).minInclusive === min,
    );
    const { resource } = await source.read();
    const from =
      position === null
        ? ChangeFeedStartFrom[start === 'now' ? 'Now' : 'Beginning'](own)
        : ChangeFeedStartFrom.Continuation(
            JSON.stringify({ rid: resource?._rid, Continuation: [{ ...range, continuationToken: position }] }),
          );
    return source.items.getChangeFeedIterator<Record<string, unknown>>({ changeFeedStartFrom: from }).readNext();
  }

  /** On 412 it reads the lease again, and overwrites it with the position in memory if it is still the owner. */
  async #checkpoint(token: string, lease: ForeignLease, position: string | null): Promise<void> {
    const { leases } = this.#options;
    try {
      await this.#write(lease, position);
    } catch (error) {
      ignore(412)(error);
      const { resource } = await leases.item(lease.id, lease.id).read<ForeignLease>();
      if (resource?.Owner === this.owner) await this.#write({ ...lease, _etag: resource._etag }, position);
      else this.held.delete(token);
    }
  }

  async #write(lease: ForeignLease, position: string | null): Promise<void> {
    const { leases } = this.#options;
    const next = { ...lease, ContinuationToken: position, timestamp: this.#timestamp() };
    const accessCondition = { type: 'IfMatch', condition: lease._etag! };
    const { resource } = await leases.item(lease.id, lease.id).replace<ForeignLease>(next, { accessCondition });
    if (resource) this.held.set(lease.LeaseToken, { lease: resource, position });
  }

  #timestamp(): string {
    const { now = Date.now } = this.#options;
    return new Date(now()).toISOString().replace('Z', '0000Z');
  }
}

/** How long the lock of a killed host stays; needs a default time to live on the container. */
const LOCK_SECONDS = 30;

/** One equal end is enough: if one part of a partition has a lease, the other parts have leases too. */
function covers({ version, LeaseToken, FeedRange }: ForeignLease, range: PartitionKeyRange): boolean {
  if (version === 0) return LeaseToken === range.id;
  return FeedRange.Range.min === range.minInclusive || FeedRange.Range.max === range.maxExclusive;
}

/** Ignores errors with one of these statuses, and throws all others. */
const ignore =
  (...statuses: readonly unknown[]) =>
  (error: unknown): undefined => {
    if (!statuses.includes((error as { code?: unknown }).code)) throw error;
  };
