/** One stored event. */
export interface StoredEvent {
  readonly sequence: number;
  /** As the service gives it: a number as text, rising, with gaps. */
  readonly offset: string;
  /** Milliseconds since 1970. */
  readonly enqueuedAt: number;
  /** What its batch was routed by; the message may have one of its own. */
  readonly partitionKey: string | undefined;
  /** The AMQP message as the producer encoded it. */
  readonly message: Buffer;
}

/** What a producer's message says before it has a place. */
export type NewEvent = Pick<StoredEvent, 'message' | 'partitionKey'>;

/** One partition: events in the order in which they came. Nothing is ever taken out (no retention). */
export class PartitionLog {
  readonly id: string;
  readonly events: StoredEvent[] = [];
  readonly #readers = new Set<() => void>();
  #bytes = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** All or none of a batch, with one time. */
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
