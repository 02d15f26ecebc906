import { UsageError } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { parseDate } from '../../definition/date.ts';
import { LagEstimator } from '../../feed/processor/estimator.ts';
import { ownContent } from '../../feed/leases/lease-document.ts';
import { intersection, lsnOf, positionAt, positionIn } from '../../feed/reading/position.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { assertCheckpointName, readCheckpoint } from '../checkpoints/store.ts';
import type { Services } from '../../runtime/workspace.ts';
import { type LeaseGroup, type Monitored, type StoredLease, monitoredOf } from './groups.ts';
import type { Move } from './move.ts';

/** Where leases are to be rewound to. */
export type Target =
  | { readonly kind: 'beginning' }
  | { readonly kind: 'time'; readonly at: Date }
  | { readonly kind: 'checkpoint'; readonly name: string }
  | { readonly kind: 'position'; readonly lsn: number };

/** @throws UsageError `input-invalid` */
export function parseTarget(text: string): Target {
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
  throw new UsageError('input-invalid', `--to ${text} is no place to rewind to`, {
    mend: 'Say beginning, a time such as 2026-06-03T12:00:00Z, checkpoint:NAME, or a lease’s token such as \'"123"\'.',
  });
}

/** The leases of a group, or the one with that token. */
export function chooseLeases(
  groups: readonly LeaseGroup[],
  token: string | undefined,
): { group: LeaseGroup; lease: StoredLease }[] {
  const all = groups.flatMap((group) => group.leases.map((lease) => ({ group, lease })));
  const chosen = token === undefined ? all : all.filter(({ lease }) => lease.token === token);
  if (chosen.length > 0) return chosen;
  const known = all.map(({ lease }) => lease.token);
  throw new UsageError('lease-unknown', `There is no lease ${token ?? ''} among these`, {
    mend: `There are: ${known.join(', ')}.`,
  });
}

/** What a lease's position becomes; leases that are there already, or before it, are left out: nothing is ever skipped. */
export async function movesBack(
  chosen: readonly { readonly group: LeaseGroup; readonly lease: StoredLease }[],
  target: Target,
  services: Services,
  signal: AbortSignal,
): Promise<Move[]> {
  if (target.kind === 'position' && chosen.length > 1) {
    throw new UsageError('input-invalid', 'A token is of one lease: an lsn says nothing in another partition', {
      mend: `Name it by --lease: ${chosen.map(({ lease }) => lease.token).join(', ')}.`,
    });
  }
  const saved = target.kind === 'checkpoint' ? (await readCheckpoint(services, target.name, signal)).sets : [];
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

/** The set of the same processor where it was saved, else the one of the container, whoever's it was. */
export function savedFor(
  sets: readonly {
    readonly prefix: string;
    readonly rid: string;
    readonly positions: readonly { range: FeedRange; position: string }[];
  }[],
  { prefix }: LeaseGroup,
  { rid, container }: Monitored,
  name: string,
): readonly { range: FeedRange; position: string }[] {
  const set = sets.find((of) => of.prefix === prefix) ?? sets[0];
  if (!set) {
    throw new UsageError(
      'checkpoint-other-container',
      `Checkpoint ${name} holds nothing of container ${container.id}`,
      { mend: '`millrace checkpoints list` shows what it holds; --container chooses among the pipeline’s.' },
    );
  }
  if (set.rid === rid) return set.positions;
  throw new UsageError(
    'checkpoint-other-container',
    `Checkpoint ${name} is of a container ${container.id} that was deleted since: its positions mean nothing in this one`,
    { mend: 'Rewind to a time or to the beginning.' },
  );
}

/** Its host would begin at now, and all that lies between would be lost; a time is looked up where deletions don't show. */
const noBeginning = ({ id }: StoredLease): UsageError =>
  new UsageError(
    'lease-all-versions',
    `Lease ${id} is of the all-versions feed, which has no beginning and can't be entered by a time`,
    { mend: 'Say checkpoint:NAME or a token: the feed keeps them for as long as its retention.' },
  );

export const notCovered = (name: string, { token }: StoredLease): UsageError =>
  new UsageError('checkpoint-incomplete', `Checkpoint ${name} holds no position for the whole of lease ${token}`, {
    mend: 'It was saved before that range was checkpointed: rewind to a time or to the beginning.',
  });

/** @throws UsageError `lease-unresolved` */
export function rangeOf(lease: StoredLease): FeedRange {
  if (lease.range) return lease.range;
  throw new UsageError(
    'lease-unresolved',
    `No partition of the container is or was called ${lease.token}, as lease ${lease.id} says`,
    { mend: 'It is of a container that was deleted and made again: delete the lease.' },
  );
}

/** Just before the first change since a time; of a range that is several partitions by now, the lowest of theirs. */
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
  throw new UsageError('lease-unresolved', `Container ${container.id} has no such range any more`, {
    mend: 'Look at it with `millrace leases check`; delete it if its range is none of the container’s.',
  });
}

/** How many transactions would be delivered again, at most; undefined where that can't be told. */
export async function readAgain(moves: readonly Move[]): Promise<number | undefined> {
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
