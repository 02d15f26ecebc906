import { setTimeout as delay } from 'node:timers/promises';
import type { Container, OperationInput } from '@azure/cosmos';
import { type WriteGate, openWriteGate } from '../../../src/shards/gate/write-gate.ts';
import { Random } from '../../support/random.ts';
import type { Stage } from '../../support/stage.ts';

export interface Order {
  readonly id: string;
  readonly type: string;
  readonly storeId: string;
  readonly customerId: string;
  readonly n: number;
}

export interface WritersOptions {
  readonly seed: number;
  /** Gates, and writers behind each of them. */
  readonly processes: number;
  readonly each: number;
  /** Documents of a writer; in one transactional batch it writes `batch` of them. Default 20 and 1. */
  readonly documents?: number;
  readonly batch?: number;
  /** Milliseconds from one batch of a writer to its next, by a schedule: one that is late catches up. */
  readonly everyMs: number;
}

/**
 * Write Orders, wherever the gate says: each writer its own documents, of a store and a customer of its own, so that a
 * batch is one logical partition on either side. They know what each document must be; null: deleted.
 */
export class Writers {
  readonly truth = new Map<string, Order | null>();
  /** Containers in the order in which writes were admitted to them, each once in a row. */
  readonly targets: string[] = [];
  /** Writes that were answered, and the longest wait for the gate, milliseconds. */
  count = 0;
  longestMs = 0;
  readonly #stage: Stage;
  readonly #options: WritersOptions;
  readonly #stopping = new AbortController();
  readonly #gates: WriteGate[] = [];
  #running: Promise<void>[] = [];

  constructor(stage: Stage, options: WritersOptions) {
    this.#stage = stage;
    this.#options = options;
  }

  async start(): Promise<void> {
    const { processes, each, seed } = this.#options;
    for (let process = 0; process < processes; process++) {
      const gate = await openWriteGate(this.#stage.services.place.state, 'Orders', { pollMs: 20 });
      this.#gates.push(gate);
      for (let n = 0; n < each; n++)
        this.#running.push(this.#write(gate, `${process}-${n}`, new Random(seed + process * 100 + n)));
    }
  }

  /** Resolves once so many writes were answered. */
  until(count: number): Promise<void> {
    return this.#reach(() => this.count >= count);
  }

  /** Resolves once the last write was admitted to this container. */
  follow(container: string): Promise<void> {
    return this.#reach(() => this.targets.at(-1) === container);
  }

  async #reach(reached: () => boolean): Promise<void> {
    const failed = Promise.all(this.#running);
    while (!reached()) await Promise.race([delay(20), failed]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]();
  }

  expected(): Order[] {
    return [...this.truth.values()].filter((order) => order !== null).toSorted(byId);
  }

  async #write(gate: WriteGate, name: string, random: Random): Promise<void> {
    const { documents = 20, batch = 1, everyMs } = this.#options;
    const began = performance.now();
    for (let n = 0; !this.#stopping.signal.aborted; n++) {
      const changes = new Map<string, Order | null>();
      while (changes.size < batch) {
        const id = `${name}-${random.int(documents)}`;
        const known = this.truth.get(id);
        const order = { id, type: 'order', storeId: `s${name}`, customerId: `c${name}`, n };
        changes.set(id, known && random.chance(0.15) ? null : order);
      }
      const operations = [...changes].map(([id, order]): OperationInput =>
        order === null ? { operationType: 'Delete', id } : { operationType: 'Upsert', resourceBody: { ...order } },
      );
      await this.#send(gate, name, operations);
      for (const [id, order] of changes) this.truth.set(id, order);
      this.count += batch;
      const due = began + (n + 1) * everyMs - performance.now();
      if (due > 0) await delay(due);
    }
  }

  async #send(gate: WriteGate, name: string, operations: OperationInput[]): Promise<void> {
    const before = performance.now();
    using pass = await gate.enter();
    this.longestMs = Math.max(this.longestMs, performance.now() - before);
    const { container } = pass.target;
    if (this.targets.at(-1) !== container) this.targets.push(container);
    const key = container === 'Orders' ? `s${name}` : `c${name}`;
    const { code } = await this.#stage.container(container).items.batch(operations, key);
    if (code !== 200) throw new Error(`A batch of ${name} was answered ${String(code)}`);
  }
}

const byId = (a: Order, b: Order): number => (a.id < b.id ? -1 : 1);

/** The orders of a container, by their ids. */
export async function stored(container: Container): Promise<Order[]> {
  const { resources } = await container.items
    .query<Order>('SELECT c.id, c.type, c.storeId, c.customerId, c.n FROM c')
    .fetchAll();
  return resources.toSorted(byId);
}
