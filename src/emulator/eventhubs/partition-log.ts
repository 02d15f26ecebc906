/** One stored event. */
export interface StoredEvent {
  readonly sequence: number;
  /** In the service's form: a number as text, ascending, with gaps. */
  readonly offset: string;
  /** Milliseconds since 1970. */
  readonly enqueuedAt: number;
  /** The key by which its batch was routed; the message may have a key of its own. */
  readonly partitionKey: string | undefined;
  /** The AMQP message as the producer encoded it. */
  readonly message: Buffer;
}

/** A producer's event before it is stored. */
export type NewEvent = Pick<StoredEvent, 'message' | 'partitionKey'>;

/** One partition: events in the order in which they arrived. There is no retention, so events are never removed. */
export class PartitionLog {
  readonly id: string;
  readonly events: StoredEvent[] = [];
  readonly #readers = new Set<() => void>();
  #bytes = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** Adds a batch, with one time for all its events. */
  append(batch: readonly NewEvent[], enqueuedAt: number): void {
    for (const event of batch) {
      this.events.push({ ...event, sequence: this.events.length, offset: String(this.#bytes), enqueuedAt });
      this.#bytes += event.message.length;
    }
    for (const wake of this.#readers) wake();
  }

  get last(): StoredEvent | undefined {
    return this.events.at(-1);
  }

  /** Calls `wake` after every append, until the returned function is called. */
  follow(wake: () => void): () => void {
    this.#readers.add(wake);
    return () => void this.#readers.delete(wake);
  }
}
