import type { EventData, EventDataBatch, EventHubProducerClient } from '@azure/event-hubs';
import { type Clock, systemClock } from '../base/clock.ts';
import { sharedError } from '../base/shared-errors.ts';
import { type MillraceError, abortReason, messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import { partitionOf } from '../base/event-hub-partition.ts';
import { type SpanAttributes, inChildSpan } from '../base/telemetry/spans.ts';
import { until } from '../base/until.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import { guarded } from './guarded-signal.ts';

/** An event and its partition key. Events of one key keep their order. */
export interface HubMessage {
  readonly partitionKey: string;
  readonly event: EventData;
}

/** Events that are too large for any batch, by index. */
export type Oversized = ReadonlyMap<number, { readonly bytes: number; readonly limit: number }>;

export interface EventHubSinkOptions {
  /** Timeout of the first attempt to send, milliseconds. It doubles with each attempt, up to a minute. */
  readonly attemptMs?: number;
  /** After this time a send fails, and the page is read again, milliseconds. */
  readonly patienceMs?: number;
  readonly clock?: Clock;
}

/** The batches of a partition, in their order. */
interface Lane {
  readonly partitionId: string;
  readonly batches: readonly EventDataBatch[];
}

/** Returns the hub's producer, or a new one `instead` of one that hangs. */
type OpenProducer = (instead?: EventHubProducerClient) => Promise<EventHubProducerClient>;

/** The event type of `tryAdd`. `EventData` has no field for the partition key. */
type Annotated = Parameters<EventDataBatch['tryAdd']>[0];

/** Consumers read the partition key of an event from this annotation. */
const PARTITION_KEY = 'x-opt-partition-key';
/** Partitions that are sent to at the same time. */
const AT_ONCE = 16;
const LONGEST_ATTEMPT_MS = 60_000;

/**
 * Publishes to one event hub. The hub's own hash gives each key its partition, so that one batch takes the events of many
 * keys. The batches of a partition are sent one after the other: each waits until the hub has the one before. A batch
 * whose outcome is unknown is sent again unchanged, so a duplicate event has the same message id. Each event carries its
 * key, as an event of .NET's buffered producer does.
 */
export class EventHubSink {
  readonly hub: string;
  readonly #open: OpenProducer;
  readonly #attemptMs: number;
  readonly #patienceMs: number;
  readonly #clock: Clock;
  /**
   * Cached after the first answer: the hub hashes over the same number, and a new number of partitions moves keys anyway.
   * Before that each publish asks under its own fence, so that the end of one fence doesn't fail the others.
   */
  #partitionIds: readonly string[] | undefined;

  constructor(hub: string, open: OpenProducer, options: EventHubSinkOptions = {}) {
    this.hub = hub;
    this.#open = open;
    this.#attemptMs = options.attemptMs ?? 10_000;
    this.#patienceMs = options.patienceMs ?? 60_000;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Resolves when the hub has every event. If some are too large, it sends nothing and returns those.
   * @throws MillraceError retryable `missing`, `denied`, `unavailable`; the fence's errors
   */
  async publish(messages: readonly HubMessage[], fence: Fence): Promise<Oversized> {
    const ids = (this.#partitionIds ??= await this.#attempt(fence, (producer, on) => producer.getPartitionIds(on)));
    const lanes = Map.groupBy(messages.entries(), ([, { partitionKey }]) => ids[partitionOf(partitionKey, ids.length)]);
    const oversized = new Map<number, { bytes: number; limit: number }>();
    const packed: Lane[] = [];
    for (const [partitionId = '0', lane] of lanes)
      packed.push({ partitionId, batches: await this.#pack(partitionId, lane, oversized, fence) });
    if (oversized.size > 0) return oversized;
    const send = async ({ partitionId, batches }: Lane): Promise<void> => {
      for (const batch of batches) {
        await this.#attempt(fence, (producer, on) =>
          inChildSpan(
            () => ({ name: `send ${this.hub}`, kind: 'producer', attributes: this.#sending(partitionId, batch.count) }),
            () => producer.sendBatch(batch, on),
          ),
        );
      }
    };
    await mapSettled(packed, send, { concurrency: AT_ONCE });
    return oversized;
  }

  #sending(partitionId: string, events: number): SpanAttributes {
    return {
      'messaging.system': 'eventhubs',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': this.hub,
      'messaging.destination.partition.id': partitionId,
      'messaging.batch.message_count': events,
    };
  }

  async #pack(
    partitionId: string,
    lane: readonly (readonly [number, HubMessage])[],
    oversized: Map<number, { bytes: number; limit: number }>,
    fence: Fence,
  ): Promise<EventDataBatch[]> {
    const open = (): Promise<EventDataBatch> =>
      this.#attempt(fence, (producer, on) => producer.createBatch({ partitionId, ...on }));
    let batch = await open();
    const batches = [batch];
    for (const [index, message] of lane) {
      const event = annotated(message);
      if (batch.tryAdd(event)) continue;
      if (batch.count > 0) {
        batch = await open();
        batches.push(batch);
        if (batch.tryAdd(event)) continue;
      }
      oversized.set(index, { bytes: sizeOf(message.event), limit: batch.maxSizeInBytes });
    }
    return batches.filter(({ count }) => count > 0);
  }

  /** Tries until it succeeds, the fence throws, a retry can't help, or the time is up. */
  async #attempt<T>(
    fence: Fence,
    run: (producer: EventHubProducerClient, on: { abortSignal: ReturnType<typeof guarded> }) => Promise<T>,
  ): Promise<T> {
    const start = this.#clock.monotonic();
    let hanging: EventHubProducerClient | undefined;
    for (let tries = 0; ; tries++) {
      fence.assert();
      const within = Math.min(LONGEST_ATTEMPT_MS, this.#attemptMs * 2 ** Math.min(tries, 16));
      const late = AbortSignal.timeout(within);
      let producer: EventHubProducerClient | undefined;
      try {
        producer = await this.#open(hanging);
        // When a link breaks, the answers to its requests are lost, and the client waits for them: the timeout ends that.
        const signal = AbortSignal.any([fence.signal, late]);
        return await until(run(producer, { abortSignal: guarded(signal) }), signal);
      } catch (error) {
        // A producer that was aborted while it connected may hang for ever.
        hanging = late.aborted && tries > 0 ? producer : undefined;
        if (fence.signal.aborted) throw abortReason(fence.signal);
        const final = hubFailure(error, this.hub);
        if (final) throw final;
        if (this.#clock.monotonic() - start > this.#patienceMs) {
          const why = `Event hub ${this.hub} accepted nothing for ${Math.round(this.#patienceMs / 1000)} s: ${messageOf(error)}`;
          throw sharedError('unavailable', why, {
            hint: 'Check that the namespace is reachable. The unpublished events wait, in their order.',
            cause: error,
          });
        }
      }
      await this.#clock.sleep(Math.min(5_000, 50 * 2 ** Math.min(tries, 7)) * (0.5 + Math.random()), fence.signal);
    }
  }
}

/**
 * The error to throw if another attempt to send can't help; undefined if it may. It is retryable all the same: the page is
 * read again until the hub exists and the identity has the right.
 */
export function hubFailure(error: unknown, hub: string): MillraceError | undefined {
  const code = isObject(error) ? error['code'] : undefined;
  if (code === 'MessagingEntityNotFoundError') {
    const why = `There is no event hub or consumer group ${hub}: ${messageOf(error)}`;
    return sharedError('missing', why, {
      hint: 'Create the event hub (and the consumer group) in the namespace, or correct its name in the pipeline.',
      retryable: true,
      cause: error,
    });
  }
  if (code === 'UnauthorizedError')
    return sharedError('denied', `Event hub ${hub} refused access: ${messageOf(error)}`, {
      hint: 'Check the key in `EVENTHUBS`, or give the identity the roles "Azure Event Hubs Data Sender" (publish) and "Azure Event Hubs Data Receiver" (ingest).',
      retryable: true,
      cause: error,
    });
  return undefined;
}

/** The event with its key, like an event whose key the hub has hashed (ASM-H10). */
const annotated = ({ partitionKey, event }: HubMessage): Annotated => ({
  body: event.body as unknown,
  bodyType: 'data',
  messageAnnotations: { [PARTITION_KEY]: partitionKey },
  properties: {
    ...(event.messageId !== undefined && { messageId: event.messageId }),
    ...(event.contentType !== undefined && { contentType: event.contentType }),
  },
  ...(event.properties && { applicationProperties: event.properties }),
});

const sizeOf = ({ body }: EventData): number =>
  Buffer.isBuffer(body) ? body.length : Buffer.byteLength(JSON.stringify(body) ?? '');
