import { randomUUID } from 'node:crypto';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { Container, FeedRange, PartitionKeyRange } from '@azure/cosmos';

/** A lease as .NET's change feed processor, and the Functions trigger, write it. */
export interface ForeignLease {
  readonly id: string;
  readonly version: 0;
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

  /** Writes a lease for each physical partition that has none. */
  async bootstrap(): Promise<void> {
    const { leases, prefix } = this.#options;
    for (const range of await this.#ranges()) await this.#create(range, null);
    await leases.items.create({ id: `${prefix}.info` }).catch(ignore(409));
  }

  /** Takes every lease that has no owner or that nobody has renewed for too long. */
  async acquire(): Promise<void> {
    const { leases, prefix, expirationMs = 60_000, now = Date.now } = this.#options;
    const { resources } = await leases.items
      .query<ForeignLease>({
        query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @p)',
        parameters: [{ name: '@p', value: `${prefix}..` }],
      })
      .fetchAll();
    for (const lease of resources) {
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

/** Passes over a refusal with this status, and over nothing else. */
const ignore =
  (status: number) =>
  (error: unknown): undefined => {
    if ((error as { code?: unknown }).code !== status) throw error;
  };
