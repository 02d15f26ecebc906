import type { Container, Database, OperationInput, PartitionKey, QueryIterator, SqlQuerySpec } from '@azure/cosmos';
import { sharedError } from '../base/shared-errors.ts';
import { MillraceError } from '../base/errors.ts';
import { assertReadable } from '../base/format.ts';
import { containerMissing } from '../cosmos/container-missing.ts';
import { landingSignal } from '../cosmos/request-timeout.ts';
import { failureOf, kindOfStatus } from '../cosmos/failure.ts';
import { isOwn } from '../cosmos/own-documents.ts';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import { AmbiguousOutcome, type RetryOptions, withRetry } from '../cosmos/retry.ts';
import { type Spending, spendingOf } from '../cosmos/budget/meter.ts';
import { refusedAt } from '../cosmos/transact.ts';
import type { Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import { BulkLane } from './bulk-lane.ts';
import type { CommitResult, SinkDocument, DocumentAccess, Reading, Write } from './document-access.ts';
import { sinksError } from './errors.ts';

/** Up to this many documents of a key are read with point reads (1 RU a KB). For more, one query is cheaper. */
const POINT_READS = 4;

/** Access to the containers of one database, for the page of its fence. */
export class CosmosAccess implements DocumentAccess {
  readonly fence: Fence;
  readonly #database: Database;
  readonly #meter: Meter;
  readonly #lanes = new Map<string, BulkLane>();
  readonly #spending: Spending | undefined;

  /** `spending`: the budget of its requests. Default: the client's budget, if it has one, for bulk work. */
  constructor(database: Database, fence: Fence, meter: Meter, spending = spendingOf(database)) {
    this.#database = database;
    this.fence = fence;
    this.#meter = meter;
    this.#spending = spending;
  }

  async read(
    container: string,
    key: Key,
    ids: readonly string[],
    { current }: Reading = { current: false },
  ): Promise<(SinkDocument | undefined)[]> {
    if (current || ids.length <= POINT_READS) return Promise.all(ids.map((id) => this.#readOne(container, key, id)));
    const names = ids.map((_, index) => `@${index}`);
    const parameters = Object.fromEntries(ids.map((id, index) => [`${index}`, id]));
    const found = await this.query<SinkDocument>(
      container,
      `SELECT * FROM c WHERE c.id IN (${names.join(',')})`,
      parameters,
      key,
    );
    const byId = new Map(found.map((document) => [document.id, document]));
    return ids.map((id) => byId.get(id));
  }

  /** By a bulk request, which goes where writes go. */
  async #readOne(container: string, key: Key, id: string): Promise<SinkDocument | undefined> {
    for (;;) {
      const result = await this.#lane(container, 'read')
        .submit({ operationType: 'Read', id, partitionKey: partitionKey(key) })
        .catch(explained(this.#container(container), 'read'));
      if (result === 'lost') continue;
      if (result.statusCode === 200) {
        assertReadable(result.resourceBody);
        return result.resourceBody as unknown as SinkDocument;
      }
      if (result.statusCode === 404) return undefined;
      const why = new Error(`Cosmos DB answered ${result.statusCode} to a read of ${container}/${id}`);
      return explained(this.#container(container), 'read')(Object.assign(why, { code: result.statusCode }));
    }
  }

  async query<T>(
    container: string,
    sql: string,
    parameters: Readonly<Record<string, Key[number]>>,
    key?: Key,
  ): Promise<T[]> {
    const spec: SqlQuerySpec = {
      query: sql,
      parameters: Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value })),
    };
    const options = key ? { partitionKey: partitionKey(key), maxItemCount: -1 } : { maxItemCount: -1 };
    const ask = () => {
      const pages = this.#container(container).items.query<T>(spec, options);
      return key ? everyPage(pages) : pages.fetchAll();
    };
    const answer = await withRetry(
      () => this.#spend(container, key, ask, ({ requestCharge }) => requestCharge),
      this.#options(true),
    ).catch(explained(this.#container(container), 'read'));
    this.#meter.count(answer.requestCharge);
    for (const found of answer.resources) assertReadable(found);
    return answer.resources;
  }

  async commit(container: string, key: Key, writes: readonly Write[]): Promise<CommitResult> {
    const [only] = writes;
    if (only && writes.length === 1) return this.#commitOne(container, key, only);
    let results;
    try {
      const send = () => this.#batch(container, key, writes);
      const answer = await withRetry(() => this.#spend(container, key, send, batchCharge), this.#options(false));
      results = answer.result ?? [];
      this.#meter.count(batchCharge(answer), answer.code === 200 ? writes.length : 0);
      if (answer.code === 200) this.#meter.wrote(container, writes.filter(isSeen).length);
      if (answer.code === 200) return { kind: 'done', etags: results.map((result) => result.eTag ?? '') };
    } catch (error) {
      if (error instanceof AmbiguousOutcome) return { kind: 'conflict' };
      const failure = failureOf(error);
      if (failure.kind === 'refused' || failure.kind === 'too-large')
        return { kind: 'refused', index: 0, why: failure.message };
      return explained(this.#container(container), 'write')(error);
    }
    return failed(container, results, writes);
  }

  async #commitOne(container: string, key: Key, write: Write): Promise<CommitResult> {
    const result = await this.#lane(container, 'write')
      .submit({ ...operation(write), partitionKey: partitionKey(key) })
      .catch(explained(this.#container(container), 'write'));
    if (result === 'lost') return { kind: 'conflict' };
    if (result.statusCode < 300) {
      this.#meter.writes += 1;
      this.#meter.wrote(container, isSeen(write) ? 1 : 0);
      return { kind: 'done', etags: [result.eTag ?? ''] };
    }
    return failed(container, [result], [write]);
  }

  async #batch(container: string, key: Key, writes: readonly Write[]) {
    const answer = await this.#container(container).items.batch(writes.map(operation), partitionKey(key), {
      contentResponseOnWriteEnabled: false,
      abortSignal: landingSignal(),
    });
    const status = answer.result?.[refusedAt(answer.result)]?.statusCode;
    // A batch with a throttled operation gets status 207. The whole batch is sent again.
    if (answer.code !== 200 && status === 429)
      throw Object.assign(new Error('Throttled within a batch'), { code: 429 });
    return answer;
  }

  #spend<T>(
    container: string,
    key: Key | undefined,
    call: () => Promise<T>,
    chargeOf: (answer: T) => number,
  ): Promise<T> {
    if (!this.#spending) return call();
    // The wait for the budget may have been long.
    const inTime = (): Promise<T> => {
      this.fence.assert();
      return call();
    };
    return this.#spending.spend(container, key, inTime, chargeOf, this.fence.signal);
  }

  #container(name: string): Container {
    return this.#database.container(name);
  }

  /** Reads and writes have separate requests: after an unknown outcome a read is sent again, but a write is not. */
  #lane(container: string, kind: 'read' | 'write'): BulkLane {
    const name = `${kind} ${container}`;
    const lane =
      this.#lanes.get(name) ??
      new BulkLane(this.#container(container), this.#meter, this.#options(kind === 'read'), this.#spending);
    this.#lanes.set(name, lane);
    return lane;
  }

  #options(reads: boolean): RetryOptions {
    return { signal: this.fence.signal, meter: this.#meter, reads, before: () => this.fence.assert() };
  }
}

/** For a query of one partition. fetchAll() would also request a query plan, which only several partitions need. */
async function everyPage<T>(pages: QueryIterator<T>): Promise<{ resources: T[]; requestCharge: number }> {
  const resources: T[] = [];
  let requestCharge = 0;
  while (pages.hasMoreResults()) {
    const page = await pages.fetchNext();
    resources.push(...page.resources);
    requestCharge += page.requestCharge;
  }
  return { resources, requestCharge };
}

/** The SDK's type lacks the substatus. */
interface Answer {
  readonly statusCode: number;
  readonly subStatusCode?: number;
}

/** Status 207: one operation has the reason, the others have 424, and nothing was written. */
function failed(container: string, results: readonly Answer[], writes: readonly Write[]): CommitResult {
  const index = refusedAt(results);
  const { statusCode: status, subStatusCode: substatus } = results[index] ?? { statusCode: 500 };
  const kind = kindOfStatus(status, substatus);
  if (
    kind === 'precondition' ||
    kind === 'conflict' ||
    kind === 'not-found' ||
    kind === 'ambiguous' ||
    kind === 'throttled'
  )
    return { kind: 'conflict' };
  if (kind === 'refused' || kind === 'too-large') {
    return {
      kind: 'refused',
      index,
      why: `${container} answered ${status === 403 ? '403 (the logical partition is full)' : status} to ${writes[index]?.op} of ${writes[index]?.id}`,
    };
  }
  if (status === 403) throw denied(container, 'write', new Error('Cosmos DB answered 403 to an operation'));
  throw sinksError('batch-failed', `A batch on ${container} failed with status ${status}`);
}

const batchCharge = ({ headers }: { headers?: Record<string, unknown> }): number =>
  Number(headers?.['x-ms-request-charge'] ?? 0);

const partitionKey = (key: Key): PartitionKey => [...key] as PartitionKey;

function operation(write: Write): OperationInput {
  const { id } = write;
  if (write.op === 'create') return { operationType: 'Create', resourceBody: write.body as never };
  if (write.op === 'patch') {
    const { operations } = write;
    return 'where' in write
      ? { operationType: 'Patch', id, resourceBody: { condition: write.where, operations } }
      : { operationType: 'Patch', id, resourceBody: { operations }, ifMatch: write.ifMatch };
  }
  const { ifMatch } = write;
  if (write.op === 'replace') return { operationType: 'Replace', id, resourceBody: write.body as never, ifMatch };
  // The service accepts a condition on a delete; only the SDK's type lacks it.
  const conditional: OperationInput & { ifMatch: string } = { operationType: 'Delete', id, ifMatch };
  return conditional;
}

/** Whether readers see what it writes. */
const isSeen = (write: Write): boolean => !('body' in write) || !isOwn(write.body);

/** Throws the error on. If the container is missing, or this identity has no right, the error names it. */
const explained =
  (container: Container, doing: 'read' | 'write') =>
  (error: unknown): never => {
    const { kind, status, substatus = 0 } = failureOf(error);
    if (kind === 'not-found' && substatus !== READ_SESSION) throw missing(container, error);
    throw status === 403 && !NOT_A_RIGHT.has(substatus) ? denied(container.id, doing, error) : error;
  };

/** Substatus of a 404: a replica is behind the session (ASM-E6). */
const READ_SESSION = 1002;
/** Substatus of a 403 that no role fixes: a region without writes, a deleted account. (A full partition is *refused*.) */
const NOT_A_RIGHT: ReadonlySet<number> = new Set([3, 1008]);

/** Retryable: the page continues once the identity has the role. */
const denied = (container: string, doing: 'read' | 'write', cause: unknown): MillraceError => {
  const why = failureOf(cause).message.split('\n')[0] ?? '';
  const what = `This identity may not ${doing} in container ${container}: ${why.replace(/\.$/, '')}`;
  return sharedError('denied', what, { retryable: true, cause });
};

/** Retryable: the page continues once the container exists. */
const missing = (container: Container, cause: unknown): MillraceError => {
  const { code, message } = containerMissing(container, cause);
  return MillraceError.from(
    { code, message, hint: 'Create it with `millrace model apply`.' },
    { cause, retryable: true },
  );
};
