import type { Meter } from './meter.ts';
import { occurrences } from './occurrences.ts';

/** What stands for one character of a text: itself, any, or those that a set names. */
type One = string | typeof ANY | CharacterSet;
const ANY = Symbol('_');

interface CharacterSet {
  readonly ranges: readonly (readonly [from: string, to: string])[];
  /** `[^…]`: those that it doesn't name. */
  readonly negated: boolean;
}

/** What stands between two `%`; a text where each character stands for itself. */
type Piece = string | readonly One[];

export type LikePattern = readonly Piece[];

/** What it costs to compare one character, and to look for a text at one place. */
const PLACE_STEPS = 10;
const SEARCH_STEPS = 2;

/** LIKE's pattern: `%` any text, `_` one character, `[a-f]` and `[^a-f]` sets. */
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
 * Whether the whole text is as the pattern says. The first piece begins it and the last one ends it; of the others each
 * is taken where it is found first, as no later place would leave more for those behind it. So nothing is tried twice.
 */
export function isLike(text: string, pattern: LikePattern, meter: Meter): boolean {
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

function find(text: string, piece: Piece, from: number, meter: Meter): number {
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

function standsAt(text: string, piece: Piece, at: number, meter: Meter): boolean {
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
