import type { EventContext } from 'rhea';
import rhea from 'rhea';
import { isObject } from '../../base/json.ts';
import { partitionOf } from '../../base/event-hub-partition.ts';
import type { HubEntity, Hub } from './namespace.ts';
import type { NewEvent, PartitionLog } from './partition-log.ts';

/** The AMQP message format of a batch, whose data sections are messages. */
const BATCH = 0x80013700;
export const PARTITION_KEY = 'x-opt-partition-key';

/** The events of a delivery, in their order. */
export function hubEventsOf({ message, delivery }: EventContext): NewEvent[] {
  // rhea decodes messages of the standard format, and passes on the bytes of others.
  const raw: unknown = message;
  if (!Buffer.isBuffer(raw)) return [event(raw, rhea.message.encode(raw))];
  const envelope = rhea.message.decode(raw);
  if (delivery?.format !== BATCH) return [event(envelope, raw)];
  const body: unknown = envelope['body'];
  const content: unknown = isObject(body) ? body['content'] : undefined;
  const key = hubKeyOf(envelope);
  return (Array.isArray(content) ? content : [content])
    .filter((each): each is Buffer => Buffer.isBuffer(each))
    .map((each) => ({ message: each, partitionKey: key }));
}

const event = (message: unknown, encoded: Buffer): NewEvent => ({ message: encoded, partitionKey: hubKeyOf(message) });

/** The partition key in a message's annotations. */
export function hubKeyOf(message: unknown): string | undefined {
  const annotations = isObject(message) ? message['message_annotations'] : undefined;
  const key = isObject(annotations) ? annotations[PARTITION_KEY] : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** The partition of a batch: the link's partition, else the one of its key, else each partition in turn. */
export function destination({ hub, partition }: HubEntity, [first]: readonly NewEvent[]): PartitionLog {
  const found = partition ?? hub.partitions[indexOf(hub, first?.partitionKey)];
  if (!found) throw new Error(`${hub.name} has no partitions`);
  return found;
}

const indexOf = (hub: Hub, key: string | undefined): number =>
  key === undefined ? hub.turn++ % hub.partitions.length : partitionOf(key, hub.partitions.length);
