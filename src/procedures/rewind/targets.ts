import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { parseDate } from '../../pipeline/date.ts';
import { LagEstimator } from '../../feed/processor/lag-estimator.ts';
import { ownContent } from '../../feed/leases/lease-document.ts';
import { intersection, lsnOf, positionAt, positionIn } from '../../feed/reading/position.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { type ComparedSet, assertCheckpointName, comparedSets, renumbered } from '../checkpoints/store.ts';
import type { Services } from '../../runtime/workspace.ts';
import { type LeaseGroup, type Monitored, type StoredLease, monitoredOf } from '../leases/groups.ts';
import type { Move } from './rewind-leases.ts';
import { operationsError } from '../errors.ts';

/** The point that leases are rewound to. */
export type RewindTarget =
  | { readonly kind: 'beginning' }
  | { readonly kind: 'time'; readonly at: Date }
  | { readonly kind: 'checkpoint'; readonly name: string }
  | { readonly kind: 'position'; readonly lsn: number };

/** @throws UsageError `input-invalid` */
export function parseTarget(text: string): RewindTarget {
  if (text === 'beginning') return { kind: 'beginning' };
  const name = /^checkpoint:(.+)$/.exec(text)?.[1];
  if (name !== undefined) {
    assertCheckpointName(name);
    return { kind: 'checkpoint', name };
  }
  const lsn = /^(?:token:)?"?(\d{1,15})"?$/.exec(text)?.[1];
  if (lsn !== undefined) return { kind: 'position', lsn: Number(lsn) };
  const at = parseDate(text);
  if (at !== undefined) return { kind: 'time', at: new Date(at) };
  throw operationsError('input-invalid', `--to ${text} is not a point to rewind to`, {
    hint: 'Give beginning, a time such as 2026-06-03T12:00:00Z, checkpoint:NAME, or a position such as \'"123"\'.',
  });
}

/** The leases of the groups, or the one with that token. */
export function chooseLeases(
  groups: readonly LeaseGroup[],
  token: string | undefined,
): { group: LeaseGroup; lease: StoredLease }[] {
  const all = groups.flatMap((group) => group.leases.map((lease) => ({ group, lease })));
  const chosen = token === undefined ? all : all.filter(({ lease }) => lease.token === token);
  if (chosen.length > 0) return chosen;
  const known = all.map(({ lease }) => lease.token);
  throw sharedError('not-found', `There is no lease ${token ?? ''}`, {
    hint: `Name one of: ${known.join(', ')}.`,
  });
}

/** The moves back to a target. Leases that are already at it, or before it, don't move: a rewind never skips changes. */
export async function movesBack(
  chosen: readonly { readonly group: LeaseGroup; readonly lease: StoredLease }[],
  target: RewindTarget,
  services: Services,
  signal: AbortSignal,
): Promise<Move[]> {
  if (target.kind === 'position' && chosen.length > 1) {
    throw operationsError(
      'input-invalid',
      'A position belongs to one lease: an LSN has no meaning in another partition',
      {
        hint: `Name the lease with --lease: ${chosen.map(({ lease }) => lease.token).join(', ')}.`,
      },
    );
  }
  const saved = target.kind === 'checkpoint' ? await comparedSets(services, target.name, signal) : [];
  const moves: Move[] = [];
  for (const { group, lease } of chosen) {
    const monitored = monitoredOf(group);
    if (lease.position === undefined) continue;
    if (lease.mode === 'all-versions' && (target.kind === 'beginning' || target.kind === 'time'))
      throw noBeginning(lease);
    if (target.kind === 'beginning') {
      moves.push({ group, lease, to: 'beginning' });
      continue;
    }
    const range = rangeOf(lease);
    let to: string | undefined;
    if (target.kind === 'position') to = positionAt(target.lsn);
    else if (target.kind === 'time') to = await positionAtTime(monitored, range, target.at, signal);
    else {
      const sets = saved.filter(({ container }) => container === monitored.container.id);
      to = positionIn(range, savedFor(sets, group, monitored, target.name));
      if (to === undefined) throw notCovered(target.name, lease);
    }
    if (lsnOf(to) < lsnOf(lease.position)) moves.push({ group, lease, to });
  }
  return moves;
}

/** The saved positions of the same processor, or, if there are none, those of another processor of the container. */
export function savedFor(
  sets: readonly ComparedSet[],
  { prefix }: LeaseGroup,
  { rid, container }: Monitored,
  name: string,
): readonly { range: FeedRange; position: string }[] {
  // Of a pipeline over shards, other places have containers of the same name.
  const set = sets.find((of) => of.prefix === prefix) ?? sets.find((of) => of.rid === rid) ?? sets[0];
  if (!set) {
    throw sharedError('position-unusable', `Checkpoint ${name} has no positions of container ${container.id}`);
  }
  if (set.renumbered) throw renumbered(name, container.id);
  if (set.rid === rid) return set.positions;
  throw sharedError(
    'position-unusable',
    `Checkpoint ${name} is from an earlier container ${container.id}, which was deleted: its positions have no meaning in this one`,
    { hint: 'Rewind to a time or to the beginning.' },
  );
}

/**
 * From the beginning, its host would start at the present and lose everything before. A time is looked up in the
 * latest-version feed, which does not show deletions.
 */
const noBeginning = ({ id }: StoredLease): UsageError =>
  sharedError(
    'all-versions-feed',
    `Lease ${id} belongs to the all-versions feed, which can't be read from the beginning or from a time`,
    { hint: 'Give checkpoint:NAME or a position. They are valid for as long as the feed’s retention.' },
  );

export const notCovered = (name: string, { token }: StoredLease): UsageError =>
  sharedError('position-unusable', `Checkpoint ${name} has no position for the whole range of lease ${token}`);

/** @throws UsageError `lease-unresolved` */
export function rangeOf(lease: StoredLease): FeedRange {
  if (lease.range) return lease.range;
  throw operationsError(
    'lease-unresolved',
    `Lease ${lease.id} names partition ${lease.token}, which its container does not have and never had`,
  );
}

/** The position before the first change since a time. If the range now has several partitions, the lowest of theirs. */
export async function positionAtTime(
  { container, partitions }: Monitored,
  range: FeedRange,
  at: Date,
  signal: AbortSignal,
): Promise<string> {
  const { source } = await openSource(container);
  let lowest: string | undefined;
  for (const of of partitions.ranges) {
    const slice = intersection(of, range);
    if (!slice) continue;
    const found = await source.resolve(slice, at, signal);
    if (lowest === undefined || lsnOf(found) < lsnOf(lowest)) lowest = found;
  }
  if (lowest !== undefined) return lowest;
  throw operationsError('lease-unresolved', `Container ${container.id} no longer has the range of this lease`, {
    hint: 'Run `millrace leases list --check`. Delete the lease if it reports that the container does not have its range.',
  });
}

/** The most transactions that can be delivered again; undefined if that is unknown. */
export async function readTargetsAgain(moves: readonly Move[]): Promise<number | undefined> {
  let sum = 0;
  for (const { group, lease, to } of moves) {
    const { container, rid } = monitoredOf(group);
    const estimator = new LagEstimator({ container, rid, mode: lease.mode, start: 'beginning' });
    const at = { range: rangeOf(lease), shared: ownContent(lease.document).shared };
    const [now, then] = [
      await estimator.lagOf({ ...at, position: lease.position }),
      await estimator.lagOf({ ...at, ...(to === 'beginning' ? {} : { position: to }) }),
    ];
    if (!now.known || !then.known) return undefined;
    sum += Math.max(0, then.changes - now.changes);
  }
  return sum;
}
