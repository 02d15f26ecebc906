import type { QueryMeter } from './meter.ts';
import { occurrences } from './occurrences.ts';

/** Matches one character of a text: a given one, any, or those of a set. */
type One = string | typeof ANY | CharacterSet;
const ANY = Symbol('_');

interface CharacterSet {
  readonly ranges: readonly (readonly [from: string, to: string])[];
  /** `[^…]`: the characters that the set doesn't name. */
  readonly negated: boolean;
}

/** The part between two `%`; a text if each of its characters matches only itself. */
type Piece = string | readonly One[];

export type LikePattern = readonly Piece[];

/** The cost of comparing one character, and of searching a text at one place. */
const PLACE_STEPS = 10;
const SEARCH_STEPS = 2;

/** Parses a LIKE pattern: `%` is any text, `_` one character, `[a-f]` and `[^a-f]` are sets. */
export function likePattern(pattern: string, escape: string | undefined): LikePattern {
  const pieces: One[][] = [[]];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    const piece = pieces.at(-1)!;
    const close = char === '[' ? pattern.indexOf(']', at + 2) : -1;
    if (char === escape && at + 1 < pattern.length) piece.push(pattern[++at]!);
    else if (char === '%') pieces.push([]);
    else if (char === '_') piece.push(ANY);
    else if (close > 0) {
      piece.push(setOf(pattern.slice(at + 1, close)));
      at = close;
    } else piece.push(char);
  }
  return pieces.map((piece) => (piece.every((one) => typeof one === 'string') ? piece.join('') : piece));
}

function setOf(inside: string): CharacterSet {
  const negated = inside.startsWith('^');
  const named = negated ? inside.slice(1) : inside;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < named.length; at++) {
    const ranged = named[at + 1] === '-' && at + 2 < named.length;
    ranges.push([named[at]!, ranged ? named[at + 2]! : named[at]!]);
    if (ranged) at += 2;
  }
  return { ranges, negated };
}

/**
 * Whether the whole text matches the pattern. The text begins with the first piece and ends with the last one. Each other
 * piece is matched at its first place, because a later place would leave less text for the following pieces. So nothing
 * is tried twice.
 */
export function isLike(text: string, pattern: LikePattern, meter: QueryMeter): boolean {
  const first = pattern[0]!;
  if (!standsAt(text, first, 0, meter)) return false;
  if (pattern.length === 1) return text.length === first.length;
  const last = pattern.at(-1)!;
  let at = first.length;
  for (const piece of pattern.slice(1, -1)) {
    const found = find(text, piece, at, meter);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && standsAt(text, last, text.length - last.length, meter);
}

function find(text: string, piece: Piece, from: number, meter: QueryMeter): number {
  if (piece.length === 0) return from;
  if (typeof piece === 'string') {
    const found = occurrences(text, piece, from).next();
    const end = found.done ? text.length : found.value + piece.length;
    meter.work((end - from + piece.length) * SEARCH_STEPS);
    return found.done ? -1 : found.value;
  }
  for (let at = from; at + piece.length <= text.length; at++) if (standsAt(text, piece, at, meter)) return at;
  return -1;
}

function standsAt(text: string, piece: Piece, at: number, meter: QueryMeter): boolean {
  meter.work(PLACE_STEPS);
  if (typeof piece === 'string') return text.startsWith(piece, at);
  if (at + piece.length > text.length) return false;
  let part = 0;
  while (part < piece.length && stands(piece[part]!, text[at + part]!)) part++;
  meter.work(part * PLACE_STEPS);
  return part === piece.length;
}

function stands(wanted: One, char: string): boolean {
  if (wanted === ANY) return true;
  if (typeof wanted === 'string') return wanted === char;
  return wanted.ranges.some(([from, to]) => from <= char && char <= to) !== wanted.negated;
}
