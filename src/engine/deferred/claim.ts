import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Key } from '../../feed/reading/change.ts';
import { contains, overlaps, without } from '../../feed/reading/position.ts';
import { type Head, type QueueEntry, REGISTER, type Register, headId } from './documents.ts';
import { type DeferredStore, type Stored, type DeferredWrite, written } from './store.ts';

export interface DeferredOptions {
  readonly store: DeferredStore;
  readonly range: FeedRange;
  /** Unique for each window of a tenure. */
  readonly token: string;
  /** The effective partition key of a full key, as in the ends of a range. */
  readonly hashOf: (key: Key) => string;
  /** Resolves when a write has confirmed that the tenure has its lease. Rejects if it has not. */
  readonly confirm: () => Promise<void>;
}

/** The queues of a range; undefined if no tenure has deferred changes of it since the last of them was emptied. */
export async function queuesThere({ store, range }: DeferredOptions): Promise<readonly QueueEntry[] | undefined> {
  const register = await store.read<Register>(REGISTER);
  const { owners = [], queues = [] } = register?.body ?? {};
  const own = queues.filter((queue) => overlaps(queue, range));
  return own.length === 0 && !owners.some((owner) => overlaps(owner, range)) ? undefined : own;
}

/**
 * Takes a range over: from now on no other tenure can defer a change of it (TEN-F6). Queues of earlier tenures are
 * closed. They count up to `position`: what they hold above it, this tenure reads from the feed itself. They are closed
 * only after the lease is confirmed, because a host that lost it long ago may come this far. A queue of a part of the range
 * stays open: the range is split already, and this host doesn't know yet.
 */
export async function claim(options: DeferredOptions, position: number): Promise<readonly QueueEntry[]> {
  const { store, range } = options;
  for (;;) {
    const queues = await enter(options);
    if (!queues) continue;
    const earlier = queues.filter((queue) => !isPart(queue, range));
    const heads = await Promise.all(earlier.map(({ id }) => store.read<Head>(headId(id))));
    await options.confirm();
    const closed = heads.flatMap((head) => (head && closedAt(head, range, position)) ?? []);
    if (closed.length === 0 || (await store.commit(closed))) return queues;
  }
}

/**
 * Takes a range over for which there was nothing to claim when the window began. False: there is now, so another window
 * has the range.
 */
export async function claimEmpty(options: DeferredOptions): Promise<boolean> {
  let queues;
  while (!(queues = await enter(options)));
  await options.confirm();
  return queues.length === 0;
}

/** Enters the tenure in the register. Returns the queues of its range; undefined: another was faster. */
async function enter({ store, range, token }: DeferredOptions): Promise<QueueEntry[] | undefined> {
  const register = await store.read<Register>(REGISTER);
  const { owners = [], queues = [] } = register?.body ?? {};
  const others = owners.flatMap((owner) => without(owner, range).map((part) => ({ ...part, token: owner.token })));
  const body: Register = { id: REGISTER, owners: [...others, { ...range, token }], queues };
  if (!(await store.commit([written(body, register)]))) return undefined;
  return queues.filter((queue) => overlaps(queue, range));
}

/**
 * Whether a queue is of a part of the range: its lease is one of those that replace this one, and may be further. So what
 * it holds counts, whatever the position here.
 */
const isPart = (queue: FeedRange, range: FeedRange): boolean => contains(range, queue) && !contains(queue, range);

/** The write that closes a queue in a range, where it isn't closed yet. */
function closedAt(head: Stored<Head>, range: FeedRange, position: number): DeferredWrite | undefined {
  const { bounds = [] } = head.body;
  let missing: FeedRange[] = [range];
  for (const bound of bounds) missing = missing.flatMap((part) => without(part, bound));
  if (missing.length === 0) return undefined;
  return written({ ...head.body, bounds: [...bounds, ...missing.map((part) => ({ ...part, upTo: position }))] }, head);
}
