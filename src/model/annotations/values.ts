// When two places of a document state the same value, whatever their units, letters and words.
import type { Annotation } from './annotations.ts';

/** Units by what they measure, in the smallest of them. */
const UNITS: readonly (readonly [measure: string, words: RegExp, factor: number])[] = [
  ['time', /^(?:ms|milli-?seconds?)$/, 1],
  ['time', /^(?:s|secs?|seconds?)$/, 1000],
  ['time', /^(?:m|mins?|minutes?)$/, 60_000],
  ['time', /^(?:h|hrs?|hours?)$/, 3_600_000],
  ['time', /^(?:d|days?)$/, 86_400_000],
  ['time', /^(?:w|weeks?)$/, 604_800_000],
  ['size', /^(?:b|bytes?)$/, 1],
  ['size', /^(?:kb|kib|kilobytes?)$/, 1e3],
  ['size', /^(?:mb|mib|megabytes?)$/, 1e6],
  ['size', /^(?:gb|gib|gigabytes?)$/, 1e9],
  ['size', /^(?:tb|tib|terabytes?)$/, 1e12],
  ['share', /^(?:%|percent)$/, 1],
  ['throughput', /^(?:rus?|rus?\/s|request units?)$/, 1],
];

const measureOf = (unit: string | undefined): { readonly measure: string; readonly factor: number } => {
  const word = unit?.toLowerCase().trim() ?? '';
  const known = UNITS.find(([, words]) => words.test(word));
  return known ? { measure: known[0], factor: known[2] } : { measure: word.replace(/s$/, ''), factor: 1 };
};

export type Stated =
  | { readonly kind: 'number'; readonly measure: string; readonly value: number }
  | { readonly kind: 'list'; readonly values: readonly string[] }
  | { readonly kind: 'text'; readonly text: string; readonly words: ReadonlySet<string> };

const SEPARATORS = /\s*(?:[,;|/]|→|->|\bor\b|\band\b)\s*/i;

/** `queued, processing and done` as its values; undefined for what is no list of single words. */
export function listOf(text: string): readonly string[] | undefined {
  const values = text
    .replaceAll(/^[\s[({]+|[\s\])}.]+$/g, '')
    .split(SEPARATORS)
    .map((value) => value.replaceAll(/^["'`]|["'`]$/g, '').trim())
    .filter(Boolean);
  return values.length >= 2 && values.every((value) => /^[\p{L}\p{N}][\p{L}\p{N}_.:@-]*$/u.test(value))
    ? values
    : undefined;
}

const LITTLE = new Set('a an the of per for each in on to by and or is are with from at as it its that one'.split(' '));

export function statedOf({ value, unit }: Pick<Annotation<'fact'>, 'value' | 'unit'>): Stated {
  const { measure, factor } = measureOf(unit);
  if (typeof value === 'number') return { kind: 'number', measure, value: value * factor };
  const text = String(value).trim();
  const [, digits, word] = /^[~≈<>=]*\s*(-?\d[\d,]*(?:\.\d+)?)\s*([a-z%/-]*)$/i.exec(text) ?? [];
  if (digits !== undefined) {
    const own = word ? measureOf(word) : { measure, factor };
    return { kind: 'number', measure: own.measure, value: Number(digits.replaceAll(',', '')) * own.factor };
  }
  const values = listOf(text);
  if (values) return { kind: 'list', values };
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return {
    kind: 'text',
    text: text.toLowerCase().replaceAll(/["'`\s]+/g, ' '),
    words: new Set(words.filter((one) => !LITTLE.has(one))),
  };
}

/** Two numbers that differ by rounding alone are the same. */
const near = (a: number, b: number): boolean =>
  a === b || Math.abs(a - b) <= 0.001 * Math.max(Math.abs(a), Math.abs(b));

/** Whether two statements can both be true. Those that can't be compared can. */
export function agree(a: Stated, b: Stated): boolean {
  if (a.kind === 'number' && b.kind === 'number') return a.measure !== b.measure || near(a.value, b.value);
  if (a.kind === 'list' && b.kind === 'list')
    return a.values.length === b.values.length && a.values.every((value) => b.values.includes(value));
  if (a.kind === 'text' && b.kind === 'text') {
    const [less, most] = a.words.size <= b.words.size ? [a, b] : [b, a];
    return (
      less.text === most.text || most.text.includes(less.text) || [...less.words].every((word) => most.words.has(word))
    );
  }
  return true;
}
