// A pipeline over shards, the writes of its application, and what must follow from them alone.
import { type TestContext, expect } from 'vitest';
import { type App, compose } from '../../src/runtime/hosts/processor-host.ts';
import { fast } from '../verbs/projections/versions.ts';
import { type SpreadStage, openSpread } from '../support/spread-stage.ts';
import { type Order, Orders, derivedIn, orderOf } from './application.ts';

const COUNTRIES = { AT: 'Austria', DE: 'Germany' } as const;

/** The writes of an application, which knows the shard of each store. */
export class Application extends Orders {
  readonly #stage: SpreadStage;

  constructor(stage: SpreadStage) {
    super();
    this.#stage = stage;
  }

  async open(store: string, shard: string): Promise<void> {
    await this.#stage.at(shard, 'Stores').items.upsert({ id: store, type: 'store', storeId: store, name: store });
    const customer = { id: 'c1', type: 'customer', storeId: store, name: `Ada of ${store}` };
    await this.#stage.at(shard, 'Customers').items.upsert(customer);
  }

  async order(store: string, shard: string, id: string, cents: number, more: Partial<Order> = {}): Promise<void> {
    const order = orderOf(store, id, cents, more);
    await this.#stage.at(shard, 'Orders').items.upsert(order);
    this.add(order);
  }
}

export const assertExact = async (stage: SpreadStage, application: Application): Promise<void> => {
  const { totals, listed, years } = await derivedIn(stage);
  expect(totals).toEqual(application.totals());
  expect(listed).toEqual(application.listed());
  expect(years).toEqual(application.years());
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
