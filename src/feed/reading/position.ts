import { isObject } from '../../base/json.ts';
import { type FeedRange, sayRange } from '../../cosmos/ranges.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A range and the position up to which it was read: a quoted lsn. After splits and merges it is valid for any part. */
export interface RangePosition {
  readonly range: FeedRange;
  readonly position: string;
}

/** The lsn of a position; -1 for none. */
export const lsnOf = (position: string | undefined): number =>
  position === undefined || position === '' ? -1 : Number(position.replaceAll('"', ''));

export const positionAt = (lsn: number): string => `"${lsn}"`;

/** Where to continue a range by a checkpoint: the lowest position of the parts. Undefined if they don't cover the range. */
export function positionIn(range: FeedRange, saved: readonly RangePosition[]): string | undefined {
  let lowest: string | undefined;
  let missing: FeedRange[] = [range];
  for (const { range: of, position } of saved) {
    if (!overlaps(of, range)) continue;
    if (lowest === undefined || lsnOf(position) < lsnOf(lowest)) lowest = position;
    missing = missing.flatMap((one) => without(one, of));
  }
  return missing.length === 0 ? lowest : undefined;
}

/**
 * The continuation token of an SDK's pull iterator (`response.continuationToken` of `@azure/cosmos`) as positions.
 * @throws UsageError `continuation-invalid`
 */
export function parseContinuation(token: string): { rid: string | undefined; positions: RangePosition[] } {
  try {
    const parsed: unknown = JSON.parse(token);
    if (!isObject(parsed) || !Array.isArray(parsed['Continuation'])) throw new Error('it has no array "Continuation"');
    const positions = parsed['Continuation'].map((entry: unknown): RangePosition => {
      if (!isObject(entry)) throw new Error('an entry is not an object');
      const { minInclusive: min, maxExclusive: max, continuationToken: position } = entry;
      if (typeof min !== 'string' || typeof max !== 'string') throw new Error('an entry has no range');
      if (typeof position !== 'string' || !/^"\d+"$/.test(position))
        throw new Error(`the range ${sayRange({ min, max })} has no position`);
      return { range: { min, max }, position };
    });
    return { rid: typeof parsed['rid'] === 'string' ? parsed['rid'] : undefined, positions };
  } catch (error) {
    throw sharedError(
      'continuation-invalid',
      `The continuation is not a token of a change feed iterator: ${(error as Error).message}`,
      {
        cause: error,
        hint: 'Pass the `continuationToken` of an iterator over the whole container, or a saved checkpoint.',
      },
    );
  }
}

export const contains = (outer: FeedRange, inner: FeedRange): boolean =>
  outer.min <= inner.min && inner.max <= outer.max;

export const overlaps = (a: FeedRange, b: FeedRange): boolean => a.min < b.max && b.min < a.max;

export function intersection(a: FeedRange, b: FeedRange): FeedRange | undefined {
  const min = a.min > b.min ? a.min : b.min;
  const max = a.max < b.max ? a.max : b.max;
  return min < max ? { min, max } : undefined;
}

/** The parts of a range outside another one: none, one or two. */
export const without = (range: FeedRange, hole: FeedRange): FeedRange[] =>
  overlaps(range, hole)
    ? [
        { min: range.min, max: hole.min },
        { min: hole.max, max: range.max },
      ].filter(({ min, max }) => min < max)
    : [range];
