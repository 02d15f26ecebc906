import type { Container, Database, OperationInput, PartitionKey, QueryIterator, SqlQuerySpec } from '@azure/cosmos';
import { MillraceError } from '../base/errors.ts';
import { landingSignal } from '../cosmos/landing.ts';
import { GIVE_DATA_ROLE, failureOf, kindOfStatus } from '../cosmos/failure.ts';
import type { Meter } from '../cosmos/meter.ts';
import { AmbiguousOutcome, type RetryOptions, withRetry } from '../cosmos/retry.ts';
import { type Spending, spendingOf } from '../cosmos/spending.ts';
import { refusedAt } from '../cosmos/transact.ts';
import type { Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import { BulkLane } from './bulk-lane.ts';
import type { CommitResult, SinkDocument, SinkSession, Write } from './session.ts';

/** Up to this many documents of a key are read each by itself (1 RU a KB); more of them are cheaper as a query. */
const POINT_READS = 4;

/** A sink session on the containers of one database, for the page its fence was made for. */
export class CosmosSession implements SinkSession {
  readonly fence: Fence;
  readonly #database: Database;
  readonly #meter: Meter;
  readonly #lanes = new Map<string, BulkLane>();
  readonly #spending: Spending | undefined;

  /** `spending`: the budget that its requests keep to. Default: the client's, if it has one, for bulk work. */
  constructor(database: Database, fence: Fence, meter: Meter, spending = spendingOf(database)) {
    this.#database = database;
    this.fence = fence;
    this.#meter = meter;
    this.#spending = spending;
  }

  async read(container: string, key: Key, ids: readonly string[]): Promise<(SinkDocument | undefined)[]> {
    if (ids.length <= POINT_READS) return Promise.all(ids.map((id) => this.#readOne(container, key, id)));
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

  async #readOne(container: string, key: Key, id: string): Promise<SinkDocument | undefined> {
    for (;;) {
      const result = await this.#lane(container, 'read')
        .submit({ operationType: 'Read', id, partitionKey: partitionKey(key) })
        .catch(explained(container, 'read'));
      if (result === 'lost') continue;
      if (result.statusCode === 200) return result.resourceBody as unknown as SinkDocument;
      if (result.statusCode === 404) return undefined;
      const why = new Error(`Reading ${container}/${id} was answered ${result.statusCode}`);
      return explained(container, 'read')(Object.assign(why, { code: result.statusCode }));
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
    ).catch(explained(container, 'read'));
    this.#meter.count(answer.requestCharge);
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
      if (answer.code === 200) return { kind: 'done', etags: results.map((result) => result.eTag ?? '') };
    } catch (error) {
      if (error instanceof AmbiguousOutcome) return { kind: 'conflict' };
      const failure = failureOf(error);
      if (failure.kind === 'refused' || failure.kind === 'too-large')
        return { kind: 'refused', index: 0, why: failure.message };
      if (failure.kind === 'not-found') throw missing(container, error);
      return explained(container, 'write')(error);
    }
    return failed(container, results, writes);
  }

  async #commitOne(container: string, key: Key, write: Write): Promise<CommitResult> {
    const result = await this.#lane(container, 'write')
      .submit({ ...operation(write), partitionKey: partitionKey(key) })
      .catch(explained(container, 'write'));
    if (result === 'lost') return { kind: 'conflict' };
    if (result.statusCode < 300) {
      this.#meter.writes += 1;
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
    // A throttled operation inside a batch comes back as 207; the whole batch is sent again.
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
    // The wait may have been long.
    const inTime = (): Promise<T> => {
      this.fence.assert();
      return call();
    };
    return this.#spending.spend(container, key, inTime, chargeOf, this.fence.signal);
  }

  #container(name: string): Container {
    return this.#database.container(name);
  }

  /** Reads and writes go in requests of their own: an unknown outcome is asked again for the one, settled for the other. */
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

/** Of one partition: fetchAll() would send a request for a plan as well, which only many partitions need. */
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

/** The substatus is on the wire and not in the SDK's type. */
interface Answer {
  readonly statusCode: number;
  readonly subStatusCode?: number;
}

/** 207: one operation carries the reason, the others 424; nothing was written. */
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
      why: `${container} answered ${status === 403 ? '403, as the logical partition is full,' : status} to ${writes[index]?.op} of ${writes[index]?.id}`,
    };
  }
  if (status === 403) throw denied(container, 'write', new Error('An operation was answered 403'));
  throw new MillraceError('batch-failed', `A batch on ${container} failed with ${status}`, { retryable: true });
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
  // The wire takes a condition on deletes as well; only the SDK's type leaves it out.
  const conditional: OperationInput & { ifMatch: string } = { operationType: 'Delete', id, ifMatch };
  return conditional;
}

/** An error as it is thrown on: with the container and the role where this identity may not do that. */
const explained =
  (container: string, doing: 'read' | 'write') =>
  (error: unknown): never => {
    const { status, substatus = 0 } = failureOf(error);
    throw status === 403 && !OTHERWISE_REFUSED.has(substatus) ? denied(container, doing, error) : error;
  };

/** 403s that no role would mend: a region that takes no writes, an account that is gone. A full partition is *refused*. */
const OTHERWISE_REFUSED: ReadonlySet<number> = new Set([3, 1008]);

/** Infrastructure: once the role is there, the page goes on. */
const denied = (container: string, doing: 'read' | 'write', cause: unknown): MillraceError => {
  const why = failureOf(cause).message.split('\n')[0] ?? '';
  const what = `This identity may not ${doing} in container ${container}: ${why.replace(/\.$/, '')}`;
  return new MillraceError('container-denied', what, { cause, retryable: true, mend: GIVE_DATA_ROLE });
};

const missing = (container: string, cause: unknown): MillraceError =>
  new MillraceError('container-missing', `Container ${container} does not exist`, {
    cause,
    retryable: true,
    mend: 'Create it with `millrace model apply`.',
  });
