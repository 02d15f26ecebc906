// A pipeline over shards, the writes of its application, and what must follow from them alone.
import type { Container } from '@azure/cosmos';
import { type TestContext, expect } from 'vitest';
import { type App, compose } from '../../src/runtime/processor-host.ts';
import { fast } from '../operations/projections/versions.ts';
import { type SpreadStage, openSpread } from '../support/spread-stage.ts';

const COUNTRIES = { AT: 'Austria', DE: 'Germany' } as const;

interface Order {
  readonly id: string;
  readonly type: 'order';
  readonly storeId: string;
  readonly customerId: string;
  readonly countryId: keyof typeof COUNTRIES;
  readonly placedAt: string;
  readonly cents: number;
  readonly cancelled?: true;
}

/** The writes of an application, which knows the shard of each store. */
export class Application {
  readonly orders = new Map<string, Order>();
  readonly #stage: SpreadStage;

  constructor(stage: SpreadStage) {
    this.#stage = stage;
  }

  async open(store: string, shard: string): Promise<void> {
    await this.#stage.at(shard, 'Stores').items.upsert({ id: store, type: 'store', storeId: store, name: store });
    const customer = { id: 'c1', type: 'customer', storeId: store, name: `Ada of ${store}` };
    await this.#stage.at(shard, 'Customers').items.upsert(customer);
  }

  async order(store: string, shard: string, id: string, cents: number, more: Partial<Order> = {}): Promise<void> {
    const order: Order = {
      id,
      type: 'order',
      storeId: store,
      customerId: 'c1',
      countryId: 'AT',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents,
      ...more,
    };
    await this.#stage.at(shard, 'Orders').items.upsert(order);
    this.orders.set(`${store}-${id}`, order);
  }

  get #live(): Order[] {
    return [...this.orders.values()].filter(({ cancelled }) => !cancelled);
  }

  /** The totals of all stores by day, by these writes alone. */
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

/** An emptied day stays for a while, because the years derive from it. */
const totalsIn = async (stage: SpreadStage) =>
  (await rows<{ day: string; orders: number }>(stage.container('Totals'), 'c.day, c.orders, c.cents, c.largest'))
    .filter(({ orders }) => orders > 0)
    .toSorted((a, b) => (a.day < b.day ? -1 : 1));

export const assertExact = async (stage: SpreadStage, application: Application): Promise<void> => {
  const totals = application.totals();
  expect(await totalsIn(stage)).toEqual(totals);
  expect((await rows<{ id: string }>(stage.container('AllOrders'), 'c.id')).map(({ id }) => id).toSorted()).toEqual(
    application.listed(),
  );
  expect(await rows(stage.container('Years'), 'c.year, c.days, c.cents')).toEqual([
    { year: '2026', days: totals.length, cents: totals.reduce((sum, { cents }) => sum + cents, 0) },
  ]);
};

interface Given {
  readonly stage: SpreadStage;
  readonly application: Application;
  readonly host: (name?: string) => Promise<App>;
}

export async function given(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  shards = ['north', 'west', 'east'],
  options: Parameters<typeof openSpread>[1] = {},
): Promise<Given> {
  const stage = await openSpread(shards, options);
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const application = new Application(stage);
  for (const [id, name] of Object.entries(COUNTRIES))
    await stage.container('Countries').items.create({ id, type: 'country', name });
  for (const [at, shard] of shards.entries()) await application.open(`s${at}`, shard);
  return {
    stage,
    application,
    host: async (name = 'host') => {
      const app = await compose({ ...stage, ...fast, shardsRefreshMs: 20, host: name });
      onTestFinished(() => app.stop());
      await app.start();
      return app;
    },
  };
}
