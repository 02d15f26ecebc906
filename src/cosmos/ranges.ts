/** A range of effective partition keys, [min, max), in upper-case hex. The whole container is ['', 'FF'). */
export interface FeedRange {
  readonly min: string;
  readonly max: string;
}

export const FULL_RANGE: FeedRange = { min: '', max: 'FF' };

export const rangeId = (range: FeedRange): string => `${range.min}-${range.max}`;

/** For people: the whole range is 00-FF. */
export const sayRange = ({ min, max }: FeedRange): string => `${min || '00'}-${max}`;
