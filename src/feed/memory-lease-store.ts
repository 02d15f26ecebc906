import { MillraceError } from '../base/errors.ts';
import { type FeedRange, rangeId } from '../cosmos/ranges.ts';
import { type Lease, LeaseLost, type LeaseStore } from './lease.ts';
import { without } from './position.ts';

/**
 * Leases that live as long as this process: for tests, tools that read a feed once, and a single host that keeps its
 * positions elsewhere. Hosts of one process share them, each by a `store` of its own.
 */
export class MemoryLeases {
  readonly #leases = new Map<string, Lease>();
  readonly #ranges: () => Promise<readonly FeedRange[]>;
  #writes = 0;
  #preparedAt: Date | undefined;

  /** `ranges`: the monitored container's physical partitions as they are now. */
  constructor(ranges: () => Promise<readonly FeedRange[]>) {
    this.#ranges = ranges;
  }

  /** As the host of that name sees them. */
  store(host: string): LeaseStore {
    const take = (lease: Lease, stored: Lease | undefined): Lease | undefined =>
      stored && this.#put({ ...lease, ...positionOf(stored), owner: host });
    const own = (lease: Lease): Lease => {
      const stored = this.#leases.get(lease.id);
      if (!stored) throw new LeaseLost(lease.id, 'it was deleted');
      if (stored.etag !== lease.etag) throw new LeaseLost(lease.id, 'another host wrote it');
      return stored;
    };
    return {
      prepare: async (signal, begin) => {
        const physical = await this.#ranges();
        signal.throwIfAborted();
        const covered = [...this.#leases.values()];
        for (const range of physical) {
          const gaps = covered.reduce<FeedRange[]>(
            (left, of) => left.flatMap((one) => without(one, of.range)),
            [range],
          );
          for (const gap of gaps) this.#create(gap, this.#preparedAt ? undefined : await begin?.(gap));
        }
        this.#preparedAt ??= new Date();
      },
      initializedAt: async () => this.#preparedAt,
      list: async () => [...this.#leases.values()],
      acquire: async (lease, from = 'nobody') => {
        const stored = this.#leases.get(lease.id);
        const asSeen = from === 'owner' ? stored?.owner === lease.owner : stored?.etag === lease.etag;
        return asSeen ? take(lease, stored) : undefined;
      },
      renew: async (lease, position) => {
        if (position === '')
          throw new MillraceError('position-missing', `Refusing to store an empty position in lease ${lease.id}`);
        return this.#put({ ...own(lease), ...(position === undefined ? {} : { position }) });
      },
      ranges: () => this.#ranges(),
      create: async (range, position) => this.#create(range, position),
      assertOwned: async (lease) => void own(lease),
      remove: async (lease) => {
        const stored = this.#leases.get(lease.id);
        if (stored && stored.etag !== lease.etag) throw new LeaseLost(lease.id, 'another host wrote it');
        this.#leases.delete(lease.id);
      },
      release: async (lease) => {
        const stored = this.#leases.get(lease.id);
        if (stored?.etag === lease.etag) this.#put({ ...stored, owner: null });
      },
    };
  }

  #create(range: FeedRange, position: string | undefined): void {
    const id = rangeId(range);
    if (this.#leases.has(id)) return;
    this.#put({ id, token: id, range, owner: null, ...positionOf({ position }), etag: '' });
  }

  #put(lease: Lease): Lease {
    this.#writes += 1;
    const written = { ...lease, etag: `"${this.#writes}"` };
    this.#leases.set(lease.id, written);
    return written;
  }
}

const positionOf = ({ position }: { readonly position?: string | undefined }): { position?: string } =>
  position === undefined ? {} : { position };
