// Grammars of the values after the labels. Each returns undefined for a value that it doesn't understand.
import { isObject } from '../../../base/json.ts';
import type { Container } from '../../model.ts';

const PATH = /(?<![\w/])\/[\p{L}_][\w\-\p{L}]*(?:\/[\p{L}\w][\w\-\p{L}]*)*/gu;
const INDEX_PATH = /(?<![\w/])\/(?:[\w\-\p{L}"]+|\*|\?|\[\])?(?:\/(?:[\w\-\p{L}"]+|\*|\?|\[\]))*/gu;
const FIELD = /^[\p{L}_][\w\p{L}]*(?:[./][\p{L}_][\w\p{L}]*)*$/u;

const codes = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
/** The value without its reason: up to a dash between blanks, a bracket, a semicolon or the end of the sentence. */
const head = (text: string): string => text.split(/\s[-–—]+\s|\s\(|;\s|\.\s/)[0] ?? '';

/** `/storeId`, `storeId - why`, `` `storeId`, `customerId` ``, `/a + /b`, `Hierarchical: [/a, /b]`; levels may be items. */
export function partitionKey(text: string, items: readonly string[]): string[] | undefined {
  if (/^\W*(?:n\/a|none|tbd)\W*$/i.test(text)) return undefined;
  const own = keyPaths(head(text).replace(/^[^:/`]*\b(hierarchical|composite|multihash|hpk|key)[^:/`]*:?/i, ''));
  if (own && own.length > 0) return own;
  const levels = items.map((item) => keyPaths(head(item).replace(/^[^:/`]*:/, '')));
  if (levels.length > 0 && levels.every((level) => level?.length === 1)) return levels.flatMap((level) => level ?? []);
  // "The container uses a simple key (`/id`) to": the only path of a sentence.
  const [only, ...others] = new Set(codes(text).filter((code) => /^\/[\w/]+$/.test(code)));
  return only !== undefined && others.length === 0 ? [only] : undefined;
}

function keyPaths(value: string): string[] | undefined {
  const paths = value.match(PATH);
  if (paths) return [...new Set(paths)];
  const quoted = codes(value);
  const names =
    quoted.length > 0
      ? quoted.flatMap((code) => code.replaceAll(/[[\]"']/g, '').split(/\s*,\s*/))
      : value.split(/\s*(?:,|\+|→|->|>|\band\b)\s*/).map((name) => name.replaceAll(/[[\]"']/g, '').trim());
  if (names.length === 0 || !names.every((name) => FIELD.test(name))) return undefined;
  return [...new Set(names.map((name) => `/${name.replaceAll('.', '/')}`))];
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, mo: 2_592_000, y: 31_536_000 };

/** Seconds; -1 if only items with a `ttl` expire; null for off. A month has 30 days, a year 365. */
export function ttl(text: string): number | null | undefined {
  const value = text
    .replaceAll(/[`*]|\b_|_\b/g, '')
    .replaceAll('秒', ' s ')
    .replaceAll(/日|天/g, ' d ');
  if (/^(none|off|disabled|no\b|not (set|used|enabled)|n\/?a\b)/i.test(value)) return null;
  // "Never expires (0)": the service refuses 0, and E7 says so.
  if (/^(never|no expiry|permanent)\b/i.test(value)) return /\b0\b/.test(value) ? 0 : null;
  if (/^(default_?ttl\s*[:=]\s*)?[-−–]1\b/i.test(value)) return -1;
  const seconds = /(?<![\d.])(\d[\d,_ ]*)\s*(s|sec|secs|seconds?)\b/i.exec(value);
  const unit = /(?<![\d.])(\d[\d,_.]*)\s*(minutes?|min|hours?|hrs?|h|days?|d|weeks?|months?|years?)\b/i.exec(value);
  const bare = /^(?:default_?ttl\s*[:=]\s*)?(\d[\d,_]*)\b/i.exec(value);
  if (seconds) return number(seconds[1]);
  if (bare && !(unit && unit.index === bare.index)) return number(bare[1]);
  if (unit) return number(unit[1]) * (UNITS[unitOf(unit[2] ?? '')] ?? 1);
  if (/^(on|enabled|yes)\b|per[- ](item|document)/i.test(value)) return -1;
  // "Set by `AUDIT_TTL_DAYS` (default 90)".
  const [, named] = /[A-Z]_(DAYS|HOURS|MINUTES|SECONDS)\b/.exec(text) ?? [];
  const [, fallback] = /\bdefaults?(?:\s+to|\s+is)?\W{0,3}(\d+)/i.exec(value) ?? [];
  if (named !== undefined && fallback !== undefined) return number(fallback) * (UNITS[unitOf(named)] ?? 1);
  return undefined;
}

const unitOf = (word: string): string => (/^mo/i.test(word) ? 'mo' : word.charAt(0).toLowerCase());
const number = (text = ''): number => Number(text.replaceAll(/[,_ ]/g, ''));

/** RU/s: `Autoscale 1,000–10,000 RU/s`, `autoscale, max 4000`, `400 RU/s manual`. Null for serverless. */
export function throughput(text: string): Container['throughput'] | null {
  if (/serverless/i.test(text)) return null;
  // What is planned for later, or instead, isn't what the container has.
  const now = text.split(/;\s|\W{1,3}or\s+auto-?scale\W*$/i)[0] ?? '';
  const kind = /auto-?scal/i.test(now) ? 'autoscale' : 'manual';
  const amount = String.raw`(\d[\d,_.]*)\s*(k?)(?![\w%])`;
  const patterns = [
    String.raw`max(?:imum)?(?:\s+of)?\D{0,12}?${amount}`,
    String.raw`\d[\d,_.]*\s*k?\s*(?:RU\/?s?)?\s*(?:[-–—]|to|\.\.)\s*${amount}`,
    String.raw`auto-?scales?\s+to\s+${amount}`,
    String.raw`${amount}(?=\s*RU)`,
    String.raw`(?:autoscale|auto-scale|manual|provisioned)\D{0,6}${amount}`,
  ];
  for (const pattern of patterns) {
    const match = new RegExp(pattern, 'i').exec((/\d/.test(now) ? now : text).replaceAll('`', ''));
    if (match) return { kind, max: number(match[1]) * (match[2] ? 1000 : 1) };
  }
  return undefined;
}

/**
 * `/email`; `/storeId, /sku` is one constraint of two paths; `;` or items separate several. Empty: no constraint.
 * `several`: the label is "unique keys", so each path in backticks of its own is a key.
 */
export function uniqueKeys(text: string, items: readonly string[], several = false): Container['uniqueKeys'] {
  const each = several ? codes(text).filter((code) => /^\/[\p{L}_][\w/]*$/u.test(code)) : [];
  if (each.length > 1 && !/[;[(+]|\bwith\b/.test(text)) return each.map((path) => ({ paths: [path] }));
  const stated = text === '' ? items : [...text.split(';'), ...items];
  if (/^(none|no\b|n\/?a\b|not )/i.test(text)) return [];
  const keys = stated.flatMap((constraint) => {
    const groups = constraint.match(/\[[^\]]+\]/g) ?? [constraint];
    return groups.map((group) => ({ paths: [...new Set(group.match(PATH))] })).filter(({ paths }) => paths.length > 0);
  });
  return keys.length > 0 ? keys : undefined;
}

/** Index paths as written: those in backticks, or if there are none, all words that begin with a slash. */
export function statedPaths(text: string): string[] {
  const quoted = codes(text).join(' ');
  const found = (quoted === '' ? text : quoted).match(INDEX_PATH) ?? [];
  return [...new Set(found.filter((path) => path !== '/'))];
}

/** The same in the form of Cosmos DB: `/name` means the scalar, `/name/?`. */
export const indexPaths = (text: string): string[] => [
  ...new Set(statedPaths(text).map((path) => (/[*?]$/.test(path) || path.includes('_etag') ? path : `${path}/?`))),
];

type Composite = { readonly path: string; readonly order: 'ascending' | 'descending' };

/** A list of composites, or one composite, as JSON. */
export function composites(value: unknown): (readonly Composite[])[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const lists: unknown[] = value.every(Array.isArray) ? value : [value];
  const read = lists.map((list) => (Array.isArray(list) ? list.map(composite) : []));
  const result = read.map((list) => list.filter((part) => part !== undefined));
  return result.every((list, at) => list.length > 0 && list.length === read[at]?.length) ? result : undefined;
}

function composite(value: unknown): Composite | undefined {
  if (!isObject(value) || typeof value['path'] !== 'string') return undefined;
  const { path, order } = value;
  return { path, order: typeof order === 'string' && /^desc/i.test(order) ? 'descending' : 'ascending' };
}
