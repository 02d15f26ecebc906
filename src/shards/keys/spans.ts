// Keys from one to another, as codes.

/** Keys from `low` up to `high`, without `high`; absent: up to the end. A single key has its code in both. */
export interface KeySpan {
  readonly low: string;
  readonly high?: string;
}

/** No key is in it. */
export const NO_KEYS: KeySpan = { low: '\uFFFF', high: '' };

export const covers = ({ low, high }: KeySpan, code: string): boolean =>
  code === low || (low <= code && (high === undefined || code < high));

export const isSameSpan = (one: KeySpan, other: KeySpan): boolean => one.low === other.low && one.high === other.high;

/** Whether two spans have a key in common. */
export const spansOverlap = (one: KeySpan, other: KeySpan): boolean => covers(one, other.low) || covers(other, one.low);

/** The spans without the keys of others. */
export const withoutSpan = (spans: readonly KeySpan[], taken: readonly KeySpan[]): readonly KeySpan[] =>
  taken.reduce<readonly KeySpan[]>((left, one) => left.flatMap((span) => cut(span, one)), spans);

function cut(span: KeySpan, taken: KeySpan): KeySpan[] {
  if (!spansOverlap(span, taken)) return [span];
  const { low, high } = taken;
  const isInside = high !== undefined && high !== low && (span.high === undefined || high < span.high);
  return [...(span.low < low ? [{ low: span.low, high: low }] : []), ...(isInside ? [{ ...span, low: high }] : [])];
}

/** The keys of both, in order, and neighbours as one. */
export function joined(spans: readonly KeySpan[], added: readonly KeySpan[]): readonly KeySpan[] {
  const all: KeySpan[] = [];
  const sorted = [...withoutSpan(spans, added), ...added].toSorted((a, b) => (a.low < b.low ? -1 : 1));
  for (const { low, high } of sorted) {
    const before = all.at(-1);
    const isNext = before?.high === low && before.low !== low;
    if (isNext) all.pop();
    all.push({ low: isNext ? before.low : low, ...(high !== undefined && { high }) });
  }
  return all;
}
