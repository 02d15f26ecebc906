import { randomUUID } from 'node:crypto';
import { type FeedRange, rangeId } from '../../src/cosmos/ranges.ts';
import { type Lease, LeaseDeleted, LeaseLost, type LeaseStore } from '../../src/feed/leases/lease.ts';
import { without } from '../../src/feed/reading/position.ts';
import { type SharedHistory, sharedAfter } from '../../src/feed/leases/shared-history.ts';
import { feedError } from '../../src/feed/errors.ts';

/**
 * Leases that live as long as this process: for tests, for tools that read a feed once, and for a single host that stores
 * its positions elsewhere. Hosts of one process share them; each has its own `store`.
 */
export class MemoryLeases {
  readonly #leases = new Map<string, Lease>();
  readonly #ranges: () => Promise<readonly FeedRange[]>;
  #writes = 0;
  #preparedAt: Date | undefined;

  /** `ranges`: the current physical partitions of the monitored container. */
  constructor(ranges: () => Promise<readonly FeedRange[]>) {
    this.#ranges = ranges;
  }

  /** The lease store for the host of this name. */
  store(host: string): LeaseStore {
    const take = (stored: Lease, takenFrom = stored.takenFrom): Lease => {
      const { takenFrom: _, ...rest } = stored;
      return this.#put({ ...rest, owner: host, tenure: randomUUID(), ...(takenFrom && { takenFrom }) });
    };
    const own = (lease: Lease): Lease => {
      const stored = this.#leases.get(lease.id);
      if (!stored) throw new LeaseDeleted(lease.id);
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
        if (from === 'nobody') return stored?.etag === lease.etag ? take(stored) : undefined;
        const { owner, tenure = randomUUID(), takenFrom } = lease;
        if (!stored || owner === null || stored.owner !== owner || stored.tenure !== lease.tenure) return undefined;
        return stored.takenFrom?.tenure === takenFrom?.tenure ? take(stored, { owner, tenure }) : undefined;
      },
      renew: async (lease, position) => {
        if (position === '')
          throw feedError('position-empty', `Lease ${lease.id} can't be stored with an empty position`);
        const { shared = [], ...stored } = own(lease);
        const left = sharedAfter(shared, position);
        return this.#put({ ...stored, ...sharedOf(left), ...positionOf({ position: position ?? stored.position }) });
      },
      ranges: () => this.#ranges(),
      create: async (range, position, _, shared) => this.#create(range, position, shared),
      read: async ({ id }) => this.#leases.get(id),
      takeOver: async (lease) => {
        const { takenFrom: _, ...rest } = own(lease);
        return this.#put(rest);
      },
      handOver: async ({ id, tenure }, position) => {
        const stored = this.#leases.get(id);
        if (!stored?.takenFrom || stored.takenFrom.tenure !== tenure) return;
        const { takenFrom: _, ...rest } = stored;
        this.#put({ ...rest, ...positionOf({ position: position ?? stored.position }) });
      },
      remove: async (lease) => {
        const stored = this.#leases.get(lease.id);
        if (stored && stored.etag !== lease.etag) throw new LeaseLost(lease.id, 'another host wrote it');
        this.#leases.delete(lease.id);
      },
      release: async (lease) => {
        this.#put({ ...own(lease), owner: null });
      },
    };
  }

  #create(range: FeedRange, position: string | undefined, shared: readonly SharedHistory[] = []): boolean {
    const id = rangeId(range);
    if (this.#leases.has(id)) return false;
    this.#put({ id, token: id, range, owner: null, ...positionOf({ position }), ...sharedOf(shared), etag: '' });
    return true;
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

const sharedOf = (shared: readonly SharedHistory[]): Pick<Lease, 'shared'> => (shared.length > 0 ? { shared } : {});
