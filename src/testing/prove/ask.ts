// Runs one access pattern as its row of the mapping says, and compares the rows with its meanings.
import type { Container as Live, Database, PartitionKey, SqlQuerySpec } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { isEmptied } from '../../pipeline/emptied.ts';
import { ownFields } from '../../pipeline/oracle/recompute.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Container } from '../../model/model.ts';
import type { Query } from '../../model/query.ts';
import { valueAt } from '../../model/rules/facts.ts';
import type { Meant } from './meaning.ts';
import { type ProofBound, type ProofQuestion, bind } from './question.ts';

export interface AskedPattern {
  /** Different sets of parameters. */
  readonly runs: number;
  /** Rows of the answers, over all runs. */
  readonly rows: number;
  /** The most expensive run, RU. */
  readonly ru: number;
  /** The first difference. */
  readonly first?: string;
  /** Why there was no run. */
  readonly why?: string;
}

const RUNS = 20;
const EDGES = ['begin', 'end'] as const;
const NOTHING = { runs: 0, rows: 0, ru: 0 };
const WITHOUT_DOCUMENTS = 'its container has no document';

/** `documents`: those for which parameters are made. `meant`: what the answers must be by the document. */
export async function askPattern(
  question: ProofQuestion,
  database: Database,
  documents: readonly Doc[],
  meant: readonly Meant[],
): Promise<AskedPattern> {
  if (question.kind === 'none') return { ...NOTHING, why: question.why };
  if (question.kind === 'point-read') return pointReads(question.container, database, documents, meant);
  try {
    return await query(question.query, database.container(question.container.name), documents, meant);
  } catch (error) {
    const { status, message } = failureOf(error);
    if (status !== 400) throw error;
    return { ...NOTHING, first: `Cosmos DB refused the query: ${message.split('\n')[0]}` };
  }
}

async function query(
  asked: Query,
  container: Live,
  documents: readonly Doc[],
  meant: readonly Meant[],
): Promise<AskedPattern> {
  const { sets, why } = boundSets(asked, documents, meant);
  if (sets.length === 0) return { ...NOTHING, why };
  const total = { ...NOTHING };
  for (const bound of sets) {
    const spec = { query: asked.text, parameters: bound as NonNullable<SqlQuerySpec['parameters']> };
    const { rows, ru } = await run(container, spec);
    total.runs += 1;
    total.rows += rows.length;
    total.ru = Math.max(total.ru, ru);
    const first = firstOf(meant, (one) => one.ofQuery(asked, bound, rows));
    if (first !== undefined) {
      const given = bound.map(({ name, value }) => `${name} = ${JSON.stringify(value)}`);
      return { ...total, first: `${given.join(', ') || 'the query'}: ${first}` };
    }
  }
  return total;
}

/**
 * The parameters with which a query is asked: some by its own documents, and as many by those of the meaning, so that a
 * row which the sink lacks is asked for too. `why`: the last reason why a document gives none.
 */
function boundSets(
  asked: Query,
  documents: readonly Doc[],
  meant: readonly Meant[],
): { readonly sets: readonly (readonly ProofBound[])[]; readonly why: string } {
  let why = WITHOUT_DOCUMENTS;
  const own = EDGES.flatMap((edge) =>
    documents.flatMap((doc) => {
      const bound = bind(asked, doc, documents, edge);
      if (typeof bound !== 'string') return [bound];
      why = bound;
      return [];
    }),
  );
  const different = (sets: readonly (readonly ProofBound[])[]): [string, readonly ProofBound[]][] =>
    [...new Map(sets.map((bound) => [canonical(bound), bound]))].slice(0, RUNS);
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
const run = (container: Live, spec: SqlQuerySpec): Promise<{ rows: unknown[]; ru: number }> =>
  withRetry(
    async () => {
      const iterator = container.items.query<unknown>(spec);
      const answer = { rows: [] as unknown[], ru: 0 };
      while (iterator.hasMoreResults()) {
        const page = await iterator.fetchNext();
        answer.rows.push(...(page.resources ?? []));
        answer.ru += page.requestCharge;
      }
      return answer;
    },
    { reads: true },
  );

async function pointReads(
  container: Container,
  database: Database,
  documents: readonly Doc[],
  meant: readonly Meant[],
): Promise<AskedPattern> {
  const total = { ...NOTHING };
  for (const doc of documents.slice(0, RUNS)) {
    const found = await readOne(database.container(container.name), container, doc);
    total.runs += 1;
    total.rows += found.doc ? 1 : 0;
    total.ru = Math.max(total.ru, found.ru);
    const first = firstOf(meant, (one) => (one.reads(doc) ? one.ofRead(doc, found.doc) : undefined));
    if (first !== undefined) return { ...total, first: `${JSON.stringify(doc['id'])}: ${first}` };
  }
  return total.runs === 0 ? { ...total, why: WITHOUT_DOCUMENTS } : total;
}

/** What applications see: a projection may keep a trace of a removed row, of Millrace's type or emptied. */
export const isVisible = (doc: Doc): boolean => !String(doc['type']).startsWith('millrace.') && !isEmptied(doc);

async function readOne(live: Live, { partitionKey }: Container, doc: Doc): Promise<{ doc?: Doc; ru: number }> {
  const key = partitionKey.map((path) => valueAt(doc, path)) as unknown as PartitionKey;
  try {
    const { resource, requestCharge } = await withRetry(() => live.item(String(doc['id']), key).read<Doc>(), {
      reads: true,
    });
    return { ...(resource && isVisible(resource) && { doc: ownFields(resource) }), ru: requestCharge };
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return { ru: 1 };
    throw error;
  }
}
