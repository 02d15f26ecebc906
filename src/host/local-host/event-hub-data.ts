import type { ReceivedEventData } from '@azure/event-hubs';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { Invocation, TypedData } from './core.ts';
import { rewriteDates } from './host-json.ts';

/** What the binding of an Event Hubs trigger says of how its events come. */
export interface EventShape {
  /** `many`: a batch an invocation; else one event. */
  readonly cardinality: 'one' | 'many';
  /** `binary`: as bytes; `string`: as text; `json`, where a binding says nothing: parsed by the host. */
  readonly dataType: 'binary' | 'string' | 'json';
}

/** An event as a trigger reads it. */
export interface TriggerEvent extends Pick<
  ReceivedEventData,
  'body' | 'properties' | 'systemProperties' | 'sequenceNumber' | 'offset' | 'enqueuedTimeUtc'
> {
  readonly partitionKey?: string | null;
}

/** The place that the events of an invocation come from. */
export interface TriggerPlace {
  readonly hub: string;
  readonly consumerGroup: string;
  readonly partition: string;
}

/**
 * Events as the host hands them to the worker: the bodies as the binding wants them, what else it knows of them beside
 * them, as one list a property where the binding takes many.
 * @throws MillraceError `event-not-json` where the host would fail to bind one: it gives up the batch then
 */
export function invocationOf(
  events: readonly TriggerEvent[],
  { cardinality, dataType }: EventShape,
  { hub, consumerGroup, partition }: TriggerPlace,
): Pick<Invocation, 'data' | 'triggerMetadata'> {
  const bodies = events.map(({ body }) => bytesOf(body));
  const known: Readonly<Record<string, readonly unknown[]>> = {
    SequenceNumber: events.map(({ sequenceNumber }) => sequenceNumber),
    Offset: events.map(({ offset }) => offset),
    EnqueuedTimeUtc: events.map(({ enqueuedTimeUtc }) => enqueuedTimeUtc.toISOString()),
    PartitionKey: events.map(({ partitionKey }) => partitionKey ?? null),
    Properties: events.map(({ properties }) => properties ?? {}),
    SystemProperties: events.map(({ systemProperties }) => systemProperties ?? {}),
  };
  const json = (value: unknown): TypedData => ({ json: JSON.stringify(value) });
  const columns = Object.entries(known).map(([name, values]): [string, TypedData] =>
    cardinality === 'many' ? [`${name}Array`, json(values)] : [name, json(values[0])],
  );
  const context = { EventHubName: hub, ConsumerGroup: consumerGroup, PartitionId: partition };
  return {
    data: cardinality === 'many' ? many(bodies, dataType) : one(bodies[0] ?? Buffer.alloc(0), dataType),
    triggerMetadata: { PartitionContext: json(context), ...Object.fromEntries(columns) },
  };
}

function many(bodies: readonly Buffer[], dataType: EventShape['dataType']): TypedData {
  if (dataType === 'binary') return { collectionBytes: { bytes: bodies } };
  if (dataType === 'string') return { collectionString: { string: bodies.map((body) => body.toString('utf8')) } };
  return { json: JSON.stringify(bodies.map(parsed)) };
}

function one(body: Buffer, dataType: EventShape['dataType']): TypedData {
  if (dataType === 'binary') return { bytes: body };
  if (dataType === 'string') return { string: body.toString('utf8') };
  return { json: JSON.stringify(parsed(body)) };
}

function parsed(body: Buffer): unknown {
  try {
    return rewriteDates(JSON.parse(body.toString('utf8')));
  } catch (cause) {
    const mend = "Bind it with dataType: 'binary', and parse each event in the function.";
    throw new MillraceError('event-not-json', `An event is no JSON, as the host binds it: ${messageOf(cause)}`, {
      cause,
      mend,
    });
  }
}

/** As producers send them; what came as an AMQP value has no bytes of its own. */
const bytesOf = (body: unknown): Buffer =>
  body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body ?? null), 'utf8');
