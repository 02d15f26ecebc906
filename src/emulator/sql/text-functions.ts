import { fn, isNumber, isString, isWholeNumber } from './fn.ts';
import type { Fn, Tools } from './fn.ts';
import { indexOf, occurrences } from './occurrences.ts';
import { rank } from './values.ts';

/** "REPLICATE" in the query reference. */
const MAX_REPLICATED = 10_000;
/** The cost of searching a text in another, for each character, of making it small letters, and of each place where it is found. */
const SEARCH_STEPS = 3;
const FOLD_STEPS = 4;
const FOUND_STEPS = 40;
/** The cost of splitting a text into its characters, and of parsing it as JSON. */
const REVERSE_STEPS = 60;
const PARSE_STEPS = 20;
const WRITE_STEPS = 5;

const text = (of: (value: string) => unknown): Fn => fn(1, 1, ([value]) => (isString(value) ? of(value) : undefined));

/** Two texts and an optional third argument: true ignores case. */
const search = (of: (text: string, part: string) => boolean): Fn =>
  fn(2, 3, ([a, b, ignoreCase = false], { meter }) => {
    if (!isString(a) || !isString(b) || typeof ignoreCase !== 'boolean') return undefined;
    meter.work((a.length + b.length) * (ignoreCase ? SEARCH_STEPS + FOLD_STEPS : SEARCH_STEPS));
    return ignoreCase ? of(a.toLowerCase(), b.toLowerCase()) : of(a, b);
  });

function find(value: unknown, part: unknown, from: unknown, { meter }: Tools): number | undefined {
  if (!isString(value) || !isString(part) || !isNumber(from)) return undefined;
  meter.work((value.length + part.length) * SEARCH_STEPS);
  return indexOf(value, part, from);
}

function substring(value: unknown, start: unknown, length: unknown): string | undefined {
  if (!isString(value) || !isNumber(start) || !isNumber(length)) return undefined;
  if (value === '') return '';
  if (!isWholeNumber(start) || !isWholeNumber(length)) return undefined;
  return length <= 0 || start < 0 ? '' : value.slice(start, start + length);
}

function lastOf(value: unknown, length: unknown): string | undefined {
  if (!isString(value) || !isWholeNumber(length)) return undefined;
  return length <= 0 ? '' : value.slice(-length);
}

/** An empty text is never found, so nothing is replaced. */
function replace(value: unknown, part: unknown, by: unknown, { meter }: Tools): string | undefined {
  if (!isString(value) || !isString(part) || !isString(by) || part === '') return undefined;
  meter.work((value.length + part.length) * SEARCH_STEPS);
  let count = 0;
  for (const _ of occurrences(value, part)) count++;
  meter.text(value.length + count * (by.length - part.length));
  meter.work(count * FOUND_STEPS);
  return split(value, part, meter).join(by);
}

function split(value: string, by: string, meter: Tools['meter']): string[] {
  meter.work((value.length + by.length) * SEARCH_STEPS);
  if (by === '') {
    meter.work(value.length * REVERSE_STEPS);
    return Array.from(value);
  }
  const pieces: string[] = [];
  let begin = 0;
  for (const at of occurrences(value, by)) {
    meter.work(FOUND_STEPS);
    pieces.push(value.slice(begin, at));
    begin = at + by.length;
  }
  return [...pieces, value.slice(begin)];
}

/** Whole repetitions only, of 10,000 characters at most. */
function replicate(value: unknown, times: unknown): string | undefined {
  if (!isString(value) || !isNumber(times) || times < 0) return undefined;
  const count = Math.trunc(times);
  return value.length * count <= MAX_REPLICATED ? value.repeat(count) : undefined;
}

function join(values: unknown, by: unknown, { meter }: Tools): string | undefined {
  if (!Array.isArray(values) || !isString(by) || !values.every(isString)) return undefined;
  meter.text(values.reduce((length, each) => length + each.length + by.length, 0));
  return values.join(by);
}

/** Removes the named characters, or white space, at the named sides. */
function trimming(sides: 'both' | 'left' | 'right'): Fn {
  return fn(1, 2, ([value, characters], { meter }) => {
    if (!isString(value) || (characters !== undefined && !isString(characters))) return undefined;
    const named = characters === undefined ? undefined : new Set(characters.split(''));
    meter.work(value.length * SEARCH_STEPS);
    const rest = sides === 'right' ? value : trimmedStart(value, named);
    return sides === 'left' ? rest : trimmedEnd(rest, named);
  });
}

function trimmedStart(value: string, characters: ReadonlySet<string> | undefined): string {
  if (!characters) return value.trimStart();
  let start = 0;
  while (start < value.length && characters.has(value[start]!)) start++;
  return value.slice(start);
}

function trimmedEnd(value: string, characters: ReadonlySet<string> | undefined): string {
  if (!characters) return value.trimEnd();
  let end = value.length;
  while (end > 0 && characters.has(value[end - 1]!)) end--;
  return value.slice(0, end);
}

function pad(side: 'padStart' | 'padEnd'): Fn {
  return fn(2, 3, ([value, length, filler = ' '], { meter }) => {
    if (!isString(value) || !isNumber(length) || !isString(filler)) return undefined;
    meter.text(length);
    return value[side](length, filler).slice(0, length);
  });
}

function toText(value: unknown, { meter }: Tools): string {
  if (isString(value)) return value;
  meter.text(meter.sizeOf(value));
  meter.work(meter.sizeOf(value) * WRITE_STEPS);
  return JSON.stringify(value);
}

const parsing = (wanted: (value: unknown) => boolean): Fn =>
  fn(1, 1, ([value], { meter }) => {
    if (!isString(value)) return undefined;
    // The parsed value needs more memory than the text.
    meter.make(4 * value.length);
    meter.work(value.length * PARSE_STEPS);
    try {
      const result: unknown = JSON.parse(value);
      return wanted(result) ? result : undefined;
    } catch {
      return undefined;
    }
  });

export const TEXT_FUNCTIONS: Readonly<Record<string, Fn>> = {
  STARTSWITH: search((a, b) => a.startsWith(b)),
  ENDSWITH: search((a, b) => a.endsWith(b)),
  CONTAINS: search((a, b) => indexOf(a, b) !== -1),
  STRINGEQUALS: search((a, b) => a === b),
  REGEXMATCH: fn(2, 3, ([a, b, modifiers = ''], { patterns }) =>
    isString(a) && isString(b) && isString(modifiers) ? patterns.test(a, b, modifiers) : undefined,
  ),
  REGEXEXTRACT: fn(2, 2, ([a, b], { patterns }) => (isString(a) && isString(b) ? patterns.extract(a, b) : undefined)),
  INDEX_OF: fn(2, 3, ([a, b, from = 0], tools) => find(a, b, from, tools)),
  LOWER: text((value) => value.toLowerCase()),
  UPPER: text((value) => value.toUpperCase()),
  TRIM: trimming('both'),
  LTRIM: trimming('left'),
  RTRIM: trimming('right'),
  LENGTH: text((value) => value.length),
  REVERSE: fn(1, 1, ([value], { meter }) => {
    if (!isString(value)) return undefined;
    meter.work(value.length * REVERSE_STEPS);
    return Array.from(value).toReversed().join('');
  }),
  LEFT: fn(2, 2, ([a, n]) => substring(a, 0, n)),
  RIGHT: fn(2, 2, ([a, n]) => lastOf(a, n)),
  SUBSTRING: fn(3, 3, ([a, start, length]) => substring(a, start, length)),
  REPLACE: fn(3, 3, ([a, b, c], tools) => replace(a, b, c, tools)),
  REPLICATE: fn(2, 2, ([a, n]) => replicate(a, n)),
  CONCAT: fn(2, 200, (args, tools) => join(args, '', tools)),
  LPAD: pad('padStart'),
  RPAD: pad('padEnd'),
  STRINGJOIN: fn(2, 2, ([list, by], tools) => join(list, by, tools)),
  STRINGSPLIT: fn(2, 2, ([a, b], { meter }) => (isString(a) && isString(b) ? split(a, b, meter) : undefined)),
  TOSTRING: fn(1, 1, ([value], tools) => toText(value, tools)),
  STRINGTONUMBER: parsing(isNumber),
  STRINGTOBOOLEAN: parsing((value) => typeof value === 'boolean'),
  STRINGTONULL: parsing((value) => value === null),
  STRINGTOARRAY: parsing(Array.isArray),
  STRINGTOOBJECT: parsing((value) => rank(value) === 6),
};
