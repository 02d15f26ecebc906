import type { Container, PatchRequestBody } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf, readableWhere } from '../../base/format.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import type { FeedEnds } from './ends.ts';
import { feedError } from '../errors.ts';

/** Pause before reading again, after a read that may be older than a write. */
const STALE_MS = 50;

/** The rewinds that are kept. What an older one has delivered again was delivered. */
const REWINDS_KEPT = 10;

/** Where leases were when they were moved back, and the epoch in which their changes come again. */
export interface Rewound extends FeedEnds {
  readonly epoch: number;
}

interface EpochDocument {
  id: string;
  pk: 'epochs';
  rid: string;
  epoch: number;
  /**
   * The epoch since which lsns are in one order: a rewind raises the epoch, and its lsns stay comparable with earlier ones.
   */
  numbering: number;
  /** The moves of keys during which the epoch must stay (MOVE-V11), each as `MAP/ID`. */
  moves?: readonly string[];
  /** The rewinds that raised it, the newest last: effects below their positions are had again (ECHO-R5). */
  rewinds?: readonly Rewound[];
  /** When a host last confirmed the epoch. No code reads it: the write itself is the purpose. */
  confirmedAt?: string;
}

/**
 * The epoch of a source, stored in the state container. A container that was deleted and created again has another rid
 * and counts its lsn from the start. So its epoch is raised, and its versions win over those of the old container.
 */
export const currentEpoch = (state: Container, container: string, rid: string): Promise<number> =>
  ensureEpoch(state, container, rid, 0, { outdated: (stored) => stored.rid !== rid });

/**
 * Raises the epoch above `known`, once for all hosts: for changes that are to count as newer when they are read again.
 * `moving`: for keys that move to the container, which no move of other keys minds. `from`: where the leases were, if
 * they are moved back.
 * @throws MillraceError `epoch-held`
 */
export const raiseEpoch = (
  state: Container,
  container: string,
  rid: string,
  known: number,
  { moving = false, from }: { readonly moving?: boolean; readonly from?: FeedEnds } = {},
): Promise<number> =>
  ensureEpoch(state, container, rid, known, {
    from,
    outdated: (stored) => {
      const isOutdated = stored.rid !== rid || stored.epoch <= known;
      if (isOutdated && !moving) refuseHeld(container, rid, stored);
      return isOutdated;
    },
  });

function refuseHeld(container: string, rid: string, { moves = [], ...stored }: EpochDocument): void {
  if (stored.rid !== rid || moves.length === 0) return;
  throw feedError('epoch-held', `Keys of ${container} move: ${moves.join(', ')}`);
}

/** For a check before the epoch is raised. @throws MillraceError `epoch-held` */
export async function assertEpochFree(state: Container, container: string, rid: string): Promise<void> {
  const stored = await readItem<EpochDocument>(state.item(container, 'epochs'));
  if (stored) refuseHeld(container, rid, stored);
}

/** Keeps the epoch as it is while keys move, and returns it. `move` is `MAP/ID`. */
export async function holdEpoch(state: Container, container: string, rid: string, move: string): Promise<number> {
  await currentEpoch(state, container, rid);
  const at = { id: container, pk: 'epochs' };
  const { after } = await rewrite(state, at, (stored?: EpochDocument): EpochDocument => {
    if (stored?.rid !== rid)
      throw feedError('container-replaced', `${container} was deleted and created again while its keys were to move`);
    const { moves = [] } = stored;
    return moves.includes(move) ? stored : { ...bodyOf(stored), moves: [...moves, move] };
  });
  return after.epoch;
}

const bodyOf = (stored: EpochDocument): EpochDocument => withoutSystemFields(stored) as unknown as EpochDocument;

/** The moves that hold an epoch. */
export async function epochHeldBy(state: Container, container: string): Promise<readonly string[]> {
  return (await readItem<EpochDocument>(state.item(container, 'epochs')))?.moves ?? [];
}

/** Lets an epoch go that moves have held, those of which `isOver` says so. */
export async function letEpochGo(
  state: Container,
  container: string,
  isOver: (move: string) => boolean,
): Promise<void> {
  await rewrite(state, { id: container, pk: 'epochs' }, (stored?: EpochDocument): EpochDocument | undefined => {
    const { moves = [] } = stored ?? {};
    const left = moves.filter((move) => !isOver(move));
    if (!stored || left.length === moves.length) return stored;
    const { moves: _, ...rest } = bodyOf(stored);
    return left.length === 0 ? rest : { ...rest, moves: left };
  });
}

/** The same for a container that lost changes and uses their lsns again (PROC-L3b). */
export const renumber = (state: Container, container: string, rid: string, known: number): Promise<number> =>
  ensureEpoch(state, container, rid, known, {
    outdated: (stored) => stored.rid !== rid || stored.epoch <= known,
    renumbered: true,
  });

/**
 * Whether the lsns of two epochs of one container are in one order. `later` is an epoch that a host reads in, so an older
 * answer is a replica that lags (ASM-A3), and is asked again.
 */
export async function areInOneOrder(
  state: Container,
  container: string,
  { rid, epoch }: { readonly rid: string; readonly epoch: number },
  later: number,
  clock: Clock = systemClock,
): Promise<boolean> {
  for (;;) {
    const stored = await readItem<EpochDocument>(state.item(container, 'epochs'));
    if (!stored) return false;
    if (stored.epoch >= later) return stored.rid === rid && stored.numbering <= epoch;
    await clock.sleep(STALE_MS);
  }
}

/** The epoch of each container for which one is stored, by name. Changes nothing. */
export async function storedEpochs(
  state: Container,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, { readonly rid: string; readonly epoch: number }>> {
  const found = new Map<string, EpochDocument>();
  const all = fetchAll<EpochDocument>(state, 'SELECT * FROM c', signal, { partitionKey: 'epochs' });
  for await (const one of all) found.set(one.id, one);
  return found;
}

/** Whether a container may have used lsns of an epoch again since: it lost changes, or a recovery assumed so. */
export async function isRenumbered(
  state: Container,
  container: string,
  { rid, epoch }: { readonly rid: string; readonly epoch: number },
): Promise<boolean> {
  const stored = await readItem<EpochDocument>(state.item(container, 'epochs'));
  return stored?.rid === rid && stored.numbering > epoch;
}

/**
 * The stored epoch, at least `known`. Changes nothing. For Functions batches: their host is paused while leases are moved,
 * for longer than a replica lags. For a container that was created again it returns `known`; the read of the feed detects
 * that case.
 */
export async function latestEpoch(state: Container, container: string, rid: string, known: number): Promise<number> {
  const stored = await readItem<EpochDocument>(state.item(container, 'epochs'));
  return stored?.rid === rid ? Math.max(known, stored.epoch) : known;
}

/**
 * The same for a host that has just taken a lease. Another process may have raised the epoch just before, as it must
 * before it moves leases back (LEASE-M12). A read may be older than that (ASM-A3). So a write confirms the epoch, on the
 * condition that no higher one is stored. Nearly always that is `known`, and no read is needed.
 */
export async function confirmedEpoch(
  state: Container,
  container: string,
  rid: string,
  known: number,
  clock: Clock = systemClock,
): Promise<number> {
  const item = state.item(container, 'epochs');
  for (let epoch = known; ;) {
    const confirm: PatchRequestBody = {
      condition: `from c where (c.rid != ${JSON.stringify(rid)} or c.epoch <= ${epoch}) and ${readableWhere('epoch')}`,
      operations: [{ op: 'set', path: '/confirmedAt', value: new Date(clock.now()).toISOString() }],
    };
    try {
      await withRetry(() => item.patch(confirm), { reads: true, clock });
      return epoch;
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'not-found') return epoch;
      if (kind !== 'precondition') throw error;
    }
    const stored = await latestEpoch(state, container, rid, known);
    // The refusal is newer than this read.
    if (stored === epoch) await clock.sleep(STALE_MS);
    epoch = stored;
  }
}

/** Returns the stored epoch. If it is outdated, stores an epoch above it and above `known`. */
async function ensureEpoch(
  state: Container,
  container: string,
  rid: string,
  known: number,
  {
    outdated,
    renumbered = false,
    from,
  }: { outdated: (stored: EpochDocument) => boolean; renumbered?: boolean; from?: FeedEnds | undefined },
): Promise<number> {
  const { after } = await rewrite(state, { id: container, pk: 'epochs' }, (stored?: EpochDocument): EpochDocument => {
    if (stored && !outdated(stored)) return stored;
    const epoch = Math.max(known, stored?.epoch ?? 0) + 1;
    const same = stored?.rid === rid && !renumbered;
    const numbering = same ? stored.numbering : epoch;
    const at = { id: container, pk: 'epochs', ...formatOf('epoch') } as const;
    const { moves } = stored ?? {};
    const rewinds = [...(same ? (stored.rewinds ?? []) : []), ...(from ? [{ ...from, epoch }] : [])].slice(
      -REWINDS_KEPT,
    );
    return { ...at, rid, epoch, numbering, ...(moves && { moves }), ...(rewinds.length > 0 && { rewinds }) };
  });
  return after.epoch;
}
