import type { Container } from '@azure/cosmos';
import { onTestFinished } from 'vitest';
import type { FeedRange } from '../../src/cosmos/ranges.ts';
import type { Page } from '../../src/feed/reading/change.ts';
import type { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import type { Lease, LeaseStore } from '../../src/feed/leases/lease.ts';
import { FeedHost, type FeedHostOptions, type Timings } from '../../src/feed/sharing/feed-host.ts';
import { type ChangeSource, CosmosChangeSource } from '../../src/feed/reading/source.ts';

/** Short, so that a test of expiry takes no longer than it must. */
export const BRISK: Timings = {
  acquireMs: 20,
  expirationMs: 400,
  renewMs: 100,
  checkpointMs: 0,
  pollMs: 10,
  stallMs: 60_000,
  unacknowledgedMs: 60_000,
  stopMs: 20_000,
};

/** A lease store through which its host can be cut off from the world, as a killed process is. */
export class CutStore implements LeaseStore {
  readonly #inner: LeaseStore;
  cut = false;
  /** Until it resolves the process stands still: what it asks goes out, and is answered, afterwards. */
  standing: Promise<void> = Promise.resolve();

  constructor(inner: LeaseStore) {
    this.#inner = inner;
  }

  prepare(signal: AbortSignal, begin?: (range: FeedRange) => Promise<string | undefined>): Promise<void> {
    return this.#through(() => this.#inner.prepare(signal, begin));
  }

  initializedAt(): Promise<Date | undefined> {
    return this.#through(async () => this.#inner.initializedAt?.());
  }

  list(): Promise<Lease[]> {
    return this.#through(() => this.#inner.list());
  }

  acquire(lease: Lease, from?: 'nobody' | 'owner'): Promise<Lease | undefined> {
    return this.#through(() => this.#inner.acquire(lease, from));
  }

  renew(lease: Lease, position?: string): Promise<Lease> {
    return this.#through(() => this.#inner.renew(lease, position));
  }

  release(lease: Lease): Promise<void> {
    return this.#through(() => this.#inner.release(lease));
  }

  ranges(): Promise<readonly FeedRange[]> {
    return this.#through(() => this.#inner.ranges());
  }

  create(...lease: Parameters<LeaseStore['create']>): Promise<boolean> {
    return this.#through(() => this.#inner.create(...lease));
  }

  read(lease: Lease): Promise<Lease | undefined> {
    return this.#through(() => this.#inner.read(lease));
  }

  takeOver(lease: Lease): Promise<Lease> {
    return this.#through(() => this.#inner.takeOver(lease));
  }

  handOver(lease: Lease, position?: string): Promise<void> {
    return this.#through(() => this.#inner.handOver(lease, position));
  }

  remove(lease: Lease): Promise<void> {
    return this.#through(() => this.#inner.remove(lease));
  }

  async #through<T>(call: () => Promise<T>): Promise<T> {
    await this.standing;
    if (this.cut) throw new Error('This host was killed');
    const answer = await call();
    await this.standing;
    return answer;
  }
}

export interface Host {
  readonly processor: FeedHost;
  /** Pages in the order they were given to the handler: their documents' ids. */
  readonly pages: string[][];
  /** The leases as this host reaches them. */
  readonly leases: CutStore;
  /** From here on nothing of this host reaches the leases or handles anything. */
  readonly kill: () => void;
}

export interface HostOptions extends Partial<Pick<FeedHostOptions, 'start'>> {
  readonly timings?: Partial<Timings>;
  readonly pageSize?: number;
  /** What reads instead of the source. */
  readonly through?: (source: ChangeSource) => ChangeSource;
  /** Runs before a page counts as handled. */
  readonly handle?: (page: Page, fence: Fence) => Promise<void> | void;
}

/** A host that reads documents of type `item` of `monitored` and notes what it was given. Stopped when the test ends. */
export async function hostOf(
  name: string,
  monitored: Container,
  store: CosmosLeaseStore,
  { timings, start = 'beginning', pageSize = 1_000, through = (same) => same, handle }: HostOptions = {},
): Promise<Host> {
  const rid = (await monitored.read()).resource?._rid ?? '';
  const map = { name: monitored.id, keyPaths: [['pk']], types: new Map([['item', {}]]) };
  const leases = new CutStore(store);
  const pages: string[][] = [];
  const processor = new FeedHost({
    container: monitored.id,
    host: name,
    source: through(new CosmosChangeSource(monitored, rid, map, { epoch: 1, pageSize })),
    leases,
    start,
    timings: { ...BRISK, ...timings },
    handle: async (page, fence) => {
      if (leases.cut) throw new Error('This host was killed');
      await handle?.(page, fence);
      pages.push(page.changes.map(({ id }) => id));
    },
  });
  onTestFinished(() => processor.stop());
  return { processor, pages, leases, kill: () => void (leases.cut = true) };
}

export const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `d${from + n}`);

export async function write(container: Container, ids: readonly string[]): Promise<void> {
  for (const id of ids) await container.items.upsert({ id, pk: id, type: 'item' });
}
