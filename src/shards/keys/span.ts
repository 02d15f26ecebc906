/** Codes of keys. A list map's mapping has one key: the same code in both. A range is `[low, high)`, without `high` up to the end. */
export interface Span {
  readonly low: string;
  readonly high?: string;
}

export const covers = ({ low, high }: Span, code: string): boolean =>
  code === low || (low <= code && (high === undefined || code < high));

/** Whether two spans have a key in common. */
export const overlaps = (one: Span, other: Span): boolean => covers(one, other.low) || covers(other, one.low);
