import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';

/** A change that was deferred: which document in which version. It holds no body, because the source is read again. */
export interface DeferredChange extends Identity {
  readonly type: string;
  readonly version: Version;
  /** As in the change. */
  readonly feedLsn?: number;
  readonly at: number;
  readonly op: Change['op'];
}

/** The place of a tenure in the register: the part of the hash space that it may defer changes of. */
export interface Owner extends FeedRange {
  readonly token: string;
}

/** A queue of one tenant, made by one tenure for its range. */
export interface QueueEntry extends FeedRange {
  readonly id: string;
  readonly tenant: string;
}

/** One for each source container: who owns which range, and the queues that exist, the oldest first. */
export interface Register {
  readonly id: typeof REGISTER;
  readonly owners: readonly Owner[];
  readonly queues: readonly QueueEntry[];
}

export interface Bound extends FeedRange {
  readonly upTo: number;
}

/** The ends of a queue at a moment, milliseconds since 1970 by the clock of the host that wrote it. */
export interface DeferredMark {
  readonly at: number;
  readonly first: number;
  readonly next: number;
}

/** The ends of a queue: bundles have the numbers `first` to below `next`. */
export interface Head {
  readonly id: string;
  readonly first: number;
  readonly next: number;
  /** Where the queue is closed, and up to which lsn its changes count there. Later ones the next tenure reads itself. */
  readonly bounds?: readonly Bound[];
  /** Where the ends were before, the older mark first; at most two. */
  readonly marks?: readonly DeferredMark[];
}

export interface Bundle {
  readonly id: string;
  readonly items: readonly DeferredChange[];
}

export const REGISTER = 'register';
export const headId = (queue: string): string => `head|${queue}`;
export const bundleId = (queue: string, number: number): string => `bundle|${queue}|${number}`;

/** Changes in one bundle. With the longest key and id an item has under 4 KB, so a bundle stays far below 2 MB. */
export const BUNDLE = 100;

export const deferredChangeOf = ({ container, key, id, type, version, feedLsn, at, op }: Change): DeferredChange => ({
  container,
  key,
  id,
  type,
  version,
  ...(feedLsn !== undefined && { feedLsn }),
  at,
  op,
});

/** Changes in feed order as the items of bundles. Of a document only its last change is kept. */
export function bundlesOf(changes: readonly Change[]): DeferredChange[][] {
  const last = new Map(changes.map((change) => [identityOf(change), change]));
  const items = changes.filter((change) => last.get(identityOf(change)) === change).map(deferredChangeOf);
  const bundles: DeferredChange[][] = [];
  for (let from = 0; from < items.length; from += BUNDLE) bundles.push(items.slice(from, from + BUNDLE));
  return bundles;
}

const identityOf = ({ container, key, id }: Identity): string => JSON.stringify([container, key, id]);
