import { type KeyLevel } from '../../base/key-level.ts';
import { type Container, type Database, type OperationInput, BulkOperationType } from '@azure/cosmos';
import pMap from 'p-map';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failureOf, kindOfStatus } from '../../cosmos/failure.ts';
import type { KeyPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { BulkLane } from '../../access/bulk-lane.ts';
import { refusedAt } from '../../cosmos/transact.ts';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../../access/document-access.ts';
import type { EventStep } from '../../pipeline/workload.ts';
import type { HubClients } from '../../access/hub-clients.ts';
import { type Admitted, admitSteps } from './admit.ts';
import { admitEvent, sendEvents } from './hubs.ts';
import type { Input } from './input.ts';
import { Marker, type Progress } from './marker.ts';
import { type Reject, RejectsFile } from './rejects.ts';
import type { DatabaseOf } from './shards.ts';
import { sharedError } from '../../base/shared-errors.ts';

export interface LoaderOptions {
  readonly database: Database;
  /** The database that has the documents of a key. Default: `database`. */
  readonly databaseOf?: DatabaseOf | undefined;
  readonly state: Container;
  /** Key paths by container of the model. */
  readonly containers: ReadonlyMap<string, readonly KeyPath[]>;
  /** The event hubs of the pipeline; without them, the loader rejects an event. */
  readonly eventHubs?: { readonly names: ReadonlySet<string>; readonly clients: HubClients };
  readonly input: Input;
  /** The folder of the rejects file. */
  readonly directory: string;
  /** At most this many steps a second; absent: without a limit. */
  readonly rate?: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly onReject?: (reject: Reject) => void;
  readonly clock?: Clock;
}

export interface Loaded extends Progress {
  /** How many items an earlier run had loaded. */
  readonly skipped: number;
  /** Set if the loader rejected an item. */
  readonly rejectsFile?: string;
}

const CHUNK_ITEMS = 1_000;
const CHUNK_BYTES = 16 * 1024 * 1024;
const PARALLEL = 8;
const OPERATION_BYTES = 200;

/**
 * Loads an input chunk by chunk, in order. The marker moves past a chunk only after the whole chunk is durable, and the
 * next chunk starts after that. So the run after a kill writes at most one chunk again, whole, and every document ends
 * with its last content.
 */
export async function loadDocuments(options: LoaderOptions): Promise<Loaded> {
  const { input, signal, state, directory } = options;
  const marker = new Marker(state, input);
  const rejects = new RejectsFile(directory, input.name);
  const before = await marker.read();
  await rejects.resumeAfter(before.at);
  let progress = before;
  let skipped = 0;
  let chunk = new Chunk();
  const pace = new Pace(options.rate, options.clock ?? systemClock);
  const size =
    options.rate === undefined ? CHUNK_ITEMS : Math.max(1, Math.min(CHUNK_ITEMS, Math.ceil(options.rate / 4)));

  const flush = async (): Promise<void> => {
    if (chunk.items === 0) return;
    await pace.wait(chunk.items, signal);
    await write(options, chunk.admitted);
    if (options.eventHubs) await sendEvents(chunk.events, options.eventHubs.clients, signal);
    await rejects.add(chunk.rejects);
    for (const reject of chunk.rejects) options.onReject?.(reject);
    progress = {
      at: chunk.at,
      loaded: progress.loaded + chunk.admitted.length + chunk.events.length,
      rejected: progress.rejected + chunk.rejects.length,
    };
    await marker.write(progress);
    options.onProgress?.(progress);
    chunk = new Chunk();
  };

  for await (const item of input.items()) {
    signal.throwIfAborted();
    if (item.at <= before.at) {
      skipped += 1;
      continue;
    }
    const { step } = item;
    if (typeof step !== 'string' && 'hub' in step) {
      const refused = admitEvent(step, options.eventHubs?.names ?? new Set());
      if (refused === undefined) chunk.send(item.at, step);
      else chunk.reject(item.at, refused, item.text());
    } else {
      const result = typeof step === 'string' ? step : admitSteps(step, options.containers);
      if (typeof result === 'string') chunk.reject(item.at, result, item.text());
      else chunk.admit(item.at, result);
    }
    if (chunk.items >= size || chunk.bytes >= CHUNK_BYTES) await flush();
  }
  await flush();
  return { ...progress, skipped, ...(progress.rejected > 0 ? { rejectsFile: rejects.path } : {}) };
}

class Chunk {
  readonly admitted: Admitted[] = [];
  readonly events: EventStep[] = [];
  readonly rejects: Reject[] = [];
  at = 0;
  bytes = 0;

  get items(): number {
    return this.admitted.length + this.events.length + this.rejects.length;
  }

  admit(at: number, admitted: Admitted): void {
    this.at = at;
    this.bytes += admitted.bytes;
    this.admitted.push(admitted);
  }

  send(at: number, step: EventStep): void {
    this.at = at;
    this.bytes += JSON.stringify(step).length;
    this.events.push(step);
  }

  reject(line: number, why: string, text: string): void {
    this.at = line;
    this.bytes += text.length;
    this.rejects.push({ line, why, text });
  }
}

/** Writes different keys in parallel, and the steps of one key in their order. Keys with one step share requests. */
async function write(
  { database, databaseOf = async () => database, signal }: LoaderOptions,
  steps: readonly Admitted[],
): Promise<void> {
  const lanes = [...Map.groupBy(steps, ({ step, key }) => JSON.stringify([step.container, key])).values()];
  const { true: single = [], false: several = [] } = Object.groupBy(lanes, ([first, ...others]) =>
    first && 'upsert' in first.step && others.length === 0 ? 'true' : 'false',
  );
  const upsert = bulkUpserts(signal);
  await Promise.all([
    ...single.flat().map(async (one) => upsert(await databaseOf(one.step.container, one.key), one)),
    pMap(
      several,
      async (lane) => {
        const [first] = lane;
        if (!first) return;
        const of = await databaseOf(first.step.container, first.key);
        for (const batch of batches(lane)) await commit(of, batch, signal);
      },
      { concurrency: PARALLEL, signal },
    ),
  ]);
}

/** A document alone in its key goes with those of other keys, and by itself where that was refused: the service then says why. */
function bulkUpserts(signal: AbortSignal): (database: Database, step: Admitted) => Promise<void> {
  const lanes = new Map<Database, Map<string, BulkLane>>();
  return async (database, step) => {
    const { container } = step.step;
    const own = lanes.get(database) ?? new Map<string, BulkLane>();
    lanes.set(database, own);
    const lane =
      own.get(container) ?? new BulkLane(database.container(container), new Meter(), { reads: false, signal });
    own.set(container, lane);
    const operation = {
      operationType: BulkOperationType.Upsert,
      partitionKey: [...step.key],
      resourceBody: bodyOf(step),
    };
    const result = await lane.submit(operation as OperationInput);
    if (result === 'lost' || result.statusCode >= 300) await commit(database, [step], signal);
  };
}

/** A delete is sent alone: a batch that deletes a missing document would fail as a whole. */
function batches(lane: readonly Admitted[]): Admitted[][] {
  const result: Admitted[][] = [];
  let current: Admitted[] = [];
  let bytes = 0;
  for (const step of lane) {
    const size = step.bytes + OPERATION_BYTES;
    const alone = 'delete' in step.step;
    if (alone || current.length === MAX_BATCH || bytes + size > MAX_BATCH_BYTES) {
      if (current.length > 0) result.push(current);
      current = [];
      bytes = 0;
    }
    if (alone) result.push([step]);
    else {
      current.push(step);
      bytes += size;
    }
  }
  if (current.length > 0) result.push(current);
  return result;
}

/**
 * Every write here may be sent twice, an upsert of the same content or a delete: so an ambiguous outcome needs no read
 * before the retry.
 */
async function commit(database: Database, steps: readonly Admitted[], signal: AbortSignal): Promise<void> {
  const [first] = steps;
  if (!first) return;
  const container = database.container(first.step.container);
  const key = [...first.key];
  await withRetry(
    async () => {
      if ('delete' in first.step) await remove(container, first.id, key);
      else if (steps.length === 1) await container.items.upsert(first.step.upsert);
      else await upsertTogether(container, steps, key);
    },
    { reads: true, signal },
  );
}

async function remove(container: Container, id: string, key: KeyLevel[]): Promise<void> {
  try {
    await container.item(id, key).delete();
  } catch (error) {
    if (failureOf(error).kind !== 'not-found') throw error;
  }
}

const bodyOf = ({ step }: Admitted): unknown => ('upsert' in step ? step.upsert : undefined);

async function upsertTogether(container: Container, steps: readonly Admitted[], key: KeyLevel[]): Promise<void> {
  const operations = steps.map((step) => ({ operationType: BulkOperationType.Upsert, resourceBody: bodyOf(step) }));
  const { result = [] } = await container.items.batch(operations as OperationInput[], key);
  const failed = refusedAt(result);
  const status = result[failed]?.statusCode;
  if (status === undefined) return;
  // The form of error that the SDK throws for a single request, so that `withRetry` handles it by the same rules.
  if (['throttled', 'ambiguous'].includes(kindOfStatus(status)))
    throw Object.assign(new Error(`The server answered the batch with ${status}`), { code: status });
  throw sharedError(
    'document-refused',
    `Cosmos DB refused ${container.id}/${steps[failed]?.id} with status ${status}`,
    { hint: 'Correct the document in the input and run the command again; it resumes where it stopped.' },
  );
}

/** Limits the loader to a number of steps a second. */
class Pace {
  readonly #rate: number | undefined;
  readonly #clock: Clock;
  #start: number | undefined;
  #steps = 0;

  constructor(rate: number | undefined, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  async wait(steps: number, signal: AbortSignal): Promise<void> {
    if (this.#rate === undefined) return;
    this.#start ??= this.#clock.monotonic();
    this.#steps += steps;
    const due = this.#start + ((this.#steps - steps) / this.#rate) * 1000;
    const wait = due - this.#clock.monotonic();
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }
}
