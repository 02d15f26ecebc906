import { type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { Connection, Container, EventContext, Receiver, Sender } from 'rhea';
import rhea from 'rhea';
import { Consumer, HubReaders } from './consumer.ts';
import type { Namespace } from './namespace.ts';
import type { NewEvent, PartitionLog } from './partition-log.ts';
import { destination, hubEventsOf } from './producing.ts';
import { AmqpRefusal } from './refusal.ts';
import { manage, putToken } from './requests.ts';
import { type AccessKey, Claims } from './tokens.ts';

/** Shares of batches, 0 to 1, at which a producer's link or connection breaks. */
export interface EventHubFaults {
  /** Before the batch is stored. */
  readonly failBefore?: number;
  /** After the batch is stored, before the producer gets the answer. */
  readonly failAfterEffect?: number;
}

export interface BrokerOptions {
  readonly namespace: Namespace;
  readonly keys: readonly AccessKey[];
  /** Largest message, batches included, in bytes. */
  readonly maxMessageBytes: number;
  readonly random: () => number;
  /** Makes a batch durable, before it can be read. */
  readonly store: (hub: string, log: PartitionLog, batch: readonly NewEvent[], at: number) => void;
}

const REQUESTS = ['$cbs', '$management'];

/** One connection: its claims, and the links for answers to its requests. */
interface Peer {
  readonly claims: Claims;
  readonly replies: Map<string, Sender>;
}

/** The AMQP server: accepts connections, and connects each link with the entity that its address names. */
export class Broker {
  readonly #options: BrokerOptions;
  readonly #container: Container;
  readonly #readers = new HubReaders();
  readonly #peers = new WeakMap<Connection, Peer>();
  readonly #links = new Set<Receiver | Sender>();
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  faults: EventHubFaults = {};

  constructor(options: BrokerOptions) {
    this.#options = options;
    const container = rhea.create_container({
      id: 'millrace-event-hubs',
      receiver_options: { autoaccept: false, max_message_size: options.maxMessageBytes },
    });
    this.#container = container;
    const { sasl_server_mechanisms: mechanisms } = container;
    // A client's token decides what it may do. SASL decides nothing, as with the service's own clients.
    mechanisms.enable_anonymous();
    mechanisms.enable_plain((name: string, key: string) =>
      options.keys.some((one) => one.name === name && one.key === key),
    );
    mechanisms['EXTERNAL'] = () => ({
      outcome: undefined,
      username: undefined,
      start(this: { outcome?: boolean }) {
        this.outcome = true;
      },
    });
    container.on('receiver_open', (context) => this.#receiverOpen(context));
    container.on('sender_open', (context) => this.#senderOpen(context));
    container.on('message', (context) => this.#message(context));
    container.on('receiver_close', ({ receiver }) => receiver && this.#links.delete(receiver));
    container.on('sender_close', ({ sender }) => sender && this.#links.delete(sender));
    // A client may disappear at any time; that is no error of the server.
    for (const name of [
      'disconnected',
      'connection_error',
      'session_error',
      'receiver_error',
      'sender_error',
      'protocol_error',
      'error',
    ])
      container.on(name, () => undefined);
  }

  async listen(port: number, host: string): Promise<number> {
    const server = this.#container.listen({ port, host });
    server.on('connection', (socket) => {
      // Else a second small answer waits until the client has acknowledged the first, 40 ms.
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    await once(server, 'listening');
    this.#server = server;
    const address = server.address();
    return typeof address === 'object' && address ? address.port : port;
  }

  /** Accepts connections again after `close`. */
  async resume(port: number, host: string): Promise<void> {
    if (!this.#server?.listening) await this.listen(port, host);
  }

  /** Breaks every connection and accepts no new ones. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server?.listening) return;
    server.close();
    this.dropConnections();
    await once(server, 'close');
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Detaches the links of producers and consumers, like the service when it moves a partition. */
  dropLinks(): void {
    for (const link of this.#links) detach(link);
  }

  #peer(connection: Connection): Peer {
    const known = this.#peers.get(connection) ?? { claims: new Claims(), replies: new Map<string, Sender>() };
    this.#peers.set(connection, known);
    return known;
  }

  /** A producer, or one half of a request link. */
  #receiverOpen({ receiver, connection }: EventContext): void {
    const address = receiver?.target?.address ?? '';
    if (!receiver) return;
    const open = (): void => {
      receiver.set_target({ address });
      receiver.set_source({ address: '' });
    };
    if (REQUESTS.includes(address)) return open();
    refusing(receiver, () => {
      this.#options.namespace.entity(address);
      this.#peer(connection).claims.assert('Send', address);
      open();
      this.#links.add(receiver);
    });
  }

  /** A consumer, or the other half of a request link. */
  #senderOpen({ sender, connection }: EventContext): void {
    if (!sender) return;
    const address = sender.source?.address ?? '';
    const open = (): void => {
      sender.set_source(sender.source);
      sender.set_target({ address: sender.target?.address ?? '' });
    };
    const peer = this.#peer(connection);
    if (REQUESTS.includes(address)) {
      peer.replies.set(sender.name, sender);
      return open();
    }
    refusing(sender, () => {
      const { partition, consumerGroup } = this.#options.namespace.entity(address);
      if (!partition || consumerGroup === undefined)
        throw new AmqpRefusal('amqp:not-found', `The messaging entity '${address}' could not be found.`);
      peer.claims.assert('Listen', address);
      const consumer = new Consumer(sender, partition);
      const place = address.toLowerCase();
      try {
        this.#readers.enter(place, consumer);
      } catch (error) {
        consumer.end();
        throw error;
      }
      const leave = (): void => this.#readers.leave(place, consumer);
      sender.once('sender_close', leave);
      connection.once('disconnected', leave);
      open();
      this.#links.add(sender);
    });
  }

  #message(context: EventContext): void {
    const { receiver, connection, delivery, message } = context;
    const address = receiver?.target?.address ?? '';
    if (!receiver || !delivery || !message) return;
    if (REQUESTS.includes(address)) {
      const peer = this.#peer(connection);
      const { namespace, keys } = this.#options;
      const reply = address === '$cbs' ? putToken(message, peer.claims, keys) : manage(message, namespace, peer.claims);
      delivery.accept();
      peer.replies.get(String(message['reply_to']))?.send(reply);
      return;
    }
    this.#produced(context, address);
  }

  #produced(context: EventContext, address: string): void {
    const { receiver, delivery, connection } = context;
    // A message to a link that is being detached is dropped.
    if (!receiver?.is_open() || !delivery) return;
    const { namespace, maxMessageBytes, random, store } = this.#options;
    const { failBefore = 0, failAfterEffect = 0 } = this.faults;
    if (random() < failBefore) return this.#break(receiver, connection);
    const batch = hubEventsOf(context);
    const bytes = batch.reduce((sum, event) => sum + event.message.length, 0);
    if (bytes > maxMessageBytes) {
      const why = `The received message (size:${bytes} bytes) exceeds the limit (${maxMessageBytes} bytes) currently allowed on the link.`;
      return delivery.reject(new AmqpRefusal('amqp:link:message-size-exceeded', why).error);
    }
    const entity = namespace.entity(address);
    const log = destination(entity, batch);
    const at = Date.now();
    try {
      store(entity.hub.name, log, batch, at);
    } catch (error) {
      if (!(error instanceof AmqpRefusal)) throw error;
      return delivery.reject(error.error);
    }
    log.append(batch, at);
    if (random() < failAfterEffect) return this.#break(receiver, connection);
    delivery.accept();
  }

  #break(receiver: Receiver, connection: Connection): void {
    if (this.#options.random() < 0.5) detach(receiver);
    else (connection as unknown as { socket: Socket }).socket.destroy();
  }
}

function detach(link: Receiver | Sender): void {
  link.close(new AmqpRefusal('amqp:link:detach-forced', `The link '${link.name}' is force detached.`).error);
}

/** Opens a link. A refused link is attached and immediately detached with the reason, as AMQP requires. */
function refusing(link: Receiver | Sender, open: () => void): void {
  try {
    open();
  } catch (error) {
    if (!(error instanceof AmqpRefusal)) throw error;
    link.close(error.error);
  }
}
