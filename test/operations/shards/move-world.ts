// A pipeline over two shards whose store moves, the writes of its application through routers, and what must follow from
// them alone.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type TestContext, expect, vi } from 'vitest';
import { type Router, openRouter } from '../../../src/shards/routing/router.ts';
import { Random } from '../../support/random.ts';
import type { SpreadStage } from '../../support/spread-stage.ts';
import { type Application, assertExact, given, rows } from '../../runtime/spread-world.ts';

const MOVING = join(import.meta.dirname, '../../fixtures/moving');
/** The store that moves, and one that stays. */
export const MOVES = 's0';
const STAYS = 's1';
const QUIET_DAY = '2026-06-01';
const QUIET_ORDERS = 50;

interface Effect {
  readonly key: string;
  readonly order: string;
  readonly cents: number;
}

export class MoveLoad {
  readonly stage: SpreadStage;
  readonly application: Application;
  readonly drained: () => Promise<void>;
  count = 0;
  longestMs = 0;
  /** What was wrong while keys moved. */
  readonly said: string[] = [];
  looks = 0;
  /** The keys under which a version of an order had its effect. */
  readonly effects = new Map<string, Set<string>>();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #routers: Router[] = [];
  readonly #began = performance.now();

  private constructor(stage: SpreadStage, application: Application, drained: () => Promise<void>) {
    this.stage = stage;
    this.application = application;
    this.drained = drained;
  }

  /** With a host of all shards, and the orders of a day on which no order changes any more. */
  static async open(context: Pick<TestContext, 'onTestFinished'>, seed: number): Promise<MoveLoad> {
    const { stage, application, host } = await given(context, ['west', 'east'], { folder: MOVING, seed });
    const note = (message: unknown): void => {
      const { key, order, cents } = message as Effect;
      const version = `${order} ${cents}`;
      load.effects.set(version, (load.effects.get(version) ?? new Set()).add(key));
    };
    subscribe('test.moving.effects', note);
    context.onTestFinished(() => void unsubscribe('test.moving.effects', note));
    for (const [key, database] of [
      [MOVES, 'west'],
      [STAYS, 'east'],
    ] as const)
      await stage.map.createMapping({ shard: await stage.map.shard({ database }), key });
    const app = await host();
    const load = new MoveLoad(stage, application, () => app.drained(new AbortController().signal));
    for (let n = 0; n < QUIET_ORDERS; n++)
      await application.order(MOVES, 'west', `quiet-${n}`, n + 1, { placedAt: `${QUIET_DAY}T10:00:00.000Z` });
    await load.drained();
    return load;
  }

  async start({ routers, each, everyMs }: { routers: number; each: number; everyMs: number }): Promise<void> {
    for (let at = 0; at < routers; at++) {
      const { database } = this.stage.services.place;
      const connect = (to: { readonly database: string }) => database.client.database(to.database);
      const router = await openRouter('tenants', { database: connect({ database: 'maps' }), connect });
      this.#routers.push(router);
      for (const store of [MOVES, STAYS])
        for (let n = 0; n < each; n++) this.#running.push(this.#write(router, store, `${at}-${n}`, everyMs));
    }
    this.#running.push(this.#look());
  }

  async #write(router: Router, storeId: string, name: string, everyMs: number): Promise<void> {
    const random = new Random(name.length + this.#running.length);
    for (let n = 0; !this.#stopping.signal.aborted; n++) {
      const id = `${name}-${n % 15}`;
      const order = {
        id,
        type: 'order',
        storeId,
        customerId: 'c1',
        countryId: 'AT',
        placedAt: `2026-01-0${1 + random.int(4)}T10:00:00.000Z`,
        cents: n,
        ...(random.chance(0.1) && { cancelled: true as const }),
      } as const;
      const before = performance.now();
      using pass = await router.enter(storeId);
      this.longestMs = Math.max(this.longestMs, performance.now() - before);
      await pass.container('Orders').items.upsert(order, { abortSignal: pass.signal });
      this.application.orders.set(`${storeId}-${id}`, order);
      this.count += 1;
      await delay(everyMs);
    }
  }

  /** The totals of the day on which nothing changes are right at every moment. */
  async #look(): Promise<void> {
    const totals = this.stage.container('Totals').items;
    const cents = (QUIET_ORDERS * (QUIET_ORDERS + 1)) / 2;
    const wanted = JSON.stringify([{ orders: QUIET_ORDERS, cents, largest: QUIET_ORDERS }]);
    while (!this.#stopping.signal.aborted) {
      const query = `SELECT c.orders, c.cents, c.largest FROM c WHERE c.day = '${QUIET_DAY}' AND c.type = 'total'`;
      const found = JSON.stringify((await totals.query(query, { partitionKey: QUIET_DAY }).fetchAll()).resources);
      if (found !== wanted) this.said.push(`the totals were ${found}`);
      this.looks += 1;
      await delay(50);
    }
  }

  /** Resolves when so many writes more were answered. */
  async more(count: number): Promise<void> {
    const until = this.count + count;
    const failed = Promise.all(this.#running);
    while (this.count < until) await Promise.race([delay(20), failed]);
  }

  /** Rejects if a writer has failed. */
  async running(): Promise<void> {
    await Promise.race([Promise.all(this.#running), delay(0)]);
  }

  /** Writes a second until now. */
  get rate(): number {
    return Math.round((1_000 * this.count) / (performance.now() - this.#began));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
    for (const router of this.#routers) await router[Symbol.asyncDispose]();
    await this.drained();
  }
}

/** No write is lost, none is on both sides, the totals are right, and no version had its effect twice. */
export const assertMoved = async (load: MoveLoad, at: string, elsewhere: string): Promise<void> => {
  const { stage, application, effects } = load;
  expect(load.said).toEqual([]);
  const expected = [...application.orders].map(([order, { cents }]) => `${order} ${cents}`);
  const stored = async (shard: string, store: string): Promise<string[]> => {
    const fields = 'c.id, c.storeId, c.cents';
    const all = await rows<{ id: string; storeId: string; cents: number }>(stage.at(shard, 'Orders'), fields);
    const own = all.filter(({ storeId }) => storeId === store);
    return own.map(({ id, storeId, cents }) => `${storeId}-${id} ${cents}`).toSorted();
  };
  const of = (store: string): string[] => expected.filter((order) => order.startsWith(`${store}-`)).toSorted();
  expect(await stored(at, MOVES)).toEqual(of(MOVES));
  expect(await stored(elsewhere, MOVES)).toEqual([]);
  expect(await stored('east', STAYS)).toEqual(of(STAYS));
  // A host that was cut short of processor time may have lost its leases for a moment, and have nothing to drain.
  await vi.waitFor(() => assertExact(stage, application), { timeout: 120_000, interval: 500 });
  expect([...effects].filter(([, keys]) => keys.size > 1).map(([version]) => version)).toEqual([]);
  expect(expected.filter((version) => !effects.has(version))).toEqual([]);
};
