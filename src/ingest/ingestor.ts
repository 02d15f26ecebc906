import type { EventHubConsumerClient, PartitionContext, ReceivedEventData, Subscription } from '@azure/event-hubs';
import type { Database } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import { MillraceError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import { type IngestSpec, projectionId } from '../definition/kinds.ts';
import type { DeadLetters } from '../engine/dead-letters.ts';
import type { ProjectionStats } from '../engine/engine.ts';
import type { Fence } from '../feed/fence.ts';
import { CosmosSession } from '../sinks/cosmos-session.ts';
import { hubFailure } from '../sinks/event-hub.ts';
import type { HubClients, HubConsumer } from '../sinks/hub-clients.ts';
import { type RawEvent, type Target, takeEvents } from './take.ts';

export interface IngestorOptions {
  readonly spec: IngestSpec;
  readonly target: Target;
  readonly hubs: HubClients;
  readonly database: Database;
  readonly deadLetters: DeadLetters;
  /** This host's name, by which it takes its partitions up again after a restart. */
  readonly host: string;
  readonly clock?: Clock;
}

/** Most events taken at once; what is read ahead is a multiple of it. */
const BATCH = 500;

/**
 * Reads an event hub together with other hosts and creates a document for each event. A partition's checkpoint moves
 * only once all before it is durable or a dead letter; what comes again after a crash meets its own document.
 */
export class Ingestor {
  readonly stats: ProjectionStats;
  readonly #options: IngestorOptions;
  readonly #clock: Clock;
  /** Sequence number of the last event taken, by partition. */
  readonly #taken = new Map<string, number>();
  readonly #stopping = new AbortController();
  #open: { consumer: HubConsumer; subscription: Subscription } | undefined;

  constructor(options: IngestorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.stats = { id: projectionId(options.spec), changes: 0, parked: 0, meter: new Meter(), latest: 0 };
  }

  /** @throws UsageError where the hub, the right to it or the checkpoint store is missing */
  async start(): Promise<void> {
    const { hubs, spec, host } = this.#options;
    await hubs.check(spec.from, spec.consumerGroup);
    const consumer = await hubs.consumer(spec.from, spec.consumerGroup, host);
    await giveUpFormer(consumer, spec.consumerGroup, host);
    const subscription = consumer.client.subscribe(
      {
        processEvents: (events, context) => this.#take(events, context),
        processError: async (error, { partitionId }) => this.#failed(error, partitionId),
      },
      { startPosition: { offset: '-1' }, maxBatchSize: BATCH, maxWaitTimeInSeconds: 5, skipParsingBodyAsJson: true },
    );
    this.#open = { consumer, subscription };
  }

  /** Finishes the events in hand and gives the partitions back. */
  async stop(): Promise<void> {
    this.#stopping.abort(new MillraceError('aborted', 'The host is stopping'));
    const open = this.#open;
    this.#open = undefined;
    await open?.subscription.close();
    await open?.consumer.client.close();
  }

  /** True once every event that the hub held when it was asked is taken, by this host or another. */
  async caughtUp(): Promise<boolean> {
    const open = this.#open;
    if (!open) return false;
    const { client, store } = open.consumer;
    const { fullyQualifiedNamespace: namespace, eventHubName } = client;
    const checkpoints = await store.listCheckpoints(namespace, eventHubName, this.#options.spec.consumerGroup);
    for (const partition of await client.getPartitionIds()) {
      const taken = Math.max(
        this.#taken.get(partition) ?? -1,
        checkpoints.find(({ partitionId }) => partitionId === partition)?.sequenceNumber ?? -1,
      );
      if (taken < (await lastOf(client, partition))) return false;
    }
    return true;
  }

  async #take(events: readonly ReceivedEventData[], context: PartitionContext & Checkpoints): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const { spec, target, database, deadLetters } = this.#options;
    const partition = context.partitionId;
    const { signal } = this.#stopping;
    // Creating a document twice is no harm, so whoever lost the partition may finish.
    const fence: Fence = { kind: 'host', signal, assert: () => signal.throwIfAborted() };
    const raw = events.map((event) => rawEvent(event, partition));
    // The client goes on behind what throws: nothing may, until the events are taken or the host stops.
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const session = new CosmosSession(database, fence, this.stats.meter);
        const { refusals } = await takeEvents(spec, target, raw, session);
        await deadLetters.park(this.stats.id, refusals, new Date(this.#clock.now()), { whole: true });
        for (const { change, error } of refusals)
          emit('engine:parked', { projection: this.stats.id, container: spec.from, id: change.id, error });
        await context.updateCheckpoint(last);
        this.#taken.set(partition, last.sequenceNumber);
        this.stats.changes += events.length;
        this.stats.parked += refusals.length;
        this.stats.latest = Math.max(this.stats.latest, last.enqueuedTimeUtc.getTime());
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error, partition);
        await this.#clock.sleep(Math.min(30_000, 100 * 2 ** Math.min(failures, 9)), signal).catch(() => undefined);
      }
    }
  }

  #failed(error: unknown, partition: string): void {
    const { from, consumerGroup } = this.#options.spec;
    if (this.#stopping.signal.aborted) return;
    const told = hubFailure(error, `${from} (consumer group ${consumerGroup})`) ?? error;
    emit('feed:failed', { container: `event hub ${from}`, lease: partition, error: told });
  }
}

/**
 * Gives up what a host of this name still owns: it was killed, and the client would wait a minute until its own ownership
 * has expired.
 */
async function giveUpFormer({ client, store }: HubConsumer, group: string, host: string): Promise<void> {
  const owned = await store.listOwnership(client.fullyQualifiedNamespace, client.eventHubName, group);
  const former = owned.filter(({ ownerId }) => ownerId === host);
  if (former.length > 0) await store.claimOwnership(former.map((ownership) => ({ ...ownership, ownerId: '' })));
}

interface Checkpoints {
  updateCheckpoint(event: ReceivedEventData): Promise<void>;
}

async function lastOf(client: EventHubConsumerClient, partition: string): Promise<number> {
  const { isEmpty, lastEnqueuedSequenceNumber } = await client.getPartitionProperties(partition);
  return isEmpty ? -1 : lastEnqueuedSequenceNumber;
}

const rawEvent = (event: ReceivedEventData, partition: string): RawEvent => ({
  body: event.body as RawEvent['body'],
  properties: event.properties ?? {},
  ...(event.partitionKey ? { partitionKey: event.partitionKey } : {}),
  partition,
  sequence: event.sequenceNumber,
  offset: event.offset,
  enqueuedAt: event.enqueuedTimeUtc,
});
