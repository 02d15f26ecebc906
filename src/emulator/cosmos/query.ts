import { prepare } from '../sql/prepare.ts';
import type { Prepared, Readable } from '../sql/prepare.ts';
import type { Account } from './account.ts';
import { listOf } from './bytes.ts';
import { candidates } from './candidates.ts';
import { queryCharge } from './charge.ts';
import { asWire } from './condition.ts';
import type { Container } from './container.ts';
import { checkOrder } from './indexing.ts';
import { containerHeaders, reply } from './reply.ts';
import { pageSize, targetOf } from './target.ts';
import type { Target } from './target.ts';
import { View } from './view.ts';
import { badRequest, header, parseObject } from './wire.ts';
import type { Call, Doc, Reply } from './wire.ts';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const CHOSEN_PAGE_SIZE = 1000;
const MAX_CURSORS = 256;

/** A query under way: its remaining results, and what reading them has cost so far. */
interface Cursor {
  readonly results: Iterator<string, unknown>;
  readonly view: View;
  readonly cost: { documents: number; bytes: number };
  pending: IteratorResult<string, unknown> | undefined;
}

/** Answers queries and plain feeds page by page. A lost cursor is made again by skipping what was delivered. */
export class Queries {
  readonly #account: Account;
  readonly #cursors = new Map<string, Cursor>();
  #count = 0;

  constructor(account: Account) {
    this.#account = account;
  }

  /** `text` is the query, or absent for a plain feed of all items. */
  page(call: Call, container: Container, body: Buffer | undefined): Reply {
    const { text, params } =
      body === undefined ? { text: 'SELECT * FROM c', params: new Map<string, unknown>() } : parseBody(body);
    const target = targetOf(call, container);
    const token = header(call.headers, 'x-ms-session-token');
    const position = parseContinuation(header(call.headers, 'x-ms-continuation'), container.rid);
    const size = pageSize(call, CHOSEN_PAGE_SIZE);
    const prepared = asWire(() => prepare(text, params));
    checkOrder(container.definition.indexingPolicy as Doc, prepared.orderBy);
    const cursor = this.#take(container.rid, position, token) ?? this.#open(container, target, prepared, token);
    if (!position) for (const range of target.partitions) cursor.view.demand(range);
    const before = { ...cursor.cost };
    const began = performance.now();

    const results: string[] = [];
    let bytes = 0;
    let next = asWire(
      () => cursor.pending ?? skip(cursor.results, position && !cursor.pending ? position.delivered : 0),
    );
    while (!next.done && results.length < size && (bytes === 0 || bytes + next.value.length < MAX_PAGE_BYTES)) {
      results.push(next.value);
      bytes += next.value.length;
      next = asWire(() => cursor.results.next());
    }
    cursor.pending = next;
    const headers = containerHeaders(container);
    headers['x-ms-session-token'] = cursor.view.sessionToken(target.partitions);
    headers['x-ms-item-count'] = String(results.length);
    // A page that came out full doesn't know yet that nothing follows.
    if (!next.done || (results.length === size && prepared.streams && target.partitions.length === 1))
      headers['x-ms-continuation'] = this.#keep(container.rid, cursor, (position?.delivered ?? 0) + results.length);
    const { documents, bytes: loaded } = cursor.cost;
    const read = { documents: documents - before.documents, bytes: loaded - before.bytes };
    headers['x-ms-documentdb-query-metrics'] = queryMetrics(read, { documents: results.length, bytes }, began);
    const charge = queryCharge(read.documents, read.bytes, target.partitions.length);
    return reply(
      200,
      charge,
      headers,
      listOf(`{"_rid":"${container.rid}","Documents":[`, results, `],"_count":${results.length}}`),
    );
  }

  #open(container: Container, target: Target, prepared: Prepared, token: string | undefined): Cursor {
    const withExpired = prepared.counts && this.#account.faults.countExpired === true;
    const view = new View(this.#account, container, token, withExpired);
    const cost = { documents: 0, bytes: 0 };
    const documents = function* counted(): Generator<Readable, void> {
      for (const version of candidates(container, target, prepared.restrictions, view)) {
        cost.documents++;
        cost.bytes += version.size;
        yield version;
      }
    };
    return { results: prepared.run(documents()), view, cost, pending: undefined };
  }

  #take(rid: string, position: Position | undefined, token: string | undefined): Cursor | undefined {
    const key = position && `${rid}/${position.cursor}/${position.delivered}`;
    const cursor = key === undefined ? undefined : this.#cursors.get(key);
    if (!cursor) return undefined;
    this.#cursors.delete(key!);
    cursor.view.refresh(token);
    return cursor;
  }

  #keep(rid: string, cursor: Cursor, delivered: number): string {
    const id = (++this.#count).toString(36);
    if (this.#cursors.size >= MAX_CURSORS) this.#cursors.delete(this.#cursors.keys().next().value!);
    this.#cursors.set(`${rid}/${id}/${delivered}`, cursor);
    return JSON.stringify({ r: rid, c: id, n: delivered });
  }
}

interface Position {
  readonly cursor: string;
  readonly delivered: number;
}

function parseContinuation(text: string | undefined, rid: string): Position | undefined {
  if (text === undefined || text === '') return undefined;
  const [, of, cursor, delivered] = /^\{"r":"([^"]+)","c":"([0-9a-z]+)","n":(\d+)\}$/.exec(text) ?? [];
  if (of !== rid || cursor === undefined) {
    throw badRequest('Invalid Continuation Token: it was not made by this server for a query of this container.');
  }
  return { cursor, delivered: Number(delivered) };
}

function skip(results: Iterator<string, unknown>, count: number): IteratorResult<string, unknown> {
  let next = results.next();
  for (let i = 0; i < count && !next.done; i++) next = results.next();
  return next;
}

export function parseBody(body: Buffer): { text: string; params: ReadonlyMap<string, unknown> } {
  const { query, parameters } = parseObject(body);
  if (typeof query !== 'string') throw badRequest("The query body needs a 'query' text.");
  const params = new Map<string, unknown>();
  if (parameters !== undefined && parameters !== null) {
    if (!Array.isArray(parameters)) throw badRequest("The query's 'parameters' must be an array.");
    for (const parameter of parameters as unknown[]) {
      const { name, value } = (parameter ?? {}) as { name?: unknown; value?: unknown };
      if (typeof name !== 'string') throw badRequest('Each parameter needs a name.');
      params.set(name, value);
    }
  }
  return { text: query, params };
}

interface Amount {
  readonly documents: number;
  readonly bytes: number;
}

/** In the service's form, times in milliseconds. All of the time goes to the first that did something. */
function queryMetrics(read: Amount, output: Amount, began: number): string {
  const ms = (performance.now() - began).toFixed(2);
  const figures = {
    totalExecutionTimeInMs: ms,
    queryCompileTimeInMs: '0.01',
    queryLogicalPlanBuildTimeInMs: '0.01',
    queryPhysicalPlanBuildTimeInMs: '0.01',
    queryOptimizationTimeInMs: '0.01',
    VMExecutionTimeInMs: ms,
    indexLookupTimeInMs: '0.01',
    documentLoadTimeInMs: '0.01',
    systemFunctionExecuteTimeInMs: '0.00',
    userFunctionExecuteTimeInMs: '0.00',
    retrievedDocumentCount: read.documents,
    retrievedDocumentSize: read.bytes,
    outputDocumentCount: output.documents,
    outputDocumentSize: output.bytes,
    writeOutputTimeInMs: '0.01',
    indexUtilizationRatio: (read.documents === 0 ? 1 : output.documents / read.documents).toFixed(2),
  };
  return Object.entries(figures)
    .map(([name, value]) => `${name}=${value}`)
    .join(';');
}

/** A query over resources other than items (databases, containers, offers): everything in one page. */
export function queryDefinitions(body: Buffer, definitions: readonly Doc[]): string[] {
  const { text, params } = parseBody(body);
  const readable = definitions.map((doc) => ({ doc, text: JSON.stringify(doc) }));
  return asWire(() => [...prepare(text, params).run(readable)]);
}
