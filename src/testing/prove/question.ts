// How an access pattern is asked, by its row of the mapping; and the values its parameters take, from documents.
import { valueAt } from '../../model/rules/facts.ts';
import type { Mapping, Operation, ProjectionRow, Query } from '../../model/documents.ts';
import type { Container, Model } from '../../model/model.ts';
import type { Doc } from '../../definition/specs.ts';

const WRITES = ['create', 'replace', 'patch', 'upsert', 'delete'] as const satisfies readonly Operation[];
export type WriteOperation = (typeof WRITES)[number];

export type Question =
  | { readonly kind: 'query'; readonly container: Container; readonly query: Query }
  | { readonly kind: 'point-read'; readonly container: Container }
  | {
      readonly kind: 'write';
      readonly container: Container;
      readonly operation: WriteOperation;
      /** The row in words: they name the type, and the mark of a delete. */
      readonly text: string;
    }
  /** Documents that an archive took away, from it and after it gave them back. */
  | { readonly kind: 'archive'; readonly container: Container }
  /** The last event of each document of the container. */
  | { readonly kind: 'events'; readonly container: Container; readonly of: string }
  | { readonly kind: 'none'; readonly why: string };

/** Works outside of the account. */
const OUTSIDE = /^(react|send|publish|custom|ingest)/i;

export function questionOf(row: Mapping, projections: readonly ProjectionRow[], model: Model): Question {
  const none = (why: string): Question => ({ kind: 'none', why });
  const outside = projections.find(
    ({ kind, serves }) => OUTSIDE.test(kind) && serves.some((id) => row.ids.includes(id)),
  );
  const source = model.containers.find((of) => of.name === outside?.source?.container);
  if (outside?.kind.startsWith('publish') && source) return { kind: 'events', container: source, of: outside.name };
  if (outside) return none(`it is served by the ${outside.kind} ${outside.name}, outside of the containers`);
  const archive = projections.find(
    ({ kind, serves }) => /^archive/i.test(kind) && serves.some((id) => row.ids.includes(id)),
  );
  const archived = model.containers.find((of) => of.name === archive?.source?.container);
  if (archived && /archive|restore|blob|cold/i.test(`${row.operationText} ${row.notes} ${row.unknown.join(' ')}`))
    return { kind: 'archive', container: archived };
  const name = row.containers[0]?.toLowerCase();
  const container = model.containers.find((of) => of.name.toLowerCase() === name);
  if (!container) return none('its row names no container of the model');
  const query = row.queries[0];
  if (query) return { kind: 'query', container, query };
  if (row.operations.includes('query')) return none('its row has no query text in backticks');
  if (row.operations.includes('point-read')) return { kind: 'point-read', container };
  const operation = WRITES.find((one) => row.operations.includes(one));
  if (operation) return { kind: 'write', container, operation, text: `${row.operationText} ${row.notes}` };
  const [other] = row.operations;
  return none(other ? `a ${other} isn't tried` : `its row names no operation that is known: "${row.operationText}"`);
}

/** How much of the partition key a query names by equality: all of it is one partition. */
export function reachOf(
  { partitionKey }: Container,
  { equal }: Query,
): 'one partition' | 'a key prefix' | 'all partitions' {
  const named = partitionKey.map((path) => equal.includes(path.slice(1).replaceAll('/', '.')));
  return named.every(Boolean) ? 'one partition' : named[0] === true ? 'a key prefix' : 'all partitions';
}

/** Fields that a query filters or sorts by and that the container's policy leaves out: they are found by looking. */
export function unindexed({ indexingPolicy: policy }: Container, { filters, order }: Query): string[] {
  if (!policy) return [];
  const reach = (paths: readonly { readonly path: string }[] = [], field: string): number =>
    Math.max(
      -1,
      ...paths.map(({ path }) => {
        const own = path
          .replace(/\/[?*]$/, '')
          .slice(1)
          .replaceAll('/[]', '')
          .replaceAll('/', '.');
        if (own === '') return 0;
        return field === own || (path.endsWith('*') && field.startsWith(`${own}.`)) ? own.length : -1;
      }),
    );
  const composite = new Set(
    (policy.compositeIndexes ?? []).flat().map(({ path }) => path.slice(1).replaceAll('/', '.')),
  );
  return [...new Set([...filters, ...order.map(({ path }) => path)])].filter((field) => {
    const included = reach(policy.includedPaths, field);
    const found = included >= 0 && included >= reach(policy.excludedPaths, field);
    return policy.indexingMode === 'none' || !(found || (composite.has(field) && !filters.includes(field)));
  });
}

export interface Bound {
  readonly name: string;
  readonly value: unknown;
}

/**
 * Values for a query's parameters, such that it asks for one document among `all`; a string where nothing says what a
 * parameter is, or the document has no value for it.
 */
export function bind({ text }: Query, doc: Doc, all: readonly Doc[]): readonly Bound[] | string {
  const bound: Bound[] = [];
  for (const name of new Set(text.match(/@\w+/g))) {
    const value = valueFor(name, text, doc, all);
    if (value === undefined) return `nothing says what ${name} is`;
    bound.push({ name, value });
  }
  return bound;
}

const PATH = String.raw`\b[a-z]\w{0,2}\.([\w.]+)`;
const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=', '!=': '!=' };

function valueFor(name: string, text: string, doc: Doc, all: readonly Doc[]): unknown {
  const own = `${name}\\b`;
  const at = (path: string, of: Doc = doc): unknown => valueAt(of, path);
  const plain = new RegExp(String.raw`${PATH}\s*(=|!=|<>|<=|>=|<|>)\s*${own}`, 'i').exec(text);
  const mirrored = new RegExp(String.raw`${own}\s*(=|!=|<=|>=|<|>)\s*${PATH}`, 'i').exec(text);
  const [path, sign] = plain ? [plain[1], plain[2]] : mirrored ? [mirrored[2], MIRRORED[mirrored[1] ?? '']] : [];
  if (path !== undefined) {
    const value = at(path);
    if (sign === '<' || sign === '<=')
      return beyond(
        all.map((of) => at(path, of)),
        value,
      );
    return value;
  }
  const between = new RegExp(String.raw`${PATH}\s+between\s+(@\w+)\s+and\s+(@\w+)`, 'i').exec(text);
  if (between?.[2] === name) return at(between[1] ?? '');
  if (between?.[3] === name)
    return beyond(
      all.map((of) => at(between[1] ?? '', of)),
      at(between[1] ?? ''),
    );
  const part = new RegExp(String.raw`\b(STARTSWITH|CONTAINS)\s*\(\s*${PATH}\s*,\s*${own}`, 'i').exec(text);
  if (part) {
    const value = at(part[2] ?? '');
    // A day of a time, the first letters of a name.
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

/** Above every value there is, of the kind of `like`. */
function beyond(values: readonly unknown[], like: unknown): unknown {
  if (typeof like === 'number') return 1 + Math.max(...values.filter((value) => typeof value === 'number'));
  if (typeof like !== 'string') return undefined;
  const greatest = values
    .filter((value) => typeof value === 'string')
    .toSorted()
    .at(-1);
  return `${greatest ?? like}~`;
}
