import { randomBytes } from 'node:crypto';
import rhea from 'rhea';
import { isObject } from '../../base/json.ts';
import { seeded } from '../random.ts';
import { Broker, type EventHubFaults } from './broker.ts';
import { Journal } from './journal.ts';
import { type HubOptions, Namespace } from './namespace.ts';
import type { StoredEvent } from './partition-log.ts';
import { hubKeyOf } from './producing.ts';
import type { AccessKey } from './tokens.ts';
import { sharedError } from '../../base/shared-errors.ts';

export type { EventHubFaults } from './broker.ts';
export type { HubOptions } from './namespace.ts';

export interface EventHubsOptions {
  /** The event hubs of the namespace, by name. */
  readonly hubs: Readonly<Record<string, HubOptions>>;
  /** 0 (default): any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. The traffic is not encrypted. */
  readonly host?: string;
  /** Folder for the events; absent: in memory. */
  readonly data?: string;
  /** Bytes; default 1 MB, as in the Standard tier. */
  readonly maxMessageBytes?: number;
  /** More keys than the one of `connectionString`, for example with fewer rights. */
  readonly keys?: readonly AccessKey[];
  readonly faults?: EventHubFaults;
  /** Makes faults repeatable, if the clients repeat their requests in the same order. */
  readonly seed?: number;
}

/** A stored event, for tests. */
export interface PublishedEvent {
  readonly partition: string;
  readonly sequence: number;
  readonly enqueuedAt: Date;
  readonly partitionKey?: string;
  readonly messageId?: unknown;
  readonly properties: Readonly<Record<string, unknown>>;
  /** The parsed body if it is JSON, else its bytes. */
  readonly body: unknown;
}

export interface EventHubs {
  /** With `UseDevelopmentEmulator=true`, so that Microsoft's clients use plain TCP. */
  readonly connectionString: string;
  readonly port: number;
  /** A connection string with another of the server's keys. */
  connectionStringOf(key: Pick<AccessKey, 'name' | 'key'>): string;
  /** The events of a hub, partition by partition, in the order of each. */
  events(hub: string): PublishedEvent[];
  faults(faults: EventHubFaults): void;
  /** Detaches every producer and consumer. */
  dropLinks(): void;
  dropConnections(): void;
  /** Stops listening until `resume`; stored events stay. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

const POLICY = 'RootManageSharedAccessKey';

/**
 * Starts a stand-in for an Event Hubs namespace inside this process, over AMQP without TLS. It has what the unmodified
 * `@azure/event-hubs` clients need; docs/event-hubs.md lists what it lacks.
 * @throws UsageError if another process uses the port, or the data folder can't be used
 */
export async function startEventHubs(options: EventHubsOptions): Promise<EventHubs> {
  const {
    port = 0,
    host = '127.0.0.1',
    maxMessageBytes = 1_048_576,
    seed = Math.floor(Math.random() * 2 ** 32),
  } = options;
  const root: AccessKey = { name: POLICY, key: randomBytes(32).toString('base64'), rights: ['Send', 'Listen'] };
  const namespace = new Namespace();
  for (const [name, hub] of Object.entries(options.hubs)) namespace.add(name, hub);
  const journal = options.data === undefined ? undefined : new Journal(options.data);
  journal?.load(namespace);
  const broker = new Broker({
    namespace,
    keys: [root, ...(options.keys ?? [])],
    maxMessageBytes,
    random: seeded(seed),
    store: (hub, log, batch, at) => journal?.write(hub, log, batch, at),
  });
  broker.faults = options.faults ?? {};
  const bound = await broker.listen(port, host).catch((cause: unknown) => {
    journal?.close();
    throw sharedError('cannot-listen', `The Event Hubs stand-in can't listen on ${host}:${port}`, { cause });
  });
  const connectionStringOf = ({ name, key }: Pick<AccessKey, 'name' | 'key'>): string =>
    `Endpoint=sb://${host}:${bound};SharedAccessKeyName=${name};SharedAccessKey=${key};UseDevelopmentEmulator=true`;
  return {
    connectionString: connectionStringOf(root),
    port: bound,
    connectionStringOf,
    events: (hub) =>
      namespace.hub(hub).partitions.flatMap(({ id, events }) => events.map((event) => published(id, event))),
    faults: (faults) => void (broker.faults = faults),
    dropLinks: () => broker.dropLinks(),
    dropConnections: () => broker.dropConnections(),
    suspend: () => broker.close(),
    resume: () => broker.resume(bound, host),
    close: async () => {
      await broker.close();
      journal?.close();
    },
  };
}

function published(
  partition: string,
  { sequence, enqueuedAt, partitionKey: routedBy, message: encoded }: StoredEvent,
): PublishedEvent {
  const message = rhea.message.decode(encoded);
  const partitionKey = hubKeyOf(message) ?? routedBy;
  const body: unknown = message['body'];
  const content: unknown = isObject(body) ? body['content'] : body;
  const properties: unknown = message['application_properties'];
  return {
    partition,
    sequence,
    enqueuedAt: new Date(enqueuedAt),
    ...(partitionKey !== undefined && { partitionKey }),
    messageId: message['message_id'] as unknown,
    properties: isObject(properties) ? properties : {},
    body: parsed(content),
  };
}

function parsed(content: unknown): unknown {
  if (!Buffer.isBuffer(content)) return content;
  try {
    return JSON.parse(content.toString('utf8'));
  } catch {
    return content;
  }
}
