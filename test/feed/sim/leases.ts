import { AmbiguousOutcome } from '../../../src/cosmos/retry.ts';
import { type FeedRange, rangeId } from '../../../src/cosmos/ranges.ts';
import { type Lease, LeaseDeleted, LeaseLost, type LeaseStore } from '../../../src/feed/leases/lease.ts';
import type { Container } from './feed.ts';
import { type Faults, type Process, type World, remote } from './world.ts';

/** What an oracle wants to know of every write, at the moment it takes effect. */
export interface Watcher {
  stored(lease: Lease, before: Lease | undefined): void;
  acquired(host: string, lease: Lease, before: Lease, from: 'nobody' | 'owner', writtenAt: number): void;
  removed(lease: Lease): void;
  /** Whoever had it before acts no more: as that one said itself, or as it can't any longer. */
  tookOver(host: string, id: string): void;
  answered(host: string, id: string): void;
  /** The answer by which a host learned that its lease is lost. */
  told(host: string, id: string): void;
}

/** Lease documents with ETags; listings may be old. */
export class Leases {
  readonly documents = new Map<string, Lease>();
  readonly #world: World;
  readonly #container: Container;
  readonly #watcher: Watcher;
  readonly #writtenAt = new Map<string, number>();
  readonly #past: { readonly at: number; readonly leases: readonly Lease[] }[] = [];
  preparedAt: number | undefined;
  #etags = 0;
  #tenures = 0;

  constructor(world: World, container: Container, watcher: Watcher) {
    this.#world = world;
    this.#container = container;
    this.#watcher = watcher;
  }

  put(lease: Lease): Lease {
    const before = this.documents.get(lease.id);
    const stored = { ...lease, etag: `"${++this.#etags}"` };
    this.#watcher.stored(stored, before);
    this.documents.set(lease.id, stored);
    this.#writtenAt.set(lease.id, this.#world.now);
    this.#remember();
    return stored;
  }

  delete(id: string): void {
    const lease = this.documents.get(id);
    if (!lease) return;
    this.documents.delete(id);
    this.#watcher.removed(lease);
    this.#remember();
  }

  create(range: FeedRange, position: string | undefined, twin = ''): boolean {
    const partition = this.#container.ranges.find(({ min, max }) => min === range.min && max === range.max)?.id;
    const token = (partition ?? rangeId(range)) + twin;
    const id = `P..${token}`;
    if (this.documents.has(id)) return false;
    const { min, max } = range;
    this.put({
      id,
      token,
      range: { min, max },
      owner: null,
      etag: '',
      ...(position === undefined ? {} : { position }),
    });
    return true;
  }

  /** As a process called `host` sees them. */
  store(process: Process, host: string, faults: Readonly<Faults>): LeaseStore {
    const { random } = this.#world;
    const call = <T>(effect: () => T): Promise<T> => remote(process, faults, effect);
    const told = async <T>(id: string, answer: Promise<T>): Promise<T> => {
      try {
        return await answer;
      } catch (error) {
        if (error instanceof LeaseLost) this.#watcher.told(host, id);
        throw error;
      }
    };
    const own = (lease: Lease): Lease => {
      const stored = this.documents.get(lease.id);
      if (!stored) throw new LeaseDeleted(lease.id);
      if (stored.etag !== lease.etag) throw new LeaseLost(lease.id, 'another host wrote it');
      return stored;
    };
    return {
      prepare: async (_signal, begin) => {
        if (await call(() => this.preparedAt !== undefined)) return;
        const ranges = await call(() => this.#container.ranges);
        const made = await Promise.all(ranges.map(async (range) => ({ range, position: await begin?.(range) })));
        await call(() => {
          // As if under a lock that expires: whoever is first, is.
          if (this.preparedAt !== undefined) return;
          this.preparedAt = this.#world.now;
          for (const { range, position } of made) this.create(range, position);
        });
      },
      initializedAt: () => call(() => (this.preparedAt === undefined ? undefined : new Date(this.preparedAt))),
      list: () => {
        const lag = random.chance(0.3) ? random.int(800) : 0;
        return call(() => [...this.#then(lag)]);
      },
      acquire: (lease, from = 'nobody') =>
        call(() => {
          const stored = this.documents.get(lease.id);
          const asListed =
            stored?.owner === lease.owner &&
            stored.tenure === lease.tenure &&
            stored.takenFrom?.tenure === lease.takenFrom?.tenure;
          if (!stored || !(from === 'owner' ? asListed : stored.etag === lease.etag)) return undefined;
          const writtenAt = this.#writtenAt.get(lease.id) ?? 0;
          const tenure = `t${++this.#tenures}`;
          const { owner } = stored;
          const takenFrom =
            from === 'owner' && owner !== null ? { owner, tenure: stored.tenure ?? '' } : stored.takenFrom;
          const taken = this.put({ ...stored, owner: host, tenure, ...(takenFrom && { takenFrom }) });
          this.#watcher.acquired(host, taken, stored, from, writtenAt);
          return taken;
        }),
      renew: (lease, position) =>
        told(
          lease.id,
          call(() => this.put({ ...own(lease), ...(position === undefined ? {} : { position }) })).catch(
            (error: unknown) => {
              throw error instanceof LeaseLost ? error : new AmbiguousOutcome(error);
            },
          ),
        ),
      ranges: () => call(() => this.#container.ranges),
      create: (range, position) => call(() => this.create(range, position)),
      read: ({ id }) => {
        const lag = random.chance(0.3) ? random.int(800) : 0;
        return call(() => this.#then(lag).find((lease) => lease.id === id));
      },
      takeOver: (lease) =>
        told(
          lease.id,
          call(() => {
            const { takenFrom: _, ...rest } = own(lease);
            this.#watcher.tookOver(host, lease.id);
            return this.put(rest);
          }),
        ),
      handOver: (lease, position) =>
        call(() => {
          const stored = this.documents.get(lease.id);
          if (!stored?.takenFrom || stored.takenFrom.tenure !== lease.tenure) return;
          const { takenFrom: _, ...rest } = stored;
          this.#watcher.answered(host, lease.id);
          this.put({ ...rest, ...(position === undefined ? {} : { position }) });
        }),
      remove: (lease) =>
        call(() => {
          if (this.documents.get(lease.id)?.etag === lease.etag) this.delete(lease.id);
        }),
      release: (lease) =>
        call(() => {
          this.put({ ...own(lease), owner: null });
        }),
    };
  }

  #then(lag: number): readonly Lease[] {
    return (this.#past.findLast(({ at }) => at <= this.#world.now - lag) ?? this.#past[0])?.leases ?? [];
  }

  #remember(): void {
    this.#past.push({ at: this.#world.now, leases: [...this.documents.values()] });
    while (this.#past.length > 1 && this.#past[1]!.at < this.#world.now - 1_000) this.#past.shift();
  }
}
