// The orders of stores as an application wrote them, what must follow from them alone, and what there is.
import type { Container } from '@azure/cosmos';
import type { SpreadStage } from '../support/spread-stage.ts';

export interface Order {
  readonly id: string;
  readonly type: 'order';
  readonly storeId: string;
  readonly customerId: string;
  readonly countryId: 'AT' | 'DE';
  readonly placedAt: string;
  readonly cents: number;
  readonly cancelled?: true;
}

export const orderOf = (storeId: string, id: string, cents: number, more: Partial<Order> = {}): Order => ({
  id,
  type: 'order',
  storeId,
  customerId: 'c1',
  countryId: 'AT',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
  ...more,
});

/** The orders of all stores. */
export class Orders {
  readonly orders = new Map<string, Order>();

  add(order: Order): void {
    this.orders.set(`${order.storeId}-${order.id}`, order);
  }

  get #live(): Order[] {
    return [...this.orders.values()].filter(({ cancelled }) => !cancelled);
  }

  /** The totals of all stores by day. */
  totals() {
    const days = Map.groupBy(this.#live, ({ placedAt }) => placedAt.slice(0, 10));
    return [...days]
      .map(([day, of]) => ({
        day,
        orders: of.length,
        cents: of.reduce((sum, { cents }) => sum + cents, 0),
        largest: Math.max(...of.map(({ cents }) => cents)),
      }))
      .toSorted((a, b) => (a.day < b.day ? -1 : 1));
  }

  years() {
    const totals = this.totals();
    return [{ year: '2026', days: totals.length, cents: totals.reduce((sum, { cents }) => sum + cents, 0) }];
  }

  listed() {
    return [...this.orders]
      .filter(([, { cancelled }]) => !cancelled)
      .map(([id]) => id)
      .toSorted();
  }
}

export const rows = async <T>(container: Container, fields: string): Promise<T[]> =>
  (await container.items.query<T>(`SELECT ${fields} FROM c WHERE NOT STARTSWITH(c.type, 'millrace.')`).fetchAll())
    .resources;

/** What hosts have derived in the global place. An emptied day stays for a while, because the years derive from it. */
export const derivedIn = async (stage: Pick<SpreadStage, 'container'>) => ({
  totals: (
    await rows<{ day: string; orders: number }>(stage.container('Totals'), 'c.day, c.orders, c.cents, c.largest')
  )
    .filter(({ orders }) => orders > 0)
    .toSorted((a, b) => (a.day < b.day ? -1 : 1)),
  listed: (await rows<{ id: string }>(stage.container('AllOrders'), 'c.id')).map(({ id }) => id).toSorted(),
  years: await rows(stage.container('Years'), 'c.year, c.days, c.cents'),
});
