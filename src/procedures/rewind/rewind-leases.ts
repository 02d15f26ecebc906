import { systemClock } from '../../base/clock.ts';
import { assertEpochFree, currentEpoch, raiseEpoch } from '../../feed/reading/epochs.ts';
import type { LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { ownContent } from '../../feed/leases/lease-document.ts';
import { javaState } from '../../feed/leases/dialects/java-token.ts';
import type { LeaseContainer } from '../../feed/leases/lease-container.ts';
import type { FeedEnds } from '../../feed/reading/ends.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import type { Context, Plan } from '../context.ts';
import type { LeaseGroup, LeaseInventory, StoredLease } from '../leases/groups.ts';
import { looksDuring, untilLeasesRest } from './until-quiet.ts';
import { createDocument, deleteLease, deleteMarker, replaceLease } from './write-leases.ts';
import { operationsError } from '../errors.ts';

/** A lease and its new position: a quoted LSN, or `beginning`, for which the lease is deleted. */
export interface Move {
  readonly group: LeaseGroup;
  readonly lease: StoredLease;
  readonly to: string;
}

/** True if changes that were acknowledged would be delivered again. */
export const goesBack = ({ lease, to }: Move): boolean =>
  lease.position !== undefined && (to === 'beginning' || lsnOf(to) < lsnOf(lease.position));

/** For people and audit records: `Orders 0: "120" → "57"`. */
export const moveText = ({ group, lease, to }: Move): string =>
  `${group.monitored?.container.id ?? group.prefix} ${lease.token}: ${lease.position ?? '(none)'} → ${to}`;

/** Moves, as the result of an operation. */
export const movedRows = (moves: readonly Move[]): { lease: string; from: string | null; to: string; text: string }[] =>
  moves.map((move) => ({
    lease: move.lease.id,
    from: move.lease.position ?? null,
    to: move.to,
    text: moveText(move),
  }));

/** A position in the lease's own dialect. */
export function positionFields(lease: StoredLease, rid: string, position: string): Partial<LeaseDocument> {
  if (lease.dialect !== 'java-epk') return { ContinuationToken: position };
  if (!lease.range) throw operationsError('lease-unresolved', `The range of lease ${lease.id} is unknown`);
  return { ContinuationToken: javaState(rid, lease.range, lease.mode, position) };
}

const NOTHING_YET = 'Nothing was overwritten.';
const DONE_ALREADY = 'The new positions were already written. The host may overwrite them with its old ones.';

export interface Procedure {
  readonly prefixes: readonly string[];
  readonly expirationMs: number;
}

/**
 * Runs `act`, which changes leases of hosts that we don't control, only while these hosts are stopped (LEASE-M7): no lease
 * may be written for two expirations before `act`, nor for one after. All writes of `act` must be conditional.
 */
export async function whileStopped<T>(
  container: LeaseContainer,
  { prefixes, expirationMs }: Procedure,
  { clock = systemClock, screen, signal }: Pick<Context, 'clock' | 'screen' | 'signal'>,
  act: () => Promise<T>,
): Promise<T> {
  const wait = { prefixes, clock, screen, signal };
  const before = 'Waiting until no host has written the leases (s)';
  await untilLeasesRest(container, { ...wait, forMs: 2 * expirationMs, what: before, sofar: NOTHING_YET });
  const result = await act();
  const after = 'Checking that no host writes them with an old position (s)';
  await untilLeasesRest(container, { ...wait, forMs: expirationMs, what: after, sofar: DONE_ALREADY });
  return result;
}

/** What is to be moved, as it was read. */
export interface Moving {
  readonly inventory: Pick<LeaseInventory, 'leases'>;
  readonly moves: readonly Move[];
}

/**
 * Whether hosts of ours had all leases last, and gave them back. Then no host has a position in memory: one that starts
 * takes a lease as it is stored, and the ETags notice it.
 */
const areGivenBack = (moves: readonly Move[]): boolean =>
  moves.every(({ group }) =>
    group.leases.every(({ owner, document }) => {
      const { tenure, takenFrom } = ownContent({ ...document });
      return group.own && owner === null && tenure !== undefined && !takenFrom;
    }),
  );

const prefixesOf = (moves: readonly Move[]): string[] => [...new Set(moves.map(({ group }) => group.prefix))];

/**
 * Moves what `prepare` reads: at once if hosts of ours gave the leases back (LEASE-M7), else while their hosts are stopped.
 * Hosts of this process are stopped for it, and start again.
 */
export function moveByHand(
  prepare: () => Promise<Moving>,
  expirationMs: number,
  context: Context,
): Promise<readonly Move[]> {
  const move = async ({ inventory, moves }: Moving): Promise<readonly Move[]> => {
    await moveLeases(inventory.leases, moves, () => raiseEpochs(context, moves));
    return moves;
  };
  const act = async (): Promise<readonly Move[]> => {
    const first = await prepare();
    if (areGivenBack(first.moves)) return move(first);
    const procedure = { prefixes: prefixesOf(first.moves), expirationMs };
    return whileStopped(first.inventory.leases, procedure, context, async () => move(await prepare()));
  };
  return context.workspace.whileHostsRest?.(act) ?? act();
}

/** What `moveByHand` would do. `then`: what follows from the moves. */
export function planByHand(
  moves: readonly Move[],
  expirationMs: number,
  { workspace }: Pick<Context, 'workspace'>,
  then: readonly string[],
): Plan {
  const steps = [...moves.map(moveText), ...then];
  const { ru, seconds } = costOf(moves.length, { prefixes: prefixesOf(moves), expirationMs });
  if (workspace.whileHostsRest)
    return { steps: ['stop the host of this run', ...steps, 'start it again'], ru: moves.length * MOVE_RU };
  if (areGivenBack(moves)) return { steps, ru: moves.length * MOVE_RU };
  return {
    steps: [
      'wait until no host has written the leases for two expirations; stop their hosts first',
      ...steps,
      'wait one more expiration',
    ],
    ru,
    seconds,
  };
}

/** Two writes: the claim and the new position. */
const MOVE_RU = 21;

/** Request units and seconds of the procedure, for `--dry-run`: a replace takes 10.5 RU, a query 3 RU. */
export const costOf = (leases: number, { prefixes, expirationMs }: Procedure): { ru: number; seconds: number } => ({
  ru: Math.ceil(leases * MOVE_RU + 3 * prefixes.length * (looksDuring(2 * expirationMs) + looksDuring(expirationMs))),
  seconds: Math.ceil((3 * expirationMs) / 1000),
});

/**
 * Moves all leases or none. First each lease is written without an owner, which fails if a host still writes it; then
 * each gets its new position. If a host writes one meanwhile, the leases that were already moved are restored.
 * @throws HostRuns (412), with every position restored; UsageError `leases-half-moved` if that failed for some
 */
export async function moveLeases(
  container: LeaseContainer,
  moves: readonly Move[],
  beforeWriting: () => Promise<void> = async () => {},
): Promise<void> {
  const claimed: { move: Move; stored: StoredLease['document'] }[] = [];
  for (const move of moves)
    claimed.push({ move, stored: await replaceLease(container, move.lease.document, { Owner: null }, NOTHING_YET) });
  await beforeWriting();
  // Without the marker hosts create missing leases; with it they would wait for ever for a deleted lease.
  for (const prefix of new Set(moves.filter(({ to }) => to === 'beginning').map(({ group }) => group.prefix)))
    await deleteMarker(container, prefix);
  const undo: (() => Promise<void>)[] = [];
  try {
    for (const { move, stored } of claimed) {
      const { group, lease, to } = move;
      if (to === 'beginning') {
        await deleteLease(container, stored, NOTHING_YET);
        undo.push(() => createDocument(container, stored));
      } else {
        const fields = positionFields(lease, group.monitored?.rid ?? '', to);
        const written = await replaceLease(container, stored, fields, NOTHING_YET);
        const { ContinuationToken } = stored;
        undo.push(async () => void (await replaceLease(container, written, { ContinuationToken }, NOTHING_YET)));
      }
    }
  } catch (error) {
    const put = await Promise.allSettled(undo.map((back) => back()));
    const lost = put.filter(({ status }) => status === 'rejected').length;
    if (lost === 0) throw error;
    throw operationsError(
      'leases-half-moved',
      `A host started while leases were moved: ${lost} of ${moves.length} have their new position, and the host reads from it`,
      { cause: error },
    );
  }
}

/** Raises the epoch of the pipeline's own containers whose leases go back, so that versions read again count as newer (PROC-L3). */
export async function raiseEpochs({ workspace }: Pick<Context, 'workspace'>, moves: readonly Move[]): Promise<void> {
  const { state } = (await workspace.services()).place;
  for (const [name, rid] of ownGoingBack(moves)) {
    const from = await positionsBefore(
      moves.filter(({ group }) => group.own && group.monitored?.container.id === name),
    );
    await raiseEpoch(state, name, rid, await currentEpoch(state, name, rid), from ? { from } : {});
  }
}

/** Where the leases are that go back. */
async function positionsBefore(moves: readonly Move[]): Promise<FeedEnds | undefined> {
  const back = moves.filter(goesBack);
  const definition = (await back[0]?.group.monitored?.container.read())?.resource?.partitionKey;
  const ranges = back.flatMap(({ lease }) => (lease.range ? [{ ...lease.range, lsn: lsnOf(lease.position) }] : []));
  return definition && { key: { paths: definition.paths, ...keyHash(definition) }, ranges };
}

/** The same as a check, before anyone waits. @throws MillraceError `epoch-held` while keys move from or to a container */
export async function assertEpochsFree({ workspace }: Pick<Context, 'workspace'>, moves: readonly Move[]) {
  const { state } = (await workspace.services()).place;
  for (const [name, rid] of ownGoingBack(moves)) await assertEpochFree(state, name, rid);
}

/** The pipeline's own containers in which a lease goes back, with their `_rid`. */
const ownGoingBack = (moves: readonly Move[]): ReadonlyMap<string, string> =>
  new Map(
    moves.flatMap((move) => {
      const { own, monitored } = move.group;
      return own && goesBack(move) && monitored ? [[monitored.container.id, monitored.rid] as const] : [];
    }),
  );
