import type { ReceivedEventData } from '@azure/event-hubs';
import { type Clock, systemClock } from '../base/clock.ts';
import { emit } from '../base/telemetry/diagnostics.ts';
import { type SpanOptions, inSpan } from '../base/telemetry/spans.ts';
import { Meter } from '../cosmos/budget/charge-meter.ts';
import { type IngestSpec, projectionId } from '../pipeline/specs.ts';
import type { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import type { ProjectionStats } from '../engine/engine.ts';
import type { ErasureWatch } from '../engine/erasures/watch.ts';
import type { ViewControl } from '../engine/views/view-control.ts';
import { hubFailure } from '../access/event-hub.ts';
import type { HubClients } from '../access/hub-clients.ts';
import { HubReader } from './hub-reader.ts';
import type { IngestSink } from './sink.ts';
import { type RawEvent, type IngestTarget, ingestFence, takeEvents } from './take.ts';

export interface IngestorOptions {
  readonly spec: IngestSpec;
  readonly target: IngestTarget;
  readonly hubs: HubClients;
  readonly sink: IngestSink;
  readonly deadLetters: DeadLetters;
  /** Makes the ingestor wait where it has to; without it, the ingestor never waits. */
  readonly control?: ViewControl;
  /** Which tenants are erased: their events are dropped. Absent: the pipeline declares no tenant. */
  readonly erasures?: ErasureWatch | undefined;
  /** This host's name, by which it owns its partitions again after a restart. */
  readonly host: string;
  readonly clock?: Clock;
}

const BATCH = 500;
/** A client that can't reach its hub says so again within this time. */
const FAILING_MS = 90_000;

/**
 * Reads an event hub together with other hosts and creates a document for each event. A partition's checkpoint passes
 * an event only when its document is durable or the event is a dead letter. An event that comes again finds its
 * document.
 */
export class Ingestor {
  readonly stats: ProjectionStats;
  readonly #options: IngestorOptions;
  readonly #reader: HubReader;
  #failed: { readonly error: unknown; readonly at: number } | undefined;

  constructor(options: IngestorOptions) {
    const { spec, hubs, host, clock = systemClock } = options;
    this.#options = options;
    this.stats = { id: projectionId(spec), changes: 0, parked: 0, meter: new Meter(), idle: false };
    this.#reader = new HubReader({
      hubs,
      hub: spec.from,
      consumerGroup: spec.consumerGroup,
      host,
      batch: BATCH,
      handle: (events, partition, signal) =>
        inSpan(
          () => ingestSpan(spec, partition, events.length),
          () => this.#take(events, partition, signal),
        ),
      failed: (error, lease) => {
        const failure = hubFailure(error, `${spec.from} (consumer group ${spec.consumerGroup})`) ?? error;
        this.#failed = { error: failure, at: clock.monotonic() };
        emit('feed:failed', { container: `event hub ${spec.from}`, lease, error: failure });
      },
      clock,
    });
  }

  get hub(): string {
    return this.#options.spec.from;
  }

  /** Why the hub can't be read now; undefined: it can. */
  get failure(): unknown {
    const { clock = systemClock } = this.#options;
    return this.#failed && clock.monotonic() - this.#failed.at < FAILING_MS ? this.#failed.error : undefined;
  }

  /** @throws UsageError if the hub, the right to it or the checkpoint store is missing */
  start(): Promise<void> {
    return this.#reader.start();
  }

  /** Gives the partitions back; events that aren't durable by then come again. */
  async stop(): Promise<void> {
    await this.#reader.stop();
    await this.#options.sink.close();
  }

  /** True if every event that the hub has now is taken, by this host or another. */
  caughtUp(): Promise<boolean> {
    return this.#reader.caughtUp();
  }

  async #take(events: readonly ReceivedEventData[], partition: string, signal: AbortSignal): Promise<void> {
    const { spec, target, sink, deadLetters, control, erasures, clock = systemClock } = this.#options;
    const fence = ingestFence(signal, erasures, clock);
    await control?.admitEvents(spec.name, fence);
    const access = await sink.open(fence, this.stats.meter, 'live');
    const raw = events.map((event) => rawEvent(event, partition));
    const { refusals } = await takeEvents(spec, target, raw, access, await erasures?.current());
    await deadLetters.park(this.stats.id, refusals, new Date(clock.now()), { whole: true, fence });
    for (const { change, error } of refusals)
      emit('engine:parked', { projection: this.stats.id, container: spec.from, id: change.id, error });
    this.#failed = undefined;
    this.stats.changes += events.length;
    this.stats.parked += refusals.length;
  }
}

const ingestSpan = (spec: IngestSpec, partition: string, events: number): SpanOptions => ({
  name: 'millrace.ingest',
  kind: 'consumer',
  attributes: {
    'millrace.projection': projectionId(spec),
    'messaging.system': 'eventhubs',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': spec.from,
    'messaging.destination.partition.id': partition,
    'messaging.consumer.group.name': spec.consumerGroup,
    'messaging.batch.message_count': events,
  },
  root: true,
});

const rawEvent = (event: ReceivedEventData, partition: string): RawEvent => ({
  body: event.body as RawEvent['body'],
  properties: event.properties ?? {},
  ...(event.partitionKey ? { partitionKey: event.partitionKey } : {}),
  partition,
  sequence: event.sequenceNumber,
  offset: event.offset,
  enqueuedAt: event.enqueuedTimeUtc,
});
