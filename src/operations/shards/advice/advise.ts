// Which keys to move so that shards have about the same, and which mappings to merge. Arithmetic alone: what keys weigh is
// measured elsewhere.
import { overlaps } from '../../../shards/keys/spans.ts';
import { type AdvisedMove, Layout, type Run, type Weighed, type WeighedKey, type WeighedMapping } from './layout.ts';

export interface Limits {
  /** Bytes from which a key gets a shard of its own. */
  readonly mostBytes?: number | undefined;
  /** Share of its shard from which a key is big. */
  readonly share: number;
  /** How many moves to advise at most, isolations left out. */
  readonly most: number;
}

export interface AdvisedMerge {
  readonly lower: WeighedMapping;
  readonly upper: WeighedMapping;
}

export interface Advice {
  /** Each of them gives one key a shard of its own. */
  readonly isolate: readonly AdvisedMove[];
  /** To follow in this order, after the isolations. */
  readonly move: readonly AdvisedMove[];
  readonly merge: readonly AdvisedMerge[];
}

/** A shard is even with the others up to this share above their mean. */
export const TOLERANCE = 0.1;
/** A cut of a mapping counts as this share of the mean: of two runs that are about as good, the one that cuts less. */
const CUT = 0.01;

export function advise(weighed: Weighed, limits: Limits): Advice {
  const layout = new Layout(weighed);
  const isolate = isolations(layout, limits);
  const move = evenOut(layout, limits);
  return { isolate, move, merge: merges(weighed, [...isolate, ...move]) };
}

/** Keys that no move of others can even out, because one alone is above the mean, and those over the limit in bytes. */
function isolations(layout: Layout, { mostBytes = Infinity, share }: Limits): AdvisedMove[] {
  const uneven = layout.mean(layout.shards) * (1 + TOLERANCE);
  const isBig = ({ weight, bytes }: WeighedKey, shard: string): boolean =>
    bytes >= mostBytes || (weight > uneven && weight >= share * layout.load(shard));
  const big = layout.mappings
    .filter(({ fixed }) => !fixed)
    .flatMap(({ keys, shard }) => keys.filter((key) => isBig(key, shard)))
    .toSorted((a, b) => b.weight - a.weight);
  const moves: AdvisedMove[] = [];
  for (const key of big) {
    const mapping = layout.mappings.find(({ keys }) => keys.includes(key))!;
    if (layout.onlyKey(mapping.shard)) continue;
    const at = mapping.keys.indexOf(key);
    const empty = layout.shards.find((shard) => layout.of(shard).length === 0);
    moves.push(layout.move({ mapping, first: at, last: at }, empty ?? layout.newShard()));
  }
  return moves;
}

/** From the fullest shard that can give something to the emptiest, until none is above the mean or nothing fits. */
function evenOut(layout: Layout, { mostBytes, most }: Limits): AdvisedMove[] {
  const moves: AdvisedMove[] = [];
  while (moves.length < most) {
    const among = sharing(layout, mostBytes).toSorted((a, b) => layout.load(b) - layout.load(a));
    const mean = layout.mean(among);
    const to = among.at(-1);
    if (to === undefined) break;
    const run = among
      .filter((shard) => layout.load(shard) > mean * (1 + TOLERANCE))
      .map((from) => bestRun(layout, { from, to, mean }))
      .find((one) => one !== undefined);
    if (!run) break;
    moves.push(layout.move(run, to));
  }
  return moves;
}

/** The shards that are evened out: without those that one big key has for itself. */
function sharing(layout: Layout, mostBytes = Infinity): readonly string[] {
  let among = layout.shards.filter((shard) => (layout.onlyKey(shard)?.bytes ?? 0) < mostBytes);
  for (;;) {
    const mean = layout.mean(among);
    const left = among.filter((shard) => layout.onlyKey(shard) === undefined || layout.load(shard) <= mean);
    if (left.length === among.length) return among;
    among = left;
  }
}

/** The keys whose weight comes nearest to what the one shard has too much, or the other one too little. */
function bestRun(
  layout: Layout,
  { from, to, mean }: { readonly from: string; readonly to: string; readonly mean: number },
): Run | undefined {
  const [full, empty] = [layout.load(from), layout.load(to)];
  const wanted = Math.min(full - mean, mean - empty);
  let best: { readonly run: Run; readonly score: number } | undefined;
  for (const mapping of layout.of(from)) {
    if (mapping.fixed) continue;
    for (const { run, weight } of runsNear(mapping, wanted)) {
      // With as much as the difference both shards would only change places.
      if (weight <= 0 || weight >= full - empty) continue;
      const cuts = Number(run.first > 0) + Number(run.last < mapping.keys.length - 1);
      const score = Math.abs(weight - wanted) + cuts * CUT * mean;
      if (!best || score < best.score) best = { run, score };
    }
  }
  return best?.run;
}

/** For each first key the longest run below a weight, and the next longer one. */
function* runsNear(mapping: WeighedMapping, wanted: number): Generator<{ readonly run: Run; readonly weight: number }> {
  const { keys } = mapping;
  let [end, weight] = [0, 0];
  for (let first = 0; first < keys.length; first += 1) {
    while (end < keys.length && (weight < wanted || end === first)) weight += keys[end++]!.weight;
    const last = end - 1;
    yield { run: { mapping, first, last }, weight };
    if (last > first) yield { run: { mapping, first, last: last - 1 }, weight: weight - keys[last]!.weight };
    weight -= keys[first]!.weight;
  }
}

/** Neighbours on one shard, of which nothing is moved. */
function merges({ mappings }: Weighed, moves: readonly AdvisedMove[]): AdvisedMerge[] {
  const stays = ({ span, fixed }: WeighedMapping): boolean =>
    !fixed && moves.every((move) => !overlaps(move.span, span));
  return mappings.flatMap((upper, at) => {
    const lower = mappings[at - 1];
    const meet = lower !== undefined && lower.shard === upper.shard && lower.span.high === upper.span.low;
    return meet && stays(lower) && stays(upper) ? [{ lower, upper }] : [];
  });
}
