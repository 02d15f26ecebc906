// How an access pattern is run, by its row of the mapping, and the values of its parameters, from documents.
import { valueAt } from '../../model/rules/facts.ts';
import type { PatternMapping, ProjectionRow } from '../../model/documents.ts';
import type { Query } from '../../model/query.ts';
import type { Container, Model } from '../../model/model.ts';
import type { Doc } from '../../pipeline/specs.ts';

export type ProofQuestion =
  | { readonly kind: 'query'; readonly container: Container; readonly query: Query }
  | { readonly kind: 'point-read'; readonly container: Container }
  | { readonly kind: 'none'; readonly why: string };

/** Kinds of projection with effects outside of the account. */
const OUTSIDE = /^(react|send|publish|custom|ingest|archive)/i;
const FROM_ARCHIVE = /archive|restore|blob|cold/i;

export function questionOf(row: PatternMapping, projections: readonly ProjectionRow[], model: Model): ProofQuestion {
  const none = (why: string): ProofQuestion => ({ kind: 'none', why });
  const text = `${row.operationText} ${row.notes} ${row.unknown.join(' ')}`;
  const outside = projections.find(
    ({ kind, serves }) =>
      OUTSIDE.test(kind) &&
      serves.some((id) => row.ids.includes(id)) &&
      // A pattern that an archive serves may read documents that are still in the container.
      (!/^archive/i.test(kind) || FROM_ARCHIVE.test(text)),
  );
  if (outside) return none(`${outside.kind} ${outside.name} serves it, outside of the containers`);
  const name = row.containers[0]?.toLowerCase();
  const container = model.containers.find((of) => of.name.toLowerCase() === name);
  if (!container) return none('its row names no container of the model');
  const query = row.queries[0];
  if (query) return { kind: 'query', container, query };
  if (row.operations.includes('query')) return none('its row has no query text in backticks');
  if (row.operations.includes('point-read')) return { kind: 'point-read', container };
  const [other] = row.operations;
  return none(other ? `${other} has no answer to compare` : `its row names no known operation: "${row.operationText}"`);
}

/** How many partitions a query reads, by the parts of the partition key that it names by equality. */
export function proofReachOf(
  { partitionKey }: Container,
  { equal }: Query,
): 'one partition' | 'a key prefix' | 'all partitions' {
  const named = partitionKey.map((path) => equal.includes(path.slice(1).replaceAll('/', '.')));
  return named.every(Boolean) ? 'one partition' : named[0] === true ? 'a key prefix' : 'all partitions';
}

export interface ProofBound {
  readonly name: string;
  readonly value: unknown;
}

/** Where a range ends at the document's own value: at its beginning, or at its end. */
export type Edge = 'begin' | 'end';

/**
 * Values for a query's parameters, such that it finds `doc` among `all`, or just not if a range ends before it. A string
 * says for which parameter there is no value.
 */
export function bind(
  { text }: Pick<Query, 'text'>,
  doc: Doc,
  all: readonly Doc[],
  edge: Edge = 'begin',
): readonly ProofBound[] | string {
  const bound: ProofBound[] = [];
  for (const name of new Set(text.match(/@\w+/g))) {
    const value = valueFor(name, text, { doc, all, edge });
    if (value === undefined) return `no document gives a value for ${name}`;
    bound.push({ name, value });
  }
  return bound;
}

// A path, or the beginning of its text.
const PATH = String.raw`(?:\bleft\s*\(\s*)?\b[a-z]\w{0,2}\.([\w.]{1,999})(?:\s*,\s*(\d+)\s*\))?`;
const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=', '!=': '!=' };

interface From {
  readonly doc: Doc;
  readonly all: readonly Doc[];
  readonly edge: Edge;
}

function valueFor(name: string, text: string, { doc, all, edge }: From): unknown {
  const own = `${name}\\b`;
  const at = (path: string, of: Doc = doc): unknown => valueAt(of, path);
  const plain = new RegExp(String.raw`${PATH}\s*(=|!=|<>|<=|>=|<|>)\s*${own}`, 'i').exec(text);
  const mirrored = new RegExp(String.raw`${own}\s*(=|!=|<=|>=|<|>)\s*${PATH}`, 'i').exec(text);
  const [path, length, sign = ''] = plain
    ? [plain[1], plain[2], plain[3]]
    : mirrored
      ? [mirrored[2], mirrored[3], MIRRORED[mirrored[1] ?? '']]
      : [];
  if (path !== undefined) {
    const valueOf = (of: Doc): unknown => {
      const value = at(path, of);
      return length !== undefined && typeof value === 'string' ? value.slice(0, Number(length)) : value;
    };
    const value = valueOf(doc);
    if (edge === 'begin' && sign.startsWith('<')) return beyond(all.map(valueOf), value);
    if (edge === 'end' && sign.startsWith('>')) return below(all.map(valueOf), value);
    return value;
  }
  const between = new RegExp(String.raw`${PATH}\s+between\s+(@\w+)\s+and\s+(@\w+)`, 'i').exec(text);
  if (between?.[3] === name) return at(between[1] ?? '');
  if (between?.[4] === name)
    return beyond(
      all.map((of) => at(between[1] ?? '', of)),
      at(between[1] ?? ''),
    );
  const part = new RegExp(String.raw`\b(STARTSWITH|CONTAINS)\s*\(\s*${PATH}\s*,\s*${own}`, 'i').exec(text);
  if (part) {
    const value = at(part[2] ?? '');
    // The day of a time, or the first letters of a name.
    return typeof value === 'string' ? value.slice(0, /^\d{4}-|^\d{4}\//.test(value) ? 10 : 3) : undefined;
  }
  const list = new RegExp(String.raw`\bARRAY_CONTAINS\s*\(\s*${own}\s*,\s*${PATH}`, 'i').exec(text);
  if (list) return [at(list[1] ?? '')].filter((value) => value !== undefined);
  const member = new RegExp(String.raw`\bARRAY_CONTAINS\s*\(\s*${PATH}\s*,\s*${own}`, 'i').exec(text);
  if (member) {
    const value = at(member[1] ?? '');
    return Array.isArray(value) ? value[0] : undefined;
  }
  const inList = new RegExp(String.raw`${PATH}\s+in\s*\([^)]*${own}`, 'i').exec(text);
  if (inList) return at(inList[1] ?? '');
  if (new RegExp(String.raw`\b(?:limit|top|offset)\s+${own}`, 'i').test(text))
    return new RegExp(String.raw`\boffset\s+${own}`, 'i').test(text) ? 0 : 10;
  return at(name.slice(1));
}

/** A value of the kind of `like`, below all values. */
function below(values: readonly unknown[], like: unknown): unknown {
  if (typeof like === 'number') return Math.min(...values.filter((value) => typeof value === 'number')) - 1;
  return typeof like === 'string' ? '' : undefined;
}

/** A value of the kind of `like`, above all values. */
function beyond(values: readonly unknown[], like: unknown): unknown {
  if (typeof like === 'number') return 1 + Math.max(...values.filter((value) => typeof value === 'number'));
  if (typeof like !== 'string') return undefined;
  const greatest = values
    .filter((value) => typeof value === 'string')
    .toSorted()
    .at(-1);
  return `${greatest ?? like}~`;
}
