import { isBound } from '../sql/restrictions.ts';
import type { Bound, Restriction } from '../sql/restrictions.ts';
import type { Container } from './container.ts';
import type { Item, Version } from './item.ts';
import type { WireKey } from './keys.ts';
import type { LogicalPartition } from './partition.ts';
import { covers } from './target.ts';
import type { Target } from './target.ts';
import type { View } from './view.ts';

const MAX_KEY_COMBINATIONS = 1000;

/** The versions that can match: by id and key where the query restricts those, else all of the target's. */
export function* candidates(
  container: Container,
  target: Target,
  restrictions: readonly Restriction[],
  view: View,
): Generator<Version, void> {
  const ids = bounds(restrictions).find(({ path, values }) => values && path.length === 1 && path[0] === 'id')?.values;
  const indexed = ids ? undefined : byIndex(container, target, restrictions, view);
  if (indexed) {
    for (const item of indexed) {
      if (!covers(target, item.home)) continue;
      const version = view.read(item.home, item.id);
      if (version) yield version;
    }
    return;
  }
  const wanted = ids && [...new Set(ids.filter((id) => typeof id === 'string'))];
  for (const home of homes(container, target, restrictions, view)) {
    if (!wanted) {
      yield* view.versions(home);
      continue;
    }
    for (const id of wanted) {
      const version = view.read(home, id);
      if (version) yield version;
    }
  }
}

/** What the most selective of the usable indexes finds; undefined where looking at everything is as well. */
function byIndex(
  container: Container,
  target: Target,
  restrictions: readonly Restriction[],
  view: View,
): Item[] | undefined {
  if (view.lags || target.key || keysOf(container, restrictions)) return undefined;
  const found = lookUp(container, restrictions);
  return found && [...found].toSorted((a, b) => a.seq - b.seq);
}

function lookUp(container: Container, restrictions: readonly Restriction[]): ReadonlySet<Item> | undefined {
  let best: ReadonlySet<Item> | undefined;
  for (const restriction of restrictions) {
    const found = isBound(restriction) ? bounded(container, restriction) : united(container, restriction.anyOf);
    if (found && (!best || found.size < best.size)) best = found;
  }
  return best;
}

function bounded(container: Container, bound: Bound): ReadonlySet<Item> | undefined {
  const plain = bound.values?.every((value) => value === null || typeof value !== 'object') ?? true;
  const index = plain ? container.indexOn(bound.path) : undefined;
  return index && new Set(index.find(bound));
}

/** What any of the alternatives finds, if each of them has an index. */
function united(
  container: Container,
  alternatives: readonly (readonly Restriction[])[],
): ReadonlySet<Item> | undefined {
  const all = new Set<Item>();
  for (const alternative of alternatives) {
    const found = lookUp(container, alternative);
    if (!found) return undefined;
    for (const item of found) all.add(item);
  }
  return all;
}

function* homes(
  container: Container,
  target: Target,
  restrictions: readonly Restriction[],
  view: View,
): Generator<LogicalPartition, void> {
  const keys = target.key ? [target.key] : keysOf(container, restrictions);
  if (!keys) {
    for (const home of view.homes()) if (covers(target, home)) yield home;
    return;
  }
  for (const key of keys) {
    // A partition that was emptied a moment ago may still be seen by a lagging replica.
    const home = container.find(key) ?? container.open(key);
    if (covers(target, home)) yield home;
  }
}

const bounds = (restrictions: readonly Restriction[]): readonly Bound[] => restrictions.filter(isBound);

/** The full keys that the restrictions leave, if they name every level. */
export function keysOf(container: Container, restrictions: readonly Restriction[]): WireKey[] | undefined {
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
