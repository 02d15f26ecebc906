// What a pattern's answer must be, by a query of the document over source documents. It shares nothing with the pipeline:
// the documents are those that applications wrote, and the embedded server's SQL evaluates the query in memory.
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Meaning } from '../../model/documents.ts';
import type { Query } from '../../model/query.ts';
import { queryOf } from '../../model/reader/sql.ts';
import { valueAt } from '../../model/rules/facts.ts';
import { type ProofBound, type ProofQuestion, bind } from './question.ts';
import { differenceOf } from './difference.ts';

/** Evaluates a query over documents. */
export type Evaluate = (text: string, parameters: readonly ProofBound[], documents: readonly Doc[]) => unknown[];

export async function evaluator(): Promise<Evaluate> {
  const { prepareQuery } = await import('../../emulator/sql/prepare.ts');
  return (text, parameters, documents) => {
    const rows = documents.map((doc) => ({ doc, text: JSON.stringify(doc) }));
    const values = new Map(parameters.map(({ name, value }) => [name, value]));
    return [...prepareQuery(text, values).run(rows)].map((row) => JSON.parse(row) as unknown);
  };
}

/** Whether a meaning of a pattern is about the answers of `question`: one for a type is about the container that has it. */
export const isAbout = ({ type }: Meaning, question: ProofQuestion): boolean =>
  type === undefined || !('container' in question) || question.container.types.some(({ name }) => name === type);

/** One pattern's meaning over the present source documents. */
export class Meant {
  readonly meaning: Meaning;
  readonly #evaluate: Evaluate;
  readonly #documents: readonly Doc[];
  /** Rows that were compared. */
  rows = 0;
  /** The fields that the meaning has said, and that were compared. */
  readonly columns = new Set<string>();
  readonly #order: Query;
  readonly #body: string;

  constructor(meaning: Meaning, evaluate: Evaluate, documents: readonly Doc[]) {
    this.meaning = meaning;
    this.#evaluate = evaluate;
    this.#documents = documents;
    ({ body: this.#body, order: this.#order } = partsOf(meaning.text));
  }

  /** Whether the meaning says in which order the rows are. */
  get ordered(): boolean {
    return this.#order.order.length > 0;
  }

  /** Whether a document of the pattern's container is of the type that the pattern reads. */
  reads({ type }: Doc): boolean {
    return this.meaning.type === undefined || this.meaning.type === type;
  }

  /** Parameters of the pattern's query by source documents: so rows that the sink lacks are asked for too. */
  parameters({ text }: Query): (readonly ProofBound[])[] {
    const query = queryOf(this.meaning.text);
    const names = new Set(text.match(/@\w+/g));
    if (!query) return [];
    return (['begin', 'end'] as const).flatMap((edge) =>
      this.#documents.flatMap((doc) => {
        const bound = bind(query, doc, this.#documents, edge);
        return typeof bound !== 'string' && [...names].every((name) => bound.some((one) => one.name === name))
          ? [bound.filter(({ name }) => names.has(name))]
          : [];
      }),
    );
  }

  /** The first difference of a query's rows, in words. Order and limit of the meaning hold; else they are the query's own. */
  ofQuery(query: Query, parameters: readonly ProofBound[], found: readonly unknown[]): string | undefined {
    const rows = this.#rows(parameters);
    if (typeof rows === 'string') return rows;
    const wrong = this.#unlike(query, rows);
    if (wrong !== undefined) return wrong;
    const by = this.ordered ? this.#orderIn(rows) : query;
    const ranked = by.order.length > 0 ? rows.toSorted((a, b) => compare(a, b, by)) : rows;
    const asked = (words: string): number | undefined =>
      numberBehind(words, this.meaning.text, parameters) ?? numberBehind(words, query.text, parameters);
    const first = asked('offset') ?? 0;
    const meant = ranked.slice(first, first + (asked(LIMIT) ?? Infinity));
    return this.#difference(found, meant, { ...by, text: `${query.text} ${by.text}` }, ranked);
  }

  /** `ORDER BY c.o.at` by its place in the rows: `o.at` of whole documents, `at` where it is selected by itself. */
  #orderIn(rows: readonly Doc[]): Query {
    const order = this.#order.order.map(({ path, descending }) => ({
      path: rows.some((row) => valueAt(row, path) !== undefined) ? path : (path.split('.').at(-1) ?? path),
      descending,
    }));
    return { ...this.#order, order };
  }

  /** Why the order or the limit of the meaning can't be those of the query. */
  #unlike(query: Query, rows: readonly Doc[]): string | undefined {
    const [own, asked] = [this.meaning.text, query.text].map((text) => numberBehind(LIMIT, text, []));
    if (own !== undefined && asked !== undefined && own !== asked)
      return `its meaning has at most ${own} rows, and its query ${asked}`;
    const { order } = this.#orderIn(rows);
    for (const { path } of order) {
      if (rows.length > 0 && rows.every((row) => valueAt(row, path) === undefined))
        return `its meaning sorts by ${path}, which it doesn't select`;
      if (order.length === 1 && queryOf(this.meaning.text)?.equal.includes(path))
        return `its meaning sorts by ${path}, which is the same in all of its rows`;
    }
    return undefined;
  }

  /** The same for a point read, whose parameters are the fields of the document that was there last. */
  ofRead(read: Doc, found: Doc | undefined): string | undefined {
    const parameters = Object.entries(read).map(([field, value]) => ({ name: `@${field}`, value }));
    const rows = this.#rows(parameters);
    return typeof rows === 'string' ? rows : this.#difference(found ? [found] : [], rows, NO_ORDER);
  }

  /** In words, why the meaning has no rows. */
  #rows(parameters: readonly ProofBound[]): Doc[] | string {
    try {
      return this.#evaluate(this.#body, parameters, this.#documents).map(asRow);
    } catch (cause) {
      const [lacking] = (this.meaning.text.match(/@\w+/g) ?? []).filter(
        (name) => !parameters.some((one) => one.name === name),
      );
      const why =
        lacking === undefined ? messageOf(cause) : `its pattern has no ${lacking}; name the same parameters in both`;
      return `its meaning can't be evaluated: ${why}`;
    }
  }

  /** `all`: what would be meant without a limit. */
  #difference(found: readonly unknown[], meant: readonly Doc[], query: Query, all = meant): string | undefined {
    // What the meaning selects, although its value may be missing: a sum of texts has none.
    const columns = [...new Set([...selected(this.meaning.text), ...meant.flatMap((row) => Object.keys(row))])];
    const said = (row: unknown): Doc =>
      Object.fromEntries(
        columns.map((field) => [field, rounded(valueAt(asRow(row), field))]).filter(([, value]) => value !== undefined),
      );
    this.rows += Math.max(found.length, meant.length);
    for (const column of columns) this.columns.add(column);
    const difference = differenceOf(found.map(said), meant.map(said), query, all.map(said));
    return difference === undefined ? undefined : `by its meaning, ${difference}`;
  }
}

/** The names in the SELECT of a query; none of `SELECT *` and `SELECT VALUE`. */
function selected(text: string): string[] {
  const [, list = ''] =
    /^ ?select (?:top \S+ )?(?:distinct )?(?!value\b)(.*?) from /i.exec(text.replaceAll(/\s+/g, ' ')) ?? [];
  // Commas within brackets belong to a function.
  return list.split(/,(?![^(]{0,999}\))/).flatMap((part) => /(?:\bas\s+|\.)(\w+)\s*$/i.exec(part)?.[1] ?? []);
}

const LIMIT = 'top|limit';
const NO_ORDER: Query = { text: '', equal: [], filters: [], order: [] };

/** Sums of the same numbers in another order differ in the last digits. */
const rounded = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toPrecision(12)) : value);

function compare(a: Doc, b: Doc, { order }: Query): number {
  for (const { path, descending } of order) {
    const [one, other] = [valueAt(a, path), valueAt(b, path)] as [string, string];
    if (one === other || one === undefined || other === undefined) continue;
    return one < other === descending ? 1 : -1;
  }
  return 0;
}

function numberBehind(words: string, text: string, parameters: readonly ProofBound[]): number | undefined {
  const [, number] = new RegExp(String.raw`\b(?:${words})\s+(\d+|@\w+)`, 'i').exec(text) ?? [];
  const value = number?.startsWith('@') ? parameters.find(({ name }) => name === number)?.value : number;
  return value === undefined ? undefined : Number(value);
}

/** `SELECT VALUE COUNT(1)` has rows without a name. */
const asRow = (row: unknown): Doc => (isObject(row) ? row : { value: row });

const TAIL = /\border\s+by\s+((?:(?!\border\b).)*?)(?:\boffset\s+\S+\s+)?(?:\blimit\s+\S+\s*)?$/is;

/**
 * A meaning without its order and limit, and its order, by the names that it selects: so that groups can be sorted too, which
 * Cosmos DB refuses.
 */
function partsOf(text: string): { readonly body: string; readonly order: Query } {
  const [tail, list = ''] = TAIL.exec(text) ?? [];
  const bare = (body: string): string => body.replace(/^(\s*select\s+(?:distinct\s+)?)top\s+\S+/i, '$1');
  if (tail === undefined) return { body: bare(text.replace(/\boffset\s+\S+\s+limit\s+\S+\s*$/i, '')), order: NO_ORDER };
  const order = list.split(',').map((part) => {
    const [name = '', direction = ''] = part.trim().split(/\s+/);
    const path = name.replaceAll(/\["(\w+)"\]/g, '.$1').split('.');
    return { path: path.slice(path.length > 1 ? 1 : 0).join('.'), descending: /^desc$/i.test(direction) };
  });
  return { body: bare(text.slice(0, text.length - tail.length)), order: { ...NO_ORDER, text: tail, order } };
}
