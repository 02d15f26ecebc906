import { systemClock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { type Change, feedLsnOf } from '../../feed/reading/change.ts';
import { contains, overlaps } from '../../feed/reading/position.ts';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../../access/document-access.ts';
import { sharedError } from '../../base/shared-errors.ts';
import {
  type Bundle,
  type Head,
  type QueueEntry,
  REGISTER,
  type Register,
  type DeferredChange,
  bundleId,
  bundlesOf,
  headId,
} from './documents.ts';
import { type DeferredOptions, claim, claimEmpty, queuesThere } from './claim.ts';
import { marked } from './pace.ts';
import { type Stored, type DeferredWrite, written } from './store.ts';

/** Changes of a bundle that may be applied now, in feed order. */
export interface Portion {
  readonly queue: QueueEntry;
  readonly number: number;
  /** True: no bundle before it is left. */
  readonly leads: boolean;
  readonly due: readonly DeferredChange[];
  /** The bundle as it was read, and what stays in it. */
  readonly bundle: Stored<Bundle>;
  readonly rest: readonly DeferredChange[];
}

/**
 * The changes of a range that are deferred, by tenant (docs/SPEC-tenants.md). One object serves one window of a tenure,
 * from the position at which the window begins. While a tenant has a queue here, all of its later changes are deferred
 * too (TEN-F3). Pages must be given one after the other; draining may run beside that.
 */
export class DeferredQueues {
  readonly #options: DeferredOptions;
  /** The queues of each tenant that may hold changes of this range, the oldest first. */
  readonly #queues = new Map<string, QueueEntry[]>();
  #made = 0;
  #claimed = false;

  private constructor(options: DeferredOptions) {
    this.#options = options;
  }

  /**
   * Opens the queues of a range for a window that begins at `position`. Claims the range only if an earlier tenure has
   * deferred changes; otherwise at the first change. So where no tenant is over its share this is one read.
   */
  static async open(options: DeferredOptions, position: number): Promise<DeferredQueues> {
    const deferred = new DeferredQueues(options);
    if (!(await queuesThere(options))) return deferred;
    for (const queue of await claim(options, position)) deferred.#add(queue);
    deferred.#claimed = true;
    return deferred;
  }

  /** The tenants whose changes are deferred now. */
  get tenants(): string[] {
    return [...this.#queues.keys()];
  }

  /** Whether the next changes of a tenant must be deferred, even within its share. */
  holds(tenant: string): boolean {
    return this.#queues.has(tenant);
  }

  /**
   * Defers changes of a tenant. They must be in feed order, and be all changes of the tenant that their page has.
   * Resolves when they are durable: only then may the watermark pass them (TEN-F4).
   * @throws MillraceError `overtaken` if another tenure has taken the range over
   */
  async defer(tenant: string, changes: readonly Change[]): Promise<void> {
    for (const bundles of inBatches(bundlesOf(changes))) while (!(await this.#append(tenant, bundles)));
  }

  /**
   * The next changes of a tenant to apply. `position`: the low watermark; a change above it waits, because an earlier one of
   * its key may still be in hand (TEN-F5). `later`: none may be applied yet. `none`: the tenant has no queue any more, and
   * its next changes go the usual way.
   */
  async next(tenant: string, position: number): Promise<Portion | 'later' | 'none'> {
    const queue = this.#queues.get(tenant)?.[0];
    if (!queue) return 'none';
    const head = await this.#options.store.read<Head>(headId(queue.id));
    const found = head ? await this.#look(queue, head.body, position) : 'gone';
    if (typeof found !== 'string' || found === 'later') return found;
    // The head as it was before the look: a bundle that was added since keeps the queue (TEN-F8).
    if (head && found === 'empty' && !(await this.#remove(queue, head))) return 'later';
    this.#drop(queue);
    return this.next(tenant, position);
  }

  /**
   * The first changes of a queue that lie in this range. `empty`: it has none, and no other range has any. `others`: only
   * other ranges have; the last of them removes the queue.
   */
  async #look(queue: QueueEntry, head: Head, position: number): Promise<Portion | 'later' | 'empty' | 'others'> {
    const { store, range, hashOf } = this.#options;
    let shared = false;
    let leads = true;
    for (let number = head.first; number < head.next; number++) {
      const bundle = await store.read<Bundle>(bundleId(queue.id, number));
      const { items = [] } = bundle?.body ?? {};
      const own = items.filter(({ key }) => holds(range, hashOf(key)));
      shared ||= own.length < items.length;
      if (own.length === 0) leads &&= bundle === undefined;
      if (!bundle || own.length === 0) continue;
      const counts = own.filter((item) => feedLsnOf(item) <= upTo(head, hashOf(item.key)));
      const due = counts.filter((item) => feedLsnOf(item) <= position);
      if (due.length === 0 && counts.length > 0) return 'later';
      const waiting = new Set(counts.filter((item) => feedLsnOf(item) > position));
      const rest = items.filter((item) => waiting.has(item) || !own.includes(item));
      return { queue, number, leads, due, bundle, rest };
    }
    return shared ? 'others' : 'empty';
  }

  /** Removes applied changes from their queue. To be called after they are applied or parked, not before (TEN-F7). */
  async done({ queue, number, leads, bundle, rest }: Portion): Promise<void> {
    const { store } = this.#options;
    if (rest.length > 0) {
      await store.commit([written({ ...bundle.body, items: rest }, bundle)]);
      return;
    }
    const remove: DeferredWrite = { kind: 'remove', id: bundle.body.id, ifMatch: bundle.etag };
    const head = leads ? await store.read<Head>(headId(queue.id)) : undefined;
    const moved = head ? [written(marked({ ...head.body, first: number + 1 }, systemClock.now()), head)] : [];
    // Refused: the head has changed, and the next bundle moves it past both; or another drain was faster.
    if (!(await store.commit([...moved, remove])) && head) await store.commit([remove]);
  }

  /** False: the queue was closed or removed meanwhile; try again. */
  async #append(tenant: string, bundles: readonly (readonly DeferredChange[])[]): Promise<boolean> {
    const { store, range, token } = this.#options;
    const open = this.#queues.get(tenant)?.find(({ id }) => id.startsWith(`${token}|`));
    if (open) {
      const head = await store.read<Head>(headId(open.id));
      if (!head) {
        this.#drop(open);
        return false;
      }
      if (head.body.bounds?.some((bound) => overlaps(bound, range))) throw lost(range);
      const { next } = head.body;
      const body = marked({ ...head.body, next: next + bundles.length }, systemClock.now());
      return store.commit([written(body, head), ...creations(open.id, next, bundles)]);
    }
    if (!this.#claimed) {
      if (!(await claimEmpty(this.#options))) throw lost(range);
      this.#claimed = true;
    }
    const register = await store.read<Register>(REGISTER);
    if (!register?.body.owners.some((owner) => owner.token === token && contains(owner, range))) throw lost(range);
    const queue: QueueEntry = { id: `${token}|${this.#made++}`, tenant, min: range.min, max: range.max };
    const head: Head = marked({ id: headId(queue.id), first: 0, next: bundles.length }, systemClock.now());
    const made = await store.commit([
      written({ ...register.body, queues: [...register.body.queues, queue] }, register),
      { kind: 'create', id: head.id, body: head },
      ...creations(queue.id, 0, bundles),
    ]);
    if (made) this.#add(queue);
    return made;
  }

  /** Removes an empty queue, unless a bundle was added since `head` was read. */
  async #remove(queue: QueueEntry, head: Stored<Head>): Promise<boolean> {
    const { store } = this.#options;
    const register = await store.read<Register>(REGISTER);
    if (!register) return true;
    const queues = register.body.queues.filter(({ id }) => id !== queue.id);
    return store.commit([
      written({ ...register.body, queues }, register),
      { kind: 'remove', id: head.body.id, ifMatch: head.etag },
    ]);
  }

  #add(queue: QueueEntry): void {
    this.#queues.set(queue.tenant, [...(this.#queues.get(queue.tenant) ?? []), queue]);
  }

  #drop({ id, tenant }: QueueEntry): void {
    const left = (this.#queues.get(tenant) ?? []).filter((queue) => queue.id !== id);
    if (left.length > 0) this.#queues.set(tenant, left);
    else this.#queues.delete(tenant);
  }
}

const holds = ({ min, max }: FeedRange, hash: string): boolean => hash >= min && hash < max;

const upTo = ({ bounds = [] }: Head, hash: string): number =>
  bounds.find((bound) => holds(bound, hash))?.upTo ?? Infinity;

const lost = ({ min, max }: FeedRange) =>
  sharedError('overtaken', `Another host defers changes of the range ${min}-${max}`, {
    hint: 'Nothing to do: the other host reads these changes.',
  });

const creations = (queue: string, from: number, bundles: readonly (readonly DeferredChange[])[]): DeferredWrite[] =>
  bundles.map((items, at) => {
    const body: Bundle = { id: bundleId(queue, from + at), items };
    return { kind: 'create', id: body.id, body };
  });

/** Bundles that fit one batch, together with the head and the register. */
function inBatches(bundles: readonly (readonly DeferredChange[])[]): (readonly DeferredChange[])[][] {
  const batches: (readonly DeferredChange[])[][] = [];
  let left = 0;
  for (const bundle of bundles) {
    const bytes = Buffer.byteLength(JSON.stringify(bundle));
    if (bytes > left || (batches.at(-1)?.length ?? MAX_BATCH) >= MAX_BATCH - 2) {
      batches.push([]);
      left = MAX_BATCH_BYTES / 2;
    }
    batches.at(-1)?.push(bundle);
    left -= bytes;
  }
  return batches;
}
