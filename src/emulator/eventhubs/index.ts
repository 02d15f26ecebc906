import { randomBytes } from 'node:crypto';
import rhea from 'rhea';
import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { seeded } from '../random.ts';
import { Broker, type EventHubFaults } from './broker.ts';
import { Journal } from './journal.ts';
import { type HubOptions, Namespace } from './namespace.ts';
import type { StoredEvent } from './partition-log.ts';
import { keyOf } from './producing.ts';
import type { AccessKey } from './tokens.ts';

export type { EventHubFaults } from './broker.ts';
export type { HubOptions } from './namespace.ts';

export interface EventHubsOptions {
  /** The hubs there are, by name. */
  readonly hubs: Readonly<Record<string, HubOptions>>;
  /** 0 (default): any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. What it is told crosses the network unencrypted. */
  readonly host?: string;
  /** Folder to keep the events in; absent: in memory. */
  readonly data?: string;
  /** Bytes; default 1 MB, as in the Standard tier. */
  readonly maxMessageBytes?: number;
  /** Keys beside the one of `connectionString`, for instance with fewer rights. */
  readonly keys?: readonly AccessKey[];
  readonly faults?: EventHubFaults;
  /** Makes faults repeatable, as far as clients are. */
  readonly seed?: number;
}

/** An event as it is stored, for tests to look at. */
export interface PublishedEvent {
  readonly partition: string;
  readonly sequence: number;
  readonly enqueuedAt: Date;
  readonly partitionKey?: string;
  readonly messageId?: unknown;
  readonly properties: Readonly<Record<string, unknown>>;
  /** Parsed where it is JSON, else its bytes. */
  readonly body: unknown;
}

export interface EventHubs {
  /** With `UseDevelopmentEmulator=true`, by which Microsoft's clients use plain TCP. */
  readonly connectionString: string;
  readonly port: number;
  /** The same with another key that it knows. */
  connectionStringOf(key: Pick<AccessKey, 'name' | 'key'>): string;
  /** What a hub holds, partition by partition, each in its order. */
  events(hub: string): PublishedEvent[];
  faults(faults: EventHubFaults): void;
  /** Detaches every producer and consumer. */
  dropLinks(): void;
  dropConnections(): void;
  /** Away from the network, until `resume`; what is stored stays. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

const POLICY = 'RootManageSharedAccessKey';

/**
 * Starts a stand-in for an Event Hubs namespace inside this process, over AMQP without TLS: as much as the unmodified
 * `@azure/event-hubs` clients need. docs/event-hubs.md says what it is not.
 * @throws UsageError where the port is taken or the data folder can't be used
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
    const mend = 'Stop what is listening there, name another port, or name port 0 for any free one.';
    throw new UsageError('emulator-port-in-use', `The Event Hubs stand-in can't listen on ${host}:${port}`, {
      cause,
      mend,
    });
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
  const partitionKey = keyOf(message) ?? routedBy;
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
