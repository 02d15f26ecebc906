import type { Message, Sender } from 'rhea';
import rhea from 'rhea';
import { isObject } from '../../base/json.ts';
import type { PartitionLog, StoredEvent } from './partition-log.ts';
import { PARTITION_KEY } from './producing.ts';
import { AmqpRefusal } from './refusal.ts';
import { hubStartOf } from './selector.ts';

/** How many consumers without an owner level may read a partition in one consumer group at the same time. */
const MOST_READERS = 5;

/** A consumer's link: sends the events of its partition while the link has credit. */
export class Consumer {
  readonly #sender: Sender;
  readonly #log: PartitionLog;
  readonly #unfollow: () => void;
  #next: number;
  /** Owner level; undefined: the consumer owns nothing, and others may read too. */
  readonly epoch: number | undefined;

  /** @throws AmqpRefusal if its filter is not valid */
  constructor(sender: Sender, log: PartitionLog) {
    this.#sender = sender;
    this.#log = log;
    this.#next = hubStartOf(log, filterOf(sender));
    const epoch: unknown = (sender.properties as Record<string, unknown> | undefined)?.['com.microsoft:epoch'];
    this.epoch = epoch === undefined || epoch === null ? undefined : Number(epoch);
    const pump = (): void => this.#pump();
    sender.on('sendable', pump);
    sender.on('settled', pump);
    this.#unfollow = log.follow(pump);
  }

  end(): void {
    this.#unfollow();
  }

  /** Detaches the link, because another consumer has taken the partition. */
  disconnect(by: number): void {
    this.end();
    const why = `New receiver with higher epoch of '${by}' is created hence current receiver with epoch '${this.epoch ?? 'none'}' is getting disconnected.`;
    this.#sender.close(new AmqpRefusal('amqp:link:stolen', why).error);
  }

  #pump(): void {
    while (this.#sender.is_open() && this.#sender.sendable()) {
      const event = this.#log.events[this.#next];
      if (!event) return;
      this.#next += 1;
      this.#sender.send(delivered(event));
    }
  }
}

/** The consumers by consumer group and partition: one owner, or several without an owner level. */
export class HubReaders {
  readonly #readers = new Map<string, Set<Consumer>>();

  /**
   * Adds a consumer. One with an owner level disconnects those with the same or a lower level.
   * @throws AmqpRefusal `amqp:link:stolen` if a consumer with a higher level reads already
   */
  enter(place: string, consumer: Consumer): void {
    const present = this.#readers.get(place) ?? new Set();
    this.#readers.set(place, present);
    const highest = Math.max(-1, ...[...present].map(({ epoch = -1 }) => epoch));
    const level = consumer.epoch ?? -1;
    if (level < highest) {
      const why = `At least one receiver for the endpoint is created with epoch of '${highest}', and so ${level < 0 ? 'non-epoch receiver' : `epoch '${level}'`} is not allowed. Either reconnect with a higher epoch, or make sure all epoch receivers are closed or disconnected.`;
      throw new AmqpRefusal('amqp:link:stolen', why);
    }
    if (level < 0 && present.size >= MOST_READERS) {
      const why = `Exceeded the maximum number of allowed receivers per partition in a consumer group which is ${MOST_READERS}.`;
      throw new AmqpRefusal('amqp:resource-limit-exceeded', why);
    }
    if (level >= 0) {
      for (const other of present) other.disconnect(level);
      present.clear();
    }
    present.add(consumer);
  }

  leave(place: string, consumer: Consumer): void {
    consumer.end();
    this.#readers.get(place)?.delete(consumer);
  }
}

/** The message with the annotations that the service adds. */
function delivered({ message: encoded, sequence, offset, enqueuedAt, partitionKey }: StoredEvent): Message {
  const message: object = rhea.message.decode(encoded);
  const { message_annotations = {} } = message as Message;
  const annotations = {
    // The event's own key overrides this one, by which its batch was routed.
    ...(partitionKey !== undefined && { [PARTITION_KEY]: partitionKey }),
    ...message_annotations,
    'x-opt-sequence-number': rhea.types.wrap_long(sequence),
    'x-opt-offset': offset,
    'x-opt-enqueued-time': rhea.types.wrap_timestamp(enqueuedAt),
  };
  return Object.assign(message, { message_annotations: annotations }) as unknown as Message;
}

/** The selector's text, a described value in the filter set of the link's source. */
function filterOf(sender: Sender): string | undefined {
  const filters: unknown = sender.source.filter;
  const filter = isObject(filters) ? filters['apache.org:selector-filter:string'] : undefined;
  const text: unknown = isObject(filter) ? filter['value'] : filter;
  return typeof text === 'string' ? text : undefined;
}
