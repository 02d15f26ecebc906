import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { contains, overlaps, without } from '../../feed/reading/position.ts';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../../sinks/document-access.ts';
import { engineError } from '../errors.ts';
import {
  type Bundle,
  type Head,
  type QueueEntry,
  REGISTER,
  type Register,
  type SetAside,
  bundleId,
  bundlesOf,
  headId,
} from './documents.ts';
import type { BacklogStore, Stored, Write } from './store.ts';

export interface BacklogOptions {
  readonly store: BacklogStore;
  readonly range: FeedRange;
  /** Unique for each window of a tenure. */
  readonly token: string;
  /** Whether a key lies in the range. */
  readonly covers: (key: Key) => boolean;
}

/** Changes of a bundle that may be applied now, in feed order. */
export interface Portion {
  readonly queue: QueueEntry;
  readonly number: number;
  readonly due: readonly SetAside[];
  /** The bundle as it was read, and what stays in it. */
  readonly bundle: Stored<Bundle>;
  readonly rest: readonly SetAside[];
}

/**
 * The changes of a range that are set aside, by tenant (docs/SPEC-tenants.md). One object serves one window of a tenure,
 * from the position at which the window begins. While a tenant has a queue here, all of its later changes are set aside
 * too (TEN-F3). Pages must be given one after the other; draining may run beside that.
 */
export class Backlog {
  readonly #options: BacklogOptions;
  /** The queues of each tenant that may hold changes of this range, the oldest first. */
  readonly #queues = new Map<string, QueueEntry[]>();
  #made = 0;

  private constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /**
   * Takes the range over. From now on no other tenure can set a change of it aside (TEN-F6). Queues of earlier tenures are
   * closed at `position`: what they hold above it, this tenure reads from the feed itself.
   */
  static async claim(options: BacklogOptions, position: number): Promise<Backlog> {
    const { store, range, token } = options;
    for (;;) {
      const register = await store.read<Register>(REGISTER);
      const { owners = [], queues = [] } = register?.body ?? {};
      const own = queues.filter((queue) => overlaps(queue, range));
      const others = owners.flatMap((owner) => without(owner, range).map((part) => ({ ...part, token: owner.token })));
      const body: Register = { id: REGISTER, owners: [...others, { ...range, token }], queues };
      const writes: Write[] = [written(body, register)];
      for (const queue of own) {
        const head = await store.read<Head>(headId(queue.id));
        if (head && head.body.upTo === undefined) writes.push(written({ ...head.body, upTo: position }, head));
      }
      if (!(await store.commit(writes))) continue;
      const backlog = new Backlog(options);
      for (const queue of own) backlog.#add(queue);
      return backlog;
    }
  }

  /** The tenants whose changes are set aside now. */
  get tenants(): string[] {
    return [...this.#queues.keys()];
  }

  /** Whether the next changes of a tenant must be set aside, whatever its share. */
  holds(tenant: string): boolean {
    return this.#queues.has(tenant);
  }

  /**
   * Sets changes of a tenant aside. They must be in feed order, and be all changes of the tenant that their page has.
   * Resolves when they are durable: only then may the watermark pass them (TEN-F4).
   * @throws MillraceError `backlog-lost` if another tenure has taken the range over
   */
  async setAside(tenant: string, changes: readonly Change[]): Promise<void> {
    for (const bundles of inBatches(bundlesOf(changes))) while (!(await this.#append(tenant, bundles)));
  }

  /**
   * The next changes of a tenant to apply. `position`: the low watermark; a change above it waits, because an earlier one of
   * its key may still be in hand (TEN-F5). `later`: none may be applied yet. `none`: the tenant has no queue any more, and
   * its next changes go the usual way.
   */
  async next(tenant: string, position: number): Promise<Portion | 'later' | 'none'> {
    const queues = this.#queues.get(tenant);
    const queue = queues?.[0];
    if (!queue) return 'none';
    const { store, covers } = this.#options;
    const head = await store.read<Head>(headId(queue.id));
    let shared = false;
    for (let number = head?.body.first ?? 0; head && number < head.body.next; number++) {
      const bundle = await store.read<Bundle>(bundleId(queue.id, number));
      const { items = [] } = bundle?.body ?? {};
      const own = items.filter(({ key }) => covers(key));
      shared ||= own.length < items.length;
      if (!bundle || own.length === 0) continue;
      const { upTo } = head.body;
      const counts = own.filter(({ version }) => version.lsn <= (upTo ?? Infinity));
      const due = counts.filter(({ version }) => version.lsn <= position);
      if (due.length === 0 && counts.length > 0) return 'later';
      const waiting = new Set(counts.filter((item) => !due.includes(item)));
      const rest = items.filter((item) => waiting.has(item) || !covers(item.key));
      return { queue, number, due, bundle, rest };
    }
    // Another range still has changes in a queue of a tenure that had both: the last one removes it.
    if (head && !shared && !(await this.#remove(queue, head))) return 'later';
    this.#drop(queue);
    return this.next(tenant, position);
  }

  /** Removes applied changes from their queue. To be called after they are applied or parked, not before (TEN-F7). */
  async done({ queue, number, bundle, rest }: Portion): Promise<void> {
    const { store } = this.#options;
    if (rest.length > 0) {
      await store.commit([written({ ...bundle.body, items: rest }, bundle)]);
      return;
    }
    const remove: Write = { kind: 'remove', id: bundle.body.id, ifMatch: bundle.etag };
    const head = await store.read<Head>(headId(queue.id));
    // A bundle before it may still hold changes of another range.
    const moved = head?.body.first === number ? [written({ ...head.body, first: number + 1 }, head)] : [];
    // Refused: the head has moved, or another drain was faster. The next look finds the bundle again, or not.
    if (!(await store.commit([...moved, remove])) && moved.length > 0) await store.commit([remove]);
  }

  /** False: the queue was closed or removed meanwhile; try again. */
  async #append(tenant: string, bundles: readonly (readonly SetAside[])[]): Promise<boolean> {
    const { store, range, token } = this.#options;
    const open = this.#queues.get(tenant)?.find(({ id }) => id.startsWith(`${token}|`));
    if (open) {
      const head = await store.read<Head>(headId(open.id));
      if (!head) {
        this.#drop(open);
        return false;
      }
      if (head.body.upTo !== undefined) throw lost(range);
      const { next } = head.body;
      const body: Head = { ...head.body, next: next + bundles.length };
      return store.commit([written(body, head), ...creations(open.id, next, bundles)]);
    }
    const register = await store.read<Register>(REGISTER);
    if (!register?.body.owners.some((owner) => owner.token === token && contains(owner, range))) throw lost(range);
    const queue: QueueEntry = { id: `${token}|${this.#made++}`, tenant, min: range.min, max: range.max };
    const head: Head = { id: headId(queue.id), first: 0, next: bundles.length };
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

const lost = ({ min, max }: FeedRange) =>
  engineError('backlog-lost', `Another host sets changes of the range ${min}-${max} aside`);

const written = (body: { readonly id: string }, before: Stored<unknown> | undefined): Write =>
  before ? { kind: 'replace', id: body.id, body, ifMatch: before.etag } : { kind: 'create', id: body.id, body };

const creations = (queue: string, from: number, bundles: readonly (readonly SetAside[])[]): Write[] =>
  bundles.map((items, at) => {
    const body: Bundle = { id: bundleId(queue, from + at), items };
    return { kind: 'create', id: body.id, body };
  });

/** Bundles that fit one batch, together with the head and the register. */
function inBatches(bundles: readonly (readonly SetAside[])[]): (readonly SetAside[])[][] {
  const batches: (readonly SetAside[])[][] = [];
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
