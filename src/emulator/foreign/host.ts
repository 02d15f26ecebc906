import { randomUUID } from 'node:crypto';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { Container, FeedRange, PartitionKeyRange } from '@azure/cosmos';

/** A lease as .NET's change feed processor, and the Functions trigger, write it. */
export interface ForeignLease {
  readonly id: string;
  /** 0: of a physical partition, whose id is the token; 1: of a part of the key space. */
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
  /** Processor name, account and resource ids run together, as the real one does. */
  readonly prefix: string;
  /** Where a lease without a token begins: this host's own option, whoever wrote the null. */
  readonly start?: 'now' | 'beginning' | undefined;
  /** Functions advances behind a batch that threw; the processor alone doesn't. */
  readonly advanceFailed?: boolean | undefined;
  /** How long a lease may go without being renewed before it is taken; 60,000 if none is named. */
  readonly expirationMs?: number | undefined;
  /** Gets each page; what it throws fails the batch. */
  readonly handle?: Handle | undefined;
  /** Milliseconds since 1970, for the leases' timestamps. */
  readonly now?: (() => number) | undefined;
}

type Handle = (documents: readonly Record<string, unknown>[]) => void | Promise<void>;

/**
 * A host of .NET's change feed processor in so far as others can tell: a GUID for an owner, positions in memory that
 * win over what is written under it, and null as a token for "my own start". It does what it is told to, one step at
 * a time, so that a test decides who comes first. A refusal that such a host would meet too (a fault, a container that
 * is gone) is thrown as the client throws it.
 */
export class ForeignHost {
  readonly owner = randomUUID();
  /** What it owns, with the position it is at, by lease token. */
  readonly held = new Map<string, { readonly lease: ForeignLease; readonly position: string | null }>();
  readonly #options: ForeignHostOptions;

  constructor(options: ForeignHostOptions) {
    this.#options = options;
  }

  /**
   * Writes the leases of a new processor, under a lock, and says in `.info` that it is done: for good, so that a lease
   * which is deleted later is made by nobody. A physical partition that a lease has already, or whose ends one of a part
   * of the key space has, gets none.
   * @returns false where another host holds the lock: a real one tries again after 15 seconds
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

  /** Takes every lease that has no owner or that nobody has renewed for too long. */
  async acquire(): Promise<void> {
    const { expirationMs = 60_000, now = Date.now } = this.#options;
    for (const lease of await this.#leases()) {
      const expired = now() - Date.parse(lease.timestamp) > expirationMs;
      if (lease.Owner === this.owner || (lease.Owner !== null && !expired)) continue;
      await this.#write({ ...lease, Owner: this.owner }, lease.ContinuationToken).catch(ignore(412));
    }
  }

  /** Reads one page of each range it owns and hands it over; returns how many documents there were. */
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

  /** Says that it is alive; the position that it has in memory goes along. */
  async renew(): Promise<void> {
    for (const [token, { lease, position }] of this.held) await this.#checkpoint(token, lease, position);
  }

  /** Offers its leases to others. */
  async stop(): Promise<void> {
    for (const { lease, position } of this.held.values()) {
      await this.#write({ ...lease, Owner: null }, position).catch(ignore(412));
    }
    this.held.clear();
  }

  /** As the processor does once a range is gone: its children have leases that begin where it was, for whoever comes. */
  async #follow(): Promise<void> {
    const ranges = await this.#ranges();
    for (const [token, { lease, position }] of this.held) {
      const { min, max } = lease.FeedRange.Range;
      const children = ranges.filter((range) => range.minInclusive >= min && range.maxExclusive <= max);
      // Where ranges were merged the lease goes on reading its own part.
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

  /** On 412 it reads the lease again, and where it is still the owner writes what it has in memory over it. */
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

/** How long the lock of a host that was killed stands in the way; the container's default time to live has to be on. */
const LOCK_SECONDS = 30;

/** One end is enough: where a partition has a lease of a part of it, the others are taken to have theirs. */
function covers({ version, LeaseToken, FeedRange }: ForeignLease, range: PartitionKeyRange): boolean {
  if (version === 0) return LeaseToken === range.id;
  return FeedRange.Range.min === range.minInclusive || FeedRange.Range.max === range.maxExclusive;
}

/** Passes over a refusal with one of these statuses, and over nothing else. */
const ignore =
  (...statuses: readonly unknown[]) =>
  (error: unknown): undefined => {
    if (!statuses.includes((error as { code?: unknown }).code)) throw error;
  };
