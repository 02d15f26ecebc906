import { evenBoundaries } from '../../../cosmos/effective-partition-key.ts';
import type { StoredAccount } from '../storage/account.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { LogicalPartition } from '../storage/logical-partition.ts';
import { PhysicalPartition } from '../storage/physical-partition.ts';
import { badRequest } from '../wire/wire.ts';

/** The number of parts into which the key space of empty partitions can be cut. */
const FINEST = 4096;

/**
 * Cuts a physical partition in two, by default at `cutOf`. Both children continue the parent's lsn, so a position in the
 * parent is valid in each child.
 * @returns the children's ids
 */
export function split(
  account: StoredAccount,
  container: StoredContainer,
  parent: PhysicalPartition,
  at = cutOf(container, parent),
): [string, string] {
  const { min, max } = parent.range;
  const parents = [...parent.parents, parent.id];
  const first = nextId(container);
  const children = [
    new PhysicalPartition(String(first), { min, max: at }, parents, parent.lsn),
    new PhysicalPartition(String(first + 1), { min: at, max }, parents, parent.lsn),
  ] as const;
  const heir = (home: LogicalPartition): PhysicalPartition => children[home.epk < at ? 0 : 1];
  for (const child of children) child.forgottenLsn = parent.forgottenLsn;
  for (const child of children) child.undo = parent.undo.part(({ home }) => heir(home) === child);
  replace(account, container, [parent], children, heir);
  return [children[0].id, children[1].id];
}

/**
 * Makes one physical partition of two neighbours. It continues the higher of their lsns, so a position in either parent is
 * valid in it, for that parent's part of the range. Afterwards the feed refuses to start from a time.
 * @returns the new partition's id
 */
export function merge(
  account: StoredAccount,
  container: StoredContainer,
  rangeIds: readonly [string, string] | undefined,
): string {
  const pair = rangeIds?.map((id) => physicalPartitionOf(container, id)) ?? container.ranges.slice(0, 2);
  const [low, high] = pair.toSorted((a, b) => (a.range.min < b.range.min ? -1 : 1));
  if (!low || !high || low === high || low.range.max !== high.range.min) {
    throw badRequest('Only two neighbouring partition key ranges can be merged.');
  }
  if (container.allVersions) {
    throw badRequest('A container with the all-versions change feed can not be merged.');
  }
  const parents = [...new Set([...low.parents, ...high.parents, low.id, high.id])];
  const range = { min: low.range.min, max: high.range.max };
  const child = new PhysicalPartition(String(nextId(container)), range, parents, Math.max(low.lsn, high.lsn));
  child.undo.forget(child.lsn);
  container.merged = true;
  replace(account, container, [low, high], [child], () => child);
  return child.id;
}

/** The named partition; without a name the fullest one, and among equally full ones the one with the fewest splits. */
export function physicalPartitionOf(container: StoredContainer, rangeId: string | undefined): PhysicalPartition {
  const found =
    rangeId === undefined
      ? container.ranges.reduce((a, b) => ((weight(b) - weight(a) || a.parents.length - b.parents.length) > 0 ? b : a))
      : container.ranges.find(({ id }) => id === rangeId);
  if (found) return found;
  throw badRequest(
    `Container ${container.id} has no partition key range '${rangeId}': it has ${container.ranges.map(({ id }) => id).join(', ')}.`,
  );
}

const weight = ({ log }: PhysicalPartition): number => log.length;

/**
 * Where a partition is cut: at the median of its logical partitions or, without any, in the middle of its hash space.
 * Throws if it is too small.
 */
export function cutOf(container: StoredContainer, { range: { min, max }, id }: PhysicalPartition): string {
  const inside = (epk: string): boolean => epk > min && epk < max;
  const epks = [...container.logical.values()].map(({ epk }) => epk).filter(inside);
  const found = epks.length > 0 ? epks : evenBoundaries(FINEST, container.keys.definition.version).filter(inside);
  const at = found.toSorted()[found.length >>> 1];
  if (at === undefined) throw badRequest(`The partition key range '${id}' is too small to be split.`);
  return at;
}

const nextId = (container: StoredContainer): number =>
  1 + Math.max(...container.ranges.flatMap(({ id, parents }) => [id, ...parents]).map(Number));

function replace(
  account: StoredAccount,
  container: StoredContainer,
  parents: readonly PhysicalPartition[],
  children: readonly PhysicalPartition[],
  heir: (home: LogicalPartition) => PhysicalPartition,
): void {
  for (const parent of parents) {
    for (const version of parent.log) if (version.item.current === version) heir(version.item.home).append(version);
    for (const change of parent.changes) heir(change.home).changes.push(change);
  }
  for (const child of children) child.log.sort((a, b) => a.lsn - b.lsn);
  const at = container.ranges.indexOf(parents[0]!);
  container.ranges = container.ranges.toSpliced(at, parents.length, ...children);
  account.journal?.reshaped(container);
}
