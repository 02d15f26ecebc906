// A pipeline over shards on the embedded server, against what the application wrote.
import { type TestContext, expect, it } from 'vitest';
import type { Container } from '@azure/cosmos';
import { type App, compose } from '../../src/runtime/processor-host.ts';
import { type SpreadStage, openSpread } from '../support/spread-stage.ts';
import { fast } from '../operations/projections/versions.ts';

const { signal } = new AbortController();
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
class Application {
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

const rows = async <T>(container: Container, fields: string): Promise<T[]> =>
  (await container.items.query<T>(`SELECT ${fields} FROM c WHERE NOT STARTSWITH(c.type, 'millrace.')`).fetchAll())
    .resources;

/** An emptied day stays for a while, because the years derive from it. */
const totalsIn = async (stage: SpreadStage) =>
  (await rows<{ day: string; orders: number }>(stage.container('Totals'), 'c.day, c.orders, c.cents, c.largest'))
    .filter(({ orders }) => orders > 0)
    .toSorted((a, b) => (a.day < b.day ? -1 : 1));

const assertExact = async (stage: SpreadStage, application: Application): Promise<void> => {
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

async function given(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  shards = ['north', 'west', 'east'],
): Promise<Given> {
  const stage = await openSpread(shards);
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

it('derives in each shard, and the totals of all shards in the global place', async (context) => {
  const { stage, application, host } = await given(context);
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20, { countryId: 'DE' });
  await application.order('s2', 'east', 'o1', 3, { placedAt: '2026-01-02T10:00:00.000Z' });
  const app = await host();
  await app.drained(signal);
  await assertExact(stage, application);
  expect(await rows(stage.at('west', 'Summaries'), 'c.id, c.storeId, c.customerName, c.countryName, c.cents')).toEqual([
    { id: 'o1', storeId: 's1', customerName: 'Ada of s1', countryName: 'Germany', cents: 20 },
  ]);
  for (const [at, shard] of ['north', 'west', 'east'].entries()) {
    const countries = rows<{ id: string }>(stage.at(shard, 'ShardCountries'), 'c.id');
    expect((await countries).map(({ id }) => id).toSorted()).toEqual(['AT', 'DE']);
    const own = await rows<{ storeId: string }>(stage.at(shard, 'StoreCountries'), 'c.storeId');
    expect(own).toEqual([{ storeId: `s${at}` }, { storeId: `s${at}` }]);
  }
  await application.order('s0', 'north', 'o1', 100, { cancelled: true });
  await application.order('s1', 'west', 'o1', 25, { placedAt: '2026-01-02T10:00:00.000Z' });
  await app.drained(signal);
  await assertExact(stage, application);
});
