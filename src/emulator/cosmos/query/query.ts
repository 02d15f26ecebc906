import { randomUUID } from 'node:crypto';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import { scanPlanOf } from '../../sql/plan.ts';
import type { QueryInfo } from '../../sql/plan.ts';
import { prepareQuery } from '../../sql/prepare.ts';
import type { Prepared } from '../../sql/prepare.ts';
import type { Readable } from '../../sql/scope.ts';
import { Walk } from '../../sql/walk.ts';
import type { Position } from '../../sql/walk.ts';
import type { StoredAccount } from '../storage/account.ts';
import { wireListOf } from '../wire/bytes.ts';
import { LARGE, candidates } from './candidates.ts';
import { queryCharge } from '../time-and-charge/charge.ts';
import { asWire } from './condition.ts';
import { continuation, foreignToken, readContinuation } from './continuation.ts';
import type { StoredContainer } from '../storage/container.ts';
import { checkOrder } from '../storage/indexing.ts';
import { containerHeaders, reply } from '../wire/reply.ts';
import { MAX_PAGE_BYTES, pageSize, storedTargetOf } from '../storage/target.ts';
import type { StoredTarget } from '../storage/target.ts';
import { Replica } from '../storage/replica.ts';
import { tallyOf } from './tallies.ts';
import { WireError, badRequest, header, parseObject } from '../wire/wire.ts';
import type { WireCall, WireDoc, Reply } from '../wire/wire.ts';

/** Limits of the results that are kept for next pages: number, bytes, and time without a request. */
const MAX_CURSORS = 256;
const MAX_CURSOR_BYTES = 256 * 1024 * 1024;
const CURSOR_MS = 60_000;

/** A running query, whose sorted or grouped results are in memory. */
interface Cursor {
  /** Its text and parameters. */
  readonly query: string;
  readonly prepared: Prepared;
  readonly results: Iterator<string, unknown>;
  readonly walk: Walk;
  readonly replica: Replica;
  readonly cost: { documents: number; bytes: number };
  pending: IteratorResult<string, unknown> | undefined;
  /** The container's state when the results were made. */
  readonly state: string;
  /** The time of the last request for them, in milliseconds since 1970 by the server's clock. */
  used: number;
}

/**
 * Answers queries and plain feeds page by page. A page begins where the page before it ended, and shows the data at the
 * time of its request. Sorted and grouped results are kept for the next page, and used if nothing was written meanwhile.
 */
export class Queries {
  readonly #account: StoredAccount;
  readonly #cursors = new Map<string, Cursor>();

  constructor(account: StoredAccount) {
    this.#account = account;
  }

  /** `text` is the query, or absent for a plain feed of all items. */
  page(call: WireCall, container: StoredContainer, body: Buffer | undefined): Reply {
    const { text, params } =
      body === undefined ? { text: 'SELECT * FROM c', params: new Map<string, unknown>() } : parseBody(body);
    const target = this.#target(call, container, text, params);
    const token = header(call.headers, 'x-ms-session-token');
    const prepared = asWire(() => prepareQuery(text, params, () => this.#account.now()));
    checkOrder(container.definition.indexingPolicy as WireDoc, prepared.orderBy);
    const from = readContinuation(call, container.rid, prepared.orderBy.length);
    const size = pageSize(call);
    const query = JSON.stringify([text, ...params]);
    const cursor =
      this.#take(container, from?.cursor, query) ?? this.#open(container, target, { query, prepared }, { token, from });
    for (const range of target.partitions) cursor.replica.demand(range);
    const before = { ...cursor.cost };
    const began = performance.now();

    const results: string[] = [];
    let bytes = 0;
    let end = cursor.walk.at(0);
    let next = asWire(() => cursor.pending ?? cursor.results.next());
    while (!next.done && results.length < size && (bytes === 0 || bytes + next.value.length < MAX_PAGE_BYTES)) {
      results.push(next.value);
      bytes += next.value.length;
      end = cursor.walk.at((from?.delivered ?? 0) + results.length);
      next = asWire(() => cursor.results.next());
    }
    cursor.pending = next;
    const headers = containerHeaders(container);
    headers['x-ms-session-token'] = cursor.replica.sessionToken(target.partitions);
    headers['x-ms-item-count'] = String(results.length);
    // After a full page the server can't know yet whether more follows.
    if (!next.done || (results.length === size && prepared.streams && target.partitions.length === 1))
      headers['x-ms-continuation'] = continuation(container.rid, end, this.#keep(cursor));
    const { documents, bytes: loaded } = cursor.cost;
    const read = { documents: documents - before.documents, bytes: loaded - before.bytes };
    headers['x-ms-documentdb-query-metrics'] = queryMetrics(read, { documents: results.length, bytes }, began);
    const charge = queryCharge(read.documents, read.bytes, target.partitions.length);
    return reply(
      200,
      charge,
      headers,
      wireListOf(`{"_rid":"${container.rid}","Documents":[`, results, `],"_count":${results.length}}`),
    );
  }

  #target(
    call: WireCall,
    container: StoredContainer,
    text: string,
    params: ReadonlyMap<string, unknown>,
  ): StoredTarget {
    const target = storedTargetOf(call, container);
    const { loosePrefixes, demandPlans } = this.#account.faults;
    const several = target.partitions.length > 1;
    if (demandPlans && several && needsPlan(asWire(() => scanPlanOf(text, params)))) throw planDemanded();
    const byPrefix = !target.key && header(call.headers, 'x-ms-documentdb-partitionkey') !== undefined;
    return loosePrefixes && byPrefix ? { ...target, range: spanOf(target) } : target;
  }

  #open(
    container: StoredContainer,
    target: StoredTarget,
    { query, prepared }: { readonly query: string; readonly prepared: Prepared },
    { token, from }: { readonly token: string | undefined; readonly from: Position | undefined },
  ): Cursor {
    const withExpired = prepared.counts && this.#account.faults.countExpired === true;
    const replica = new Replica(this.#account, container, token, withExpired);
    const { indexFrom = LARGE } = this.#account.faults;
    const cost = { documents: 0, bytes: 0 };
    const walk = new Walk(from);
    const tally = from ? undefined : tallyOf(container, target, prepared, { query, replica, from: indexFrom });
    const answered = function* answered({
      documents: all,
      bytes,
      count,
    }: NonNullable<typeof tally>): Generator<string, void> {
      cost.documents += all;
      cost.bytes += bytes;
      yield prepared.counting!.result(count);
    };
    const first = prepared.seeks && from?.values ? from.seq : 0;
    const documents = function* counted(): Generator<Readable, void> {
      for (const version of candidates(container, target, prepared.restrictions, replica, first, indexFrom)) {
        cost.documents++;
        cost.bytes += version.size;
        yield version;
      }
    };
    return {
      query,
      prepared,
      results: tally ? answered(tally) : prepared.run(documents(), walk),
      walk,
      replica,
      cost,
      pending: undefined,
      state: stateOf(container),
      used: this.#account.now(),
    };
  }

  /** How many queries have results kept for their next page. */
  get kept(): number {
    return this.#cursors.size;
  }

  /** Drops results without a request for a while. A later request for the next page makes them again. */
  sweep(): void {
    const now = this.#account.now();
    for (const [name, { used }] of this.#cursors) if (now - used > CURSOR_MS) this.#cursors.delete(name);
  }

  /** @throws WireError 400: the results are of another query */
  #take(container: StoredContainer, name: string | undefined, query: string): Cursor | undefined {
    const cursor = name === undefined ? undefined : this.#cursors.get(name);
    if (!cursor) return undefined;
    if (cursor.query !== query) throw foreignToken();
    this.#cursors.delete(name!);
    return cursor.state === stateOf(container) ? cursor : undefined;
  }

  /** Keeps the cursor and returns its name; undefined if the position alone is enough to continue. */
  #keep(cursor: Cursor): string | undefined {
    if (cursor.prepared.seeks || cursor.replica.lags) return undefined;
    // Random, because tokens outlive a restart, after which a counter would give the same names again.
    const name = randomUUID();
    cursor.used = this.#account.now();
    this.#cursors.set(name, cursor);
    let bytes = 0;
    for (const { prepared } of this.#cursors.values()) bytes += prepared.kept;
    for (const [oldest, { prepared }] of this.#cursors) {
      if (this.#cursors.size <= MAX_CURSORS && bytes <= MAX_CURSOR_BYTES) break;
      bytes -= prepared.kept;
      this.#cursors.delete(oldest);
    }
    return name;
  }
}

/** A text that changes with every write, and with every call if items can expire. */
const stateOf = (container: StoredContainer): string =>
  container.mayExpire ? randomUUID() : [container.rid, ...container.ranges.map(({ id, lsn }) => `${id}:${lsn}`)].join();

/** The whole range of the physical partitions; those of a prefix are neighbours. */
const spanOf = ({ partitions }: StoredTarget): FeedRange => ({
  min: partitions.map(({ range }) => range.min).toSorted()[0]!,
  max: partitions
    .map(({ range }) => range.max)
    .toSorted()
    .at(-1)!,
});

const needsPlan = (info: QueryInfo): boolean =>
  info.distinctType !== 'None' ||
  info.aggregates.length + info.orderBy.length + info.groupByExpressions.length > 0 ||
  Object.values(info.groupByAliasToAggregateType).some((type) => type !== null) ||
  [info.top, info.offset, info.limit].some((bound) => bound !== null);

/** The client recognises the refusal by `additionalErrorInfo`, and asks for a plan. */
const planDemanded = (): WireError =>
  new WireError(400, 'The provided cross partition query can not be directly served by the gateway.', 1004, {
    additionalErrorInfo: 'A query plan is needed.',
  });

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

/** Query metrics in the service's form, times in milliseconds. The whole time is reported as execution time. */
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

/** A query over databases, containers or offers: all results in one page. */
export function queryDefinitions(body: Buffer, definitions: readonly WireDoc[]): string[] {
  const { text, params } = parseBody(body);
  const readable = definitions.map((doc) => ({ doc, text: JSON.stringify(doc) }));
  return asWire(() => [...prepareQuery(text, params).run(readable)]);
}
