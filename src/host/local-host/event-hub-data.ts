import type { ReceivedEventData } from '@azure/event-hubs';
import { messageOf } from '../../base/errors.ts';
import type { Invocation, TypedData } from './core.ts';
import { rewriteDates } from './host-json.ts';
import { ingestError } from '../../ingest/errors.ts';

/** How the binding of an Event Hubs trigger wants its events. */
export interface EventShape {
  /** `many`: a batch for each invocation; `one`: one event. */
  readonly cardinality: 'one' | 'many';
  /** `binary`: bytes; `string`: text; `json`, the default of a binding: the host parses the body. */
  readonly dataType: 'binary' | 'string' | 'json';
}

/** The parts of a received event that a trigger uses. */
export interface TriggerEvent extends Pick<
  ReceivedEventData,
  'body' | 'properties' | 'systemProperties' | 'sequenceNumber' | 'offset' | 'enqueuedTimeUtc'
> {
  readonly partitionKey?: string | null;
}

/** The source of the events of an invocation. */
export interface TriggerPlace {
  readonly hub: string;
  readonly consumerGroup: string;
  readonly partition: string;
}

/**
 * Events in the form that the Functions host passes to its worker: the bodies as the binding wants them, and the other
 * properties as metadata. With cardinality `many` each property is a list.
 * @throws MillraceError `event-not-json` if the host would fail to bind an event; it then drops the batch
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
    const hint = "Bind it with dataType: 'binary', and parse each event in the function.";
    throw ingestError('event-not-json', `An event is not JSON, and the host parses events: ${messageOf(cause)}`, {
      cause,
      hint,
    });
  }
}

/** The bytes that a producer sent; a body that came as an AMQP value has none, so it is written as JSON. */
const bytesOf = (body: unknown): Buffer =>
  body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body ?? null), 'utf8');
