// Runs one access pattern on the projected database and on the recomputed one, and compares the rows.
import type { Container as Live, Database, PartitionKey, SqlQuerySpec } from '@azure/cosmos';
import { canonical, isObject } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { isEmptied } from '../../definition/emptied.ts';
import type { Doc } from '../../definition/specs.ts';
import { ownFields } from '../../definition/oracle/recompute.ts';
import { valueAt } from '../../model/rules/facts.ts';
import type { Query } from '../../model/query.ts';
import type { Container } from '../../model/model.ts';
import type { ByContainer } from './oracle.ts';
import { differenceOf, instead, short } from './difference.ts';
import type { Meant } from './meaning.ts';
import { type Bound, type Question, bind } from './question.ts';

export interface Asked {
  /** Different sets of parameters. */
  readonly runs: number;
  /** Rows that the recomputed documents give, over all runs. */
  readonly rows: number;
  /** The most expensive run, RU. */
  readonly ru: number;
  /** The most documents that one run loaded to evaluate them. */
  readonly loaded: number;
  /** The first difference. */
  readonly first?: string;
  /** Why there was no run. */
  readonly why?: string;
}

export interface Sides {
  readonly actual: Database;
  readonly expected: Database;
  /** The archived documents by container, and how they are read now; absent before anything was archived. */
  readonly cold?: { readonly documents: ByContainer; read(container: Container, doc: Doc): Promise<Found> };
}

/** A document as it is read, without the fields that Cosmos DB and Millrace add. */
export interface Found {
  readonly doc?: Doc;
  readonly ru: number;
}

const RUNS = 20;
const EDGES = ['begin', 'end'] as const;
const NOTHING = { runs: 0, rows: 0, ru: 0, loaded: 0 };

/**
 * `documents`: those for which parameters are made, present documents first, then removed ones. `meant`: what the answers
 * must be by the document.
 */
export async function ask(
  question: Question,
  sides: Sides,
  documents: readonly Doc[],
  meant: readonly Meant[] = [],
): Promise<Asked> {
  if (question.kind === 'query') {
    try {
      return await query(question, sides, documents, meant);
    } catch (error) {
      const { status, message } = failureOf(error);
      if (status !== 400) throw error;
      return { ...NOTHING, first: `Cosmos DB refused the query: ${message.split('\n')[0]}` };
    }
  }
  if (question.kind === 'point-read') return pointReads(question.container, sides, documents, meant);
  if (question.kind === 'archive') return archived(question.container, sides);
  return question.kind === 'none' ? { ...NOTHING, why: question.why } : NOTHING;
}

async function query(
  { container, query: asked }: { container: Container; query: Query },
  { actual, expected }: Sides,
  documents: readonly Doc[],
  meant: readonly Meant[],
): Promise<Asked> {
  const { sets, why } = boundSets(asked, documents, meant);
  if (sets.length === 0) return { ...NOTHING, why };
  const total = { ...NOTHING };
  for (const bound of sets) {
    const spec = { query: asked.text, parameters: bound as NonNullable<SqlQuerySpec['parameters']> };
    const found = await run(actual.container(container.name), spec);
    const wanted = await run(expected.container(container.name), spec);
    total.runs += 1;
    total.rows += wanted.rows.length;
    total.ru = Math.max(total.ru, found.ru);
    total.loaded = Math.max(total.loaded, found.loaded);
    const first =
      differenceOf(found.rows, wanted.rows, asked) ?? firstOf(meant, (one) => one.ofQuery(asked, bound, found.rows));
    if (first !== undefined) {
      const given = bound.map(({ name, value }) => `${name} = ${JSON.stringify(value)}`);
      return { ...total, first: `${given.join(', ') || 'the query'}: ${first}` };
    }
  }
  return total;
}

/**
 * The parameters with which a query is asked: `runs` different sets by its own documents, and as many by those of the
 * meaning. `why`: the last reason why a document gives none.
 */
export function boundSets(
  asked: Query,
  documents: readonly Doc[],
  meant: readonly Meant[],
  runs = RUNS,
): { readonly sets: readonly (readonly Bound[])[]; readonly why: string } {
  let why = 'its container has had no document';
  const own = EDGES.flatMap((edge) =>
    documents.flatMap((doc) => {
      const bound = bind(asked, doc, documents, edge);
      if (typeof bound !== 'string') return [bound];
      why = bound;
      return [];
    }),
  );
  const different = (sets: readonly (readonly Bound[])[]): [string, readonly Bound[]][] =>
    [...new Map(sets.map((bound) => [canonical(bound), bound]))].slice(0, runs);
  const sets = new Map([...different(own), ...different(meant.flatMap((one) => one.parameters(asked)))]);
  return { sets: [...sets.values()], why };
}

/** The first difference from one of the meanings. */
function firstOf(meant: readonly Meant[], differs: (one: Meant) => string | undefined): string | undefined {
  for (const one of meant) {
    const difference = differs(one);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** A query that failed begins again: its iterator may end as if there were no more results (ASM-E82). */
const run = (container: Live, spec: SqlQuerySpec): Promise<{ rows: unknown[]; ru: number; loaded: number }> =>
  withRetry(
    async () => {
      const iterator = container.items.query<unknown>(spec, { populateQueryMetrics: true });
      const answer = { rows: [] as unknown[], ru: 0, loaded: 0 };
      while (iterator.hasMoreResults()) {
        const page = await iterator.fetchNext();
        answer.rows.push(...(page.resources ?? []));
        answer.ru += page.requestCharge;
        answer.loaded += loadedIn(page.queryMetrics);
      }
      return answer;
    },
    { reads: true },
  );

/** The SDK returns the metrics by partition, each with the number of documents that the query loaded. */
function loadedIn(metrics: unknown): number {
  if (typeof metrics === 'string') return Number(/retrievedDocumentCount=(\d+)/.exec(metrics)?.[1] ?? 0);
  if (!isObject(metrics)) return 0;
  const { retrievedDocumentCount: own } = metrics;
  if (typeof own === 'number') return own;
  return Object.values(metrics).reduce<number>((sum, part) => sum + loadedIn(part), 0);
}

async function pointReads(
  container: Container,
  { actual, expected }: Sides,
  documents: readonly Doc[],
  meant: readonly Meant[],
): Promise<Asked> {
  const total = { ...NOTHING };
  for (const doc of documents.slice(0, RUNS)) {
    const found = await readOne(actual, container, doc);
    const wanted = await readOne(expected, container, doc);
    total.runs += 1;
    total.rows += wanted.doc ? 1 : 0;
    total.ru = Math.max(total.ru, found.ru);
    if (canonical(found.doc ?? null) !== canonical(wanted.doc ?? null))
      return { ...total, first: `${short(doc['id'])}: ${instead(found.doc ?? null, wanted.doc ?? null)}` };
    const first = firstOf(meant, (one) => (one.reads(doc) ? one.ofRead(doc, found.doc) : undefined));
    if (first !== undefined) return { ...total, first: `${short(doc['id'])}: ${first}` };
  }
  return total.runs === 0 ? { ...total, why: 'its container has had no document' } : total;
}

/** Every document that is in the archive, or that was there before it was restored. */
async function archived(container: Container, { cold }: Sides): Promise<Asked> {
  const total = { ...NOTHING };
  for (const doc of cold?.documents.get(container.name) ?? []) {
    const found = await cold?.read(container, doc);
    total.runs += 1;
    total.rows += 1;
    total.ru = Math.max(total.ru, found?.ru ?? 0);
    if (canonical(found?.doc ?? null) !== canonical(ownFields(doc)))
      return { ...total, first: `${short(doc['id'])}: ${instead(found?.doc ?? null, doc)}` };
  }
  return cold ? total : { ...total, why: 'no document was archived' };
}

export const keyOf = ({ partitionKey }: Container, doc: Doc): PartitionKey =>
  partitionKey.map((path) => valueAt(doc, path)) as unknown as PartitionKey;

export async function readOne(database: Database, container: Container, doc: Doc): Promise<Found> {
  try {
    const item = database.container(container.name).item(String(doc['id']), keyOf(container, doc));
    const { resource, requestCharge } = await withRetry(() => item.read<Doc>(), { reads: true });
    // A projection may keep a trace of a removed row, of Millrace's type or emptied; applications don't read that.
    const there = resource && !String(resource['type']).startsWith('millrace.') && !isEmptied(resource);
    const own = there ? ownFields(resource) : undefined;
    return { ...(own && { doc: own }), ru: requestCharge };
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return { ru: 1 };
    throw error;
  }
}
