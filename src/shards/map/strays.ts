// Strays are keys whose documents may be in a shard though the map doesn't give them to it. Those that a shard loses become
// strays by the operation that takes them; those that it gains stop being strays. docs/SPEC-routing.md has why.
import { type KeySpan, joined, withoutSpan } from '../keys/spans.ts';
import type { LocalHeader, Strays, StraysChange } from './documents.ts';

/** More are not stored: the header would grow, which every validation reads. Queries are refused then. */
const MOST_STRAYS = 1_000;

type Fields = Pick<LocalHeader, 'strays' | 'arrivals'>;

/** The mappings that a shard loses, and those that it has then, at least what it gains. */
interface Change {
  readonly before: readonly KeySpan[];
  readonly after: readonly KeySpan[];
}

/** The header's fields after an operation of a generation. */
export function straysAfter(
  { strays = [], arrivals }: Fields,
  { before, after }: Change,
  { add, clear }: StraysChange,
  generation: number,
): Fields {
  const more = add === undefined || add === 'all' ? before : [...before, add];
  const less = clear === undefined || clear === 'all' ? after : [...after, clear];
  const next = add === 'all' ? 'unknown' : clear === 'all' ? [] : changed(strays, more, less);
  const arrived = add ? generation : arrivals;
  return { ...(next.length > 0 && { strays: next }), ...(arrived !== undefined && { arrivals: arrived }) };
}

/** The change that takes another one back. Which strays `all` cleared isn't known any more. */
export const reversed = ({ add, clear }: StraysChange): StraysChange => ({
  ...(clear && { add: clear }),
  ...(add && { clear: add }),
});

function changed(strays: Strays, more: readonly KeySpan[], less: readonly KeySpan[]): Strays {
  if (strays === 'unknown') return strays;
  const next = withoutSpan(joined(strays, more), less);
  return next.length > MOST_STRAYS ? 'unknown' : next;
}
