import type { EventData, EventDataBatch, EventHubProducerClient } from '@azure/event-hubs';
import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError, abortReason, messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import { partitionOf } from '../base/partition-hash.ts';
import type { Fence } from '../feed/tenure/fence.ts';

/** An event and what it keeps its order within. */
export interface HubMessage {
  readonly partitionKey: string;
  readonly event: EventData;
}

/** Events that no batch takes, by index. */
export type Oversized = ReadonlyMap<number, { readonly bytes: number; readonly limit: number }>;

export interface EventHubSinkOptions {
  /** Milliseconds that the first attempt of a send may take; each further one takes twice that, up to a minute. */
  readonly attemptMs?: number;
  /** Milliseconds after which a send gives up, for the page to be read again. */
  readonly patienceMs?: number;
  readonly clock?: Clock;
}

/** The hub's producer; `instead` of one that hangs, another. */
type OpenProducer = (instead?: EventHubProducerClient) => Promise<EventHubProducerClient>;

/** What a batch takes; an event as the client has it can't say its partition key. */
type Annotated = Parameters<EventDataBatch['tryAdd']>[0];

/** The annotation that consumers read as the event's partition key. */
const PARTITION_KEY = 'x-opt-partition-key';
/** Partitions sent to at once. */
const AT_ONCE = 16;
const LONGEST_ATTEMPT_MS = 60_000;

/**
 * Publishes to one event hub. Events of one key go to one partition, by the hub's own hash, so that a batch takes the
 * events of many keys; a partition's batches go out one after the other, and the next only once the hub has the one
 * before. A batch whose outcome is unknown is sent again as it is: what comes twice comes with the same message id. Each
 * event says its key, as .NET's buffered producer has it.
 */
export class EventHubSink {
  readonly hub: string;
  readonly #open: OpenProducer;
  readonly #attemptMs: number;
  readonly #patienceMs: number;
  readonly #clock: Clock;
  /**
   * Kept once known: the hub hashes over the same number, and a change of it moves keys anyway. Until then each publish
   * asks under its own fence, whose end is no matter of the others.
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
   * Resolves when the hub has every event. Where some are larger than it takes, nothing is sent, and they are returned.
   * @throws MillraceError retryable `event-hub-missing`, `event-hub-denied`, `event-hub-unreachable`; what the fence throws
   */
  async publish(messages: readonly HubMessage[], fence: Fence): Promise<Oversized> {
    const ids = (this.#partitionIds ??= await this.#attempt(fence, (producer, on) => producer.getPartitionIds(on)));
    const lanes = Map.groupBy(messages.entries(), ([, { partitionKey }]) => ids[partitionOf(partitionKey, ids.length)]);
    const oversized = new Map<number, { bytes: number; limit: number }>();
    const packed: EventDataBatch[][] = [];
    for (const [partitionId = '0', lane] of lanes) packed.push(await this.#pack(partitionId, lane, oversized, fence));
    if (oversized.size > 0) return oversized;
    const send = async (batches: readonly EventDataBatch[]): Promise<void> => {
      for (const batch of batches) await this.#attempt(fence, (producer, on) => producer.sendBatch(batch, on));
    };
    await mapSettled(packed, send, { concurrency: AT_ONCE });
    return oversized;
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

  /** Tries until it succeeds, the fence says stop, trying again is of no use, or patience is used up. */
  async #attempt<T>(
    fence: Fence,
    run: (producer: EventHubProducerClient, on: { abortSignal: AbortSignal }) => Promise<T>,
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
        // A link that breaks takes the answer to what is on its way with it, and the client waits for that: it is ended.
        return await run(producer, { abortSignal: AbortSignal.any([fence.signal, late]) });
      } catch (error) {
        // One that was told to stop while it connected may hang for good.
        hanging = late.aborted && tries > 0 ? producer : undefined;
        if (fence.signal.aborted) throw abortReason(fence.signal);
        const final = hubFailure(error, this.hub);
        if (final) throw final;
        if (this.#clock.monotonic() - start > this.#patienceMs) {
          const why = `Event hub ${this.hub} took nothing for ${Math.round(this.#patienceMs / 1000)} s: ${messageOf(error)}`;
          throw new MillraceError('event-hub-unreachable', why, { cause: error, retryable: true, mend: MEND });
        }
      }
      await this.#clock.sleep(Math.min(5_000, 50 * 2 ** Math.min(tries, 7)) * (0.5 + Math.random()), fence.signal);
    }
  }
}

const MEND = 'Check that the namespace is reachable; what is to be published waits, in its order.';

/**
 * What another attempt doesn't mend, in words; undefined where it may. Retryable all the same: the page is read again until
 * somebody has created the hub or given the right.
 */
export function hubFailure(error: unknown, hub: string): MillraceError | undefined {
  const code = isObject(error) ? error['code'] : undefined;
  if (code === 'MessagingEntityNotFoundError') {
    const mend = 'Create the event hub (and the consumer group) in the namespace, or correct its name in the pipeline.';
    const why = `There is no event hub or consumer group ${hub}: ${messageOf(error)}`;
    return new MillraceError('event-hub-missing', why, { cause: error, retryable: true, mend });
  }
  if (code === 'UnauthorizedError') {
    const mend =
      'Check the key in EVENTHUBS, or give the identity the roles "Azure Event Hubs Data Sender" (publish) and "Azure Event Hubs Data Receiver" (ingest).';
    const why = `Event hub ${hub} refused us: ${messageOf(error)}`;
    return new MillraceError('event-hub-denied', why, { cause: error, retryable: true, mend });
  }
  return undefined;
}

/** The event with its key, as it would have it if the hub had hashed it (H10). */
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
