import type { Container, OperationInput, PartitionKey } from '@azure/cosmos';
import { sharedError } from '../base/shared-errors.ts';
import type { MillraceError, UsageError } from '../base/errors.ts';
import { assertFormat, formatOf } from '../base/format.ts';
import { failureOf } from '../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';
import { Refused, transact } from '../cosmos/transact.ts';
import { parseDate } from '../pipeline/date.ts';
import { type WindowUnit, timeWindow } from '../pipeline/time-window.ts';

export interface BinOptions {
  /** The container of the bins; each append gives the fields of its partition key. */
  readonly container: Container;
  readonly window: WindowUnit;
  /** An IANA name; default UTC. */
  readonly timeZone?: string;
  /** Events of one bin, 1 to 10,000; default 200. */
  readonly maxEvents?: number;
  /** Bytes of JSON of one bin's events, 1 to 1,500,000; default 100,000, as each append costs RU for the whole bin. */
  readonly maxBytes?: number;
}

export interface BinEvent {
  /** Unique in its stream and window. An event that comes again has the same id and time. */
  readonly id: string;
  /** ISO 8601, or seconds or milliseconds since 1970. */
  readonly at: string | number;
}

/** The fields of the key and their values, in the order of its levels, such as `{ deviceId: 'd1' }`. */
export type Stream = Readonly<Record<string, string | number | boolean>>;

/** A bin as it is stored. The last bin of a window takes events; the bins before it are sealed. */
export interface Bin<E extends BinEvent> {
  readonly id: string;
  readonly type: 'bin';
  /** The name of the window, from `timeWindow`. */
  readonly window: string;
  /** 0, 1, … in its window. */
  readonly number: number;
  readonly sealed: boolean;
  /** Milliseconds since 1970 of the earliest and the latest event. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly bytes: number;
  readonly events: readonly E[];
  /** Absent: 1. */
  readonly format?: number;
}

export interface EventBins<E extends BinEvent> {
  /**
   * Adds events, each once however often it is appended. Resolves when all are durable. If it rejects, some may be
   * durable, and the same call again adds the others. Events of a write whose answer was lost count as duplicates.
   * @throws UsageError `option-invalid`; MillraceError retryable `contended`
   */
  append(stream: Stream, events: readonly E[]): Promise<{ readonly added: number; readonly duplicates: number }>;
  /** Events with `from` ≤ time < `to`, by time and id. Memory holds one bin and the bins that overlap it. */
  read(stream: Stream, from: string | number, to: string | number): AsyncGenerator<E>;
}

const ATTEMPTS = 50;

/**
 * Stores the events of a stream in one document for each window, not for each event. A window with more events than one
 * bin holds gets another bin: one transaction seals the last bin and creates the next, so only the last takes events.
 * @throws UsageError `option-invalid`
 */
export function eventBins<E extends BinEvent>(options: BinOptions): EventBins<E> {
  const { maxEvents = 200, maxBytes = 100_000 } = options;
  if (!Number.isInteger(maxEvents) || maxEvents < 1 || maxEvents > 10_000)
    throw invalid(`maxEvents is ${maxEvents}`, 'Give a whole number from 1 to 10,000.');
  if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > 1_500_000)
    throw invalid(`maxBytes is ${maxBytes}`, 'Give a whole number from 1 to 1,500,000.');
  timeWindow(0, options.window, options.timeZone);
  return new Bins<E>(options, maxEvents, maxBytes);
}

const invalid = (message: string, hint: string): UsageError => sharedError('option-invalid', message, { hint });

interface Stored<E extends BinEvent> extends Bin<E> {
  readonly _etag: string;
}

class Bins<E extends BinEvent> implements EventBins<E> {
  readonly #options: BinOptions;
  readonly #maxEvents: number;
  readonly #maxBytes: number;

  constructor(options: BinOptions, maxEvents: number, maxBytes: number) {
    this.#options = options;
    this.#maxEvents = maxEvents;
    this.#maxBytes = maxBytes;
  }

  async append(stream: Stream, events: readonly E[]) {
    const { window, timeZone } = this.#options;
    const distinct = new Map<string, E>();
    for (const event of events) distinct.set(JSON.stringify([this.#windowOf(event), event.id]), event);
    const windows = Map.groupBy(distinct.values(), ({ at }) => timeWindow(at, window, timeZone));
    let added = 0;
    for (const [name, own] of windows) added += await this.#appendTo(stream, name, own);
    return { added, duplicates: events.length - added };
  }

  async *read(stream: Stream, from: string | number, to: string | number): AsyncGenerator<E> {
    const [start, end] = [dateOf(from), dateOf(to)];
    const { container } = this.#options;
    const query = {
      query: 'SELECT * FROM c WHERE c.type = "bin" AND c.last >= @start AND c.first < @end ORDER BY c.first',
      parameters: [
        { name: '@start', value: start },
        { name: '@end', value: end },
      ],
    };
    const bins = container.items.query<Bin<E>>(query, { partitionKey: keyOf(stream) });
    let open: E[] = [];
    while (bins.hasMoreResults()) {
      const { resources } = await withRetry(() => bins.fetchNext(), { reads: true });
      for (const bin of resources) {
        assertFormat('bin', bin.format, bin.id);
        // No later bin begins before this one, so everything before it is complete.
        yield* open.filter(({ at }) => dateOf(at) < bin.first);
        const within = bin.events.filter(({ at }) => dateOf(at) >= start && dateOf(at) < end);
        open = [...open.filter(({ at }) => dateOf(at) >= bin.first), ...within].toSorted(byTime);
      }
    }
    yield* open;
  }

  /** The window of an event that a bin can take. */
  #windowOf(event: E): string {
    if (typeof event.id !== 'string' || event.id === '') throw sharedError('option-invalid', 'An event has no id');
    if (parseDate(event.at) === undefined)
      throw sharedError('option-invalid', `Event ${event.id}: ${JSON.stringify(event.at)} is not a date`);
    const bytes = bytesOf(event);
    if (bytes > this.#maxBytes)
      throw sharedError('option-invalid', `Event ${event.id} has ${bytes} bytes; a bin holds ${this.#maxBytes}`, {
        hint: 'Raise `maxBytes`, or store the event elsewhere and its address in the bin.',
      });
    return timeWindow(event.at, this.#options.window, this.#options.timeZone);
  }

  /** Returns how many were added. Each turn reads the stored state first, so a lost answer or race costs one turn. */
  async #appendTo(stream: Stream, window: string, events: readonly E[]): Promise<number> {
    const missing = new Map(events.map((event) => [event.id, event]));
    let added = 0;
    for (let attempt = 0; attempt < ATTEMPTS;) {
      const { ids, last } = await this.#state(stream, window);
      const sent = [...missing.values()].filter(({ id }) => !ids.has(id));
      for (const id of missing.keys()) if (ids.has(id)) missing.delete(id);
      if (sent.length === 0) return added;
      const target = last && this.#fits(last, sent[0]) ? last : undefined;
      const bin = this.#filled(stream, window, target, last, sent);
      if (!(await this.#write(stream, bin, target, last))) {
        attempt += 1;
        continue;
      }
      const before = new Set(target?.events.map(({ id }) => id));
      for (const { id } of bin.events) if (!before.has(id) && missing.delete(id)) added += 1;
      if (missing.size === 0) return added;
    }
    throw contended(window);
  }

  /** The ids of a window's events, and its last bin. A sealed bin never changes, so the two reads fit each other. */
  async #state(stream: Stream, window: string) {
    const { container } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const query = {
        query:
          'SELECT c.number, ARRAY(SELECT VALUE e.id FROM e IN c.events) AS ids FROM c WHERE c.type = "bin" AND c.window = @w',
        parameters: [{ name: '@w', value: window }],
      };
      const found = await withRetry(
        () =>
          container.items.query<{ number: number; ids: string[] }>(query, { partitionKey: keyOf(stream) }).fetchAll(),
        { reads: true },
      );
      const bins = found.resources.toSorted((a, b) => a.number - b.number);
      if (bins.some(({ number }, index) => number !== index)) continue;
      if (bins.length === 0) return { ids: new Set<string>(), last: undefined };
      const { resource: last } = await withRetry(
        () => container.item(idOf(window, bins.length - 1), keyOf(stream)).read<Stored<E>>(),
        { reads: true },
      );
      assertFormat('bin', last?.format, last?.id);
      // Another writer has created the next bin meanwhile.
      if (!last || last.sealed) continue;
      return { ids: new Set([...bins.flatMap(({ ids }) => ids), ...last.events.map(({ id }) => id)]), last };
    }
    throw contended(window);
  }

  #fits({ count, bytes }: Pick<Bin<E>, 'count' | 'bytes'>, event: E | undefined): boolean {
    return event === undefined || (count < this.#maxEvents && bytes + bytesOf(event) <= this.#maxBytes);
  }

  /** The bin with as many of the events as fit. */
  #filled(
    stream: Stream,
    window: string,
    target: Stored<E> | undefined,
    last: Stored<E> | undefined,
    sent: readonly E[],
  ): Bin<E> {
    const number = target?.number ?? (last ? last.number + 1 : 0);
    let { count, bytes } = target ?? { count: 0, bytes: 0 };
    const events = [...(target?.events ?? [])];
    for (const event of sent) {
      if (!this.#fits({ count, bytes }, event)) break;
      events.push(event);
      count += 1;
      bytes += bytesOf(event);
    }
    const times = events.map(({ at }) => dateOf(at));
    const span = { first: Math.min(...times), last: Math.max(...times) };
    const body = { ...formatOf('bin'), window, number, sealed: false, ...span, count, bytes, events };
    return { ...stream, id: idOf(window, number), type: 'bin', ...body };
  }

  /** False if another writer was faster, or if the outcome is unknown. */
  async #write(
    stream: Stream,
    bin: Bin<E>,
    target: Stored<E> | undefined,
    last: Stored<E> | undefined,
  ): Promise<boolean> {
    const resourceBody = bin as never;
    const operations: OperationInput[] = target
      ? [{ operationType: 'Replace', id: bin.id, resourceBody, ifMatch: target._etag }]
      : [{ operationType: 'Create', resourceBody }];
    if (!target && last) {
      const seal = { operations: [{ op: 'set' as const, path: '/sealed', value: true }] };
      operations.unshift({ operationType: 'Patch', id: last.id, ifMatch: last._etag, resourceBody: seal });
    }
    try {
      await transact(this.#options.container, keyOf(stream), () => operations, { reads: false });
      return true;
    } catch (error) {
      const { kind } = failureOf(error);
      if (error instanceof AmbiguousOutcome || kind === 'conflict' || kind === 'precondition') return false;
      if (!(error instanceof Refused)) throw error;
      if (kind === 'not-found') return false;
      throw sharedError('document-refused', `Cosmos DB refused the bin ${bin.id} with ${error.code}`, {
        hint: 'Name every field of the partition key in `stream`, and check the rights of the identity.',
        cause: error,
      });
    }
  }
}

const contended = (window: string): MillraceError =>
  sharedError('contended', `Other writers changed the bins of ${window} on every attempt, or a bin is gone`, {
    hint: 'Let one writer append to a stream at a time, or append more events in one call. Keep all bins of a window, or none.',
  });

const keyOf = (stream: Stream): PartitionKey => Object.values(stream);
const idOf = (window: string, number: number): string => `bin|${window}|${number}`;
const bytesOf = (event: unknown): number => Buffer.byteLength(JSON.stringify(event)) + 1;
const byTime = (a: BinEvent, b: BinEvent): number =>
  dateOf(a.at) - dateOf(b.at) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

function dateOf(at: string | number): number {
  const ms = parseDate(at);
  if (ms !== undefined) return ms;
  throw sharedError('option-invalid', `${JSON.stringify(at)} is not a date`, {
    hint: 'Give ISO 8601, or seconds or milliseconds since 1970.',
  });
}
