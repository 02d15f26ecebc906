// Keys from one to another, as codes.

/** Keys from `low` up to `high`, without `high`; absent: up to the end. A single key has its code in both. */
export interface Span {
  readonly low: string;
  readonly high?: string;
}

/** No key is in it. */
export const NO_KEYS: Span = { low: '\uFFFF', high: '' };

export const covers = ({ low, high }: Span, code: string): boolean =>
  code === low || (low <= code && (high === undefined || code < high));

export const isSameSpan = (one: Span, other: Span): boolean => one.low === other.low && one.high === other.high;

/** Whether two spans have a key in common. */
export const overlaps = (one: Span, other: Span): boolean => covers(one, other.low) || covers(other, one.low);

/** The spans without the keys of others. */
export const without = (spans: readonly Span[], taken: readonly Span[]): readonly Span[] =>
  taken.reduce<readonly Span[]>((left, one) => left.flatMap((span) => cut(span, one)), spans);

function cut(span: Span, taken: Span): Span[] {
  if (!overlaps(span, taken)) return [span];
  const { low, high } = taken;
  const isInside = high !== undefined && high !== low && (span.high === undefined || high < span.high);
  return [...(span.low < low ? [{ low: span.low, high: low }] : []), ...(isInside ? [{ ...span, low: high }] : [])];
}

/** The keys of both, in order, and neighbours as one. */
export function joined(spans: readonly Span[], added: readonly Span[]): readonly Span[] {
  const all: Span[] = [];
  const sorted = [...without(spans, added), ...added].toSorted((a, b) => (a.low < b.low ? -1 : 1));
  for (const { low, high } of sorted) {
    const before = all.at(-1);
    const isNext = before?.high === low && before.low !== low;
    if (isNext) all.pop();
    all.push({ low: isNext ? before.low : low, ...(high !== undefined && { high }) });
  }
  return all;
}
