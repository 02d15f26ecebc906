import { setTimeout as delay } from 'node:timers/promises';
import { asked } from './stage.ts';
import type { Container, Database } from '@azure/cosmos';
import type { Dice } from '../../src/testing/dice.ts';

export interface Order {
  readonly id: string;
  readonly type: 'order';
  readonly storeId: string;
  readonly customerId: string;
  readonly day: string;
  readonly cents: number;
  readonly version: number;
  readonly closedAt?: string;
  readonly bad?: boolean;
}
export interface Named {
  readonly id: string;
  readonly type: string;
  readonly storeId?: string;
  readonly name?: string;
  readonly currency?: string;
}

type Source = 'Orders' | 'Customers' | 'Stores' | 'Countries';

const STORES = 4;
const CUSTOMERS = 12;
const COUNTRIES = 5;
const CURRENCIES = ['EUR', 'USD', 'CHF'];

/** Writes the application's documents, and remembers them: the expected results are computed from them. */
export class Load {
  readonly orders = new Map<string, Order>();
  readonly customers = new Map<string, Named>();
  readonly stores = new Map<string, Named>();
  readonly countries = new Map<string, Named>();
  writes = 0;
  readonly #containers: Record<Source, Container>;
  readonly #dice: Dice;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(database: Database, dice: Dice) {
    const [Orders, Customers] = [database.container('Orders'), database.container('Customers')];
    const [Stores, Countries] = [database.container('Stores'), database.container('Countries')];
    this.#containers = { Orders, Customers, Stores, Countries };
    this.#dice = dice;
  }

  async begin(): Promise<void> {
    for (let n = 0; n < STORES; n++) await this.#store(`s${n}`);
    for (let n = 0; n < COUNTRIES; n++) await this.#country(`country${n}`);
    for (let n = 0; n < CUSTOMERS; n++) await this.#customer(`c${n}`);
    this.#running = this.#run();
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  /**
   * Writes orders that `summaries` can't apply unless UPGRADE_LENIENT is set. They have no customer, so that no change of a
   * customer refreshes them.
   */
  async bad(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const { closedAt: _, ...order } = this.#anyOrder();
      await this.#order({ ...order, id: `bad${this.writes}`, customerId: 'nobody', version: 1, bad: true });
    }
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const dice = this.#dice;
      const kind = dice.unit();
      if (kind < 0.02) await this.#store(`s${dice.int(STORES)}`);
      else if (kind < 0.03) await this.#country(`country${dice.int(COUNTRIES)}`);
      else if (kind < 0.08) await this.#customer(`c${dice.int(CUSTOMERS)}`);
      else await this.#order(this.#anyOrder());
      await delay(dice.int(10));
    }
  }

  /** A new order, or a changed one with another day and customer. A closed order is never written again. */
  #anyOrder(): Order {
    const dice = this.#dice;
    const before = dice.chance(0.6) ? this.orders.get(`o${dice.int(Math.max(1, this.orders.size))}`) : undefined;
    const changed = before && before.closedAt === undefined ? before : undefined;
    const id = changed?.id ?? `o${this.orders.size}`;
    const storeId = changed?.storeId ?? `s${dice.int(STORES)}`;
    return {
      id,
      type: 'order',
      storeId,
      customerId: `c${this.#customerOf(storeId)}`,
      day: `2026-01-0${1 + dice.int(8)}`,
      cents: dice.int(10_000),
      version: (changed?.version ?? 0) + 1,
      ...(dice.chance(0.08) && { closedAt: '2025-12-01T10:00:00.000Z' }),
    };
  }

  /** A customer of the order's store. Some orders name a customer that doesn't exist. */
  #customerOf(storeId: string): number {
    return Number(storeId.slice(1)) + STORES * this.#dice.int(CUSTOMERS / STORES + 1);
  }

  async #order(order: Order): Promise<void> {
    await this.#write('Orders', order);
    this.orders.set(order.id, order);
  }

  async #store(id: string): Promise<void> {
    const store = { id, type: 'store', storeId: id, currency: this.#dice.pick(CURRENCIES) };
    await this.#write('Stores', store);
    this.stores.set(id, store);
  }

  async #country(id: string): Promise<void> {
    const country = { id, type: 'country', name: `Country ${this.#dice.int(1_000)}` };
    await this.#write('Countries', country);
    this.countries.set(id, country);
  }

  /** Replaces the whole document, without the embedded field: Millrace must write that field again. */
  async #customer(id: string): Promise<void> {
    const storeId = `s${Number(id.slice(1)) % STORES}`;
    const customer = { id, type: 'customer', storeId, name: `Name ${this.#dice.int(1_000)}` };
    await this.#write('Customers', customer);
    this.customers.set(id, customer);
  }

  /** Repeats a failed write. An upsert of the same document changes nothing if the first one took effect. */
  async #write(container: Source, document: object): Promise<void> {
    await asked(() => this.#containers[container].items.upsert(document));
    this.writes += 1;
  }
}
