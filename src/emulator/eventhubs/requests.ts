import type { Message } from 'rhea';
import rhea from 'rhea';
import { isObject } from '../../base/json.ts';
import { type Namespace, noPartition } from './namespace.ts';
import { AmqpRefusal } from './refusal.ts';
import type { AccessKey, Claims } from './tokens.ts';

const STATUS: Readonly<Record<string, number>> = {
  'amqp:not-found': 404,
  'amqp:unauthorized-access': 401,
};

/** The answer to a request on `$cbs`: accepts or refuses a token. */
export const putToken = (request: Message, claims: Claims, keys: readonly AccessKey[]): Message =>
  answer(request, 202, () => {
    const { name, type } = propertiesOf(request);
    claims.put(String(name), request['body'], type, keys);
    return undefined;
  });

/** The answer to a request on `$management`: the properties of a hub or of one of its partitions. */
export const manage = (request: Message, namespace: Namespace, claims: Claims): Message =>
  answer(request, 200, () => {
    const { operation, type, name, partition: id } = propertiesOf(request);
    const hub = namespace.hub(String(name));
    assertEither(claims, hub.name);
    if (operation !== 'READ')
      throw new AmqpRefusal('amqp:not-implemented', `The operation ${String(operation)} is not supported here.`);
    if (type === 'com.microsoft:eventhub') {
      return {
        name: hub.name,
        type,
        created_at: rhea.types.wrap_timestamp(hub.createdAt),
        partition_count: rhea.types.wrap_int(hub.partitions.length),
        partition_ids: rhea.types.wrap_array(
          hub.partitions.map((each) => each.id),
          0xa1,
          undefined,
        ),
        georeplication_factor: 1,
      };
    }
    const partition = hub.partitions.find((candidate) => candidate.id === id);
    if (!partition) throw noPartition(hub, String(id));
    const { last } = partition;
    return {
      name: hub.name,
      type,
      partition: partition.id,
      begin_sequence_number: rhea.types.wrap_long(last ? 0 : -1),
      last_enqueued_sequence_number: rhea.types.wrap_long(last?.sequence ?? -1),
      last_enqueued_offset: last?.offset ?? '-1',
      last_enqueued_time_utc: rhea.types.wrap_timestamp(last?.enqueuedAt ?? 0),
      is_partition_empty: !last,
    };
  });

function answer(request: Message, status: number, run: () => object | undefined): Message {
  const { message_id: correlation_id } = request;
  try {
    const body = run();
    return {
      correlation_id,
      application_properties: { 'status-code': status, 'status-description': 'OK' },
      body: body && rhea.types.wrap_map(body),
    } as Message;
  } catch (error) {
    if (!(error instanceof AmqpRefusal)) throw error;
    const application_properties = {
      'status-code': STATUS[error.condition] ?? 400,
      'status-description': error.message,
      'error-condition': error.condition,
    };
    return { correlation_id, application_properties, body: undefined } as Message;
  }
}

/** The right to send or the right to listen is enough. */
function assertEither(claims: Claims, path: string): void {
  try {
    claims.assert('Listen', path);
  } catch {
    claims.assert('Send', path);
  }
}

function propertiesOf(request: Message): Record<string, unknown> {
  const properties: unknown = request['application_properties'];
  return isObject(properties) ? properties : {};
}
