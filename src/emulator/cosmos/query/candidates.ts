import { isBound, queryPathsOf } from '../../sql/restrictions.ts';
import type { QueryBound, Restriction } from '../../sql/restrictions.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { StoredItem, StoredVersion } from '../storage/logical-partition.ts';
import type { WireKey } from '../storage/keys.ts';
import type { LogicalPartition } from '../storage/logical-partition.ts';
import { storedCovers } from '../storage/target.ts';
import type { StoredTarget } from '../storage/target.ts';
import type { Replica } from '../storage/replica.ts';

const MAX_KEY_COMBINATIONS = 1000;
/** For more paths, building the indexes takes longer than reading everything once. */
const MAX_PATHS = 16;

/** From so many documents on, an index finds some of a container or a logical partition faster than reading it. */
export const LARGE = 1_000;
/** An index that finds more than one in so many isn't sorted: all are read in order, and the index says which to leave out. */
const DENSE = 8;

/**
 * The versions that can match, by ascending seq, beginning with `from`. They come by id and key or from an index if the
 * query restricts those, else they are all versions of the target.
 */
export function* candidates(
  container: StoredContainer,
  target: StoredTarget,
  restrictions: readonly Restriction[],
  replica: Replica,
  from: number,
  indexFrom: number,
): Generator<StoredVersion, void> {
  const ids = bounds(restrictions).find(({ path, values }) => values && path.length === 1 && path[0] === 'id')?.values;
  const keys = target.key ? [target.key] : candidateKeysOf(container, restrictions);
  const among = ids || keys ? [...homes(container, target, keys, replica)] : undefined;
  if (among && (ids || !isLarge(among, indexFrom))) {
    const wanted = ids && [...new Set(ids.filter((id) => typeof id === 'string'))];
    yield* versionsOf(among, wanted, replica, from);
    return;
  }
  const few = queryPathsOf(restrictions).size <= MAX_PATHS;
  const found = replica.lags || !few ? undefined : lookUp(container, restrictions, indexFrom);
  const near = among && new Set(among);
  const isIn = (home: LogicalPartition): boolean => storedCovers(target, home) && (!near || near.has(home));
  if (!found || found.count * DENSE > container.items.size) {
    // In order they come one by one, so a page costs what it gives, however many match.
    const all = among ? versionsOf(among, undefined, replica, from) : replica.all(from);
    for (const version of all) if ((!found || found.has(version.item)) && isIn(version.item.home)) yield version;
    return;
  }
  const items = [...new Set(found.items())].filter(({ seq, home }) => seq >= from && isIn(home));
  for (const { home, id } of items.toSorted((a, b) => a.seq - b.seq)) {
    const version = replica.read(home, id);
    if (version) yield version;
  }
}

const isLarge = (among: readonly LogicalPartition[], indexFrom: number): boolean =>
  among.reduce((sum, { items }) => sum + items.size, 0) >= indexFrom;

/** The versions with one of the ids, or all versions without `ids`. */
function versionsOf(
  among: Iterable<LogicalPartition>,
  ids: readonly string[] | undefined,
  replica: Replica,
  from: number,
): StoredVersion[] {
  const found: StoredVersion[] = [];
  for (const home of among) {
    const versions = ids ? ids.map((id) => replica.read(home, id)) : replica.versions(home);
    for (const version of versions) if (version && version.seq >= from) found.push(version);
  }
  return found.toSorted((a, b) => a.seq - b.seq);
}

/** What an index says of a restriction. Nothing is gathered before `items` is called. */
interface Found {
  /** How many items; of alternatives, each as often as it is in one. */
  readonly count: number;
  readonly items: () => Iterable<StoredItem>;
  readonly has: (item: StoredItem) => boolean;
}

/** What the most selective usable index finds; undefined if no index helps. */
function lookUp(container: StoredContainer, restrictions: readonly Restriction[], from: number): Found | undefined {
  let best: Found | undefined;
  for (const restriction of restrictions) {
    const found = isBound(restriction)
      ? bounded(container, restriction, from)
      : united(container, restriction.anyOf, from);
    if (found && (!best || found.count < best.count)) best = found;
  }
  return best;
}

function bounded(container: StoredContainer, bound: QueryBound, from: number): Found | undefined {
  const plain = bound.values?.every((value) => value === null || typeof value !== 'object') ?? true;
  const index = plain ? container.indexOn(bound.path, from) : undefined;
  return index && { count: index.count(bound), items: () => index.find(bound), has: (item) => index.has(item, bound) };
}

/** What any of the alternatives finds, if each of them has an index. */
function united(
  container: StoredContainer,
  alternatives: readonly (readonly Restriction[])[],
  from: number,
): Found | undefined {
  const each: Found[] = [];
  for (const alternative of alternatives) {
    const found = lookUp(container, alternative, from);
    if (!found) return undefined;
    each.push(found);
  }
  return {
    count: each.reduce((sum, { count }) => sum + count, 0),
    items: function* items() {
      for (const found of each) yield* found.items();
    },
    has: (item) => each.some((found) => found.has(item)),
  };
}

function* homes(
  container: StoredContainer,
  target: StoredTarget,
  keys: readonly WireKey[] | undefined,
  replica: Replica,
): Generator<LogicalPartition, void> {
  if (!keys) {
    for (const home of replica.homes()) if (storedCovers(target, home)) yield home;
    return;
  }
  for (const key of keys) {
    // A partition that was emptied a moment ago may still be seen by a lagging replica.
    const home = container.find(key) ?? container.open(key);
    if (storedCovers(target, home)) yield home;
  }
}

const bounds = (restrictions: readonly Restriction[]): readonly QueryBound[] => restrictions.filter(isBound);

/** The full keys that the restrictions leave, if they name every level. */
export function candidateKeysOf(
  container: StoredContainer,
  restrictions: readonly Restriction[],
): WireKey[] | undefined {
  let keys: WireKey[] = [[]];
  for (const steps of container.keys.steps) {
    const level = bounds(restrictions).find(
      ({ path, values }) => values && path.length === steps.length && path.every((step, i) => step === steps[i]),
    );
    if (!level) return undefined;
    const values = [...new Set(level.values!.filter((value) => value === null || typeof value !== 'object'))];
    keys = keys.flatMap((key) =>
      values.filter((value) => value !== undefined).map((value) => [...key, value as string]),
    );
    if (keys.length > MAX_KEY_COMBINATIONS) return undefined;
  }
  return keys;
}
