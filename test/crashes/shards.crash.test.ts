// Every crash point of moves between shards, beside a host of all shards and an application that writes by a router.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { canonical } from '../../src/base/json.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { type MoveDocument, isUnfinished, movesOf } from '../../src/procedures/move/record.ts';
import { type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { type Router, openRouter } from '../../src/shards/routing/router.ts';
import { crash } from './report.ts';
import { NEVER, type Shop, type Step, shopScenario, unlessDone } from './stand.ts';

const MOVING = join(import.meta.dirname, '../fixtures/moving');

/** Keys that a range map may have. */
const [S1, S2, S3, S4] = [1, 2, 3, 4].map((n) => `00000000-0000-0000-0000-00000000000${n}`) as [
  string,
  string,
  string,
  string,
];

const order = (storeId: string, id: string, cents = 10): Doc => ({
  id,
  type: 'order',
  storeId,
  customerId: 'c1',
  countryId: 'AT',
  placedAt: `2026-01-0${cents % 7 === 0 ? 2 : 1}T10:00:00.000Z`,
  cents,
});

/** The shards of one run, and what an application has written. */
class Shards {
  readonly truth = new Map<string, Doc>();
  readonly #shop: Shop;
  #router: Promise<Router> | undefined;
  #manager: Promise<ShardMapManager> | undefined;

  constructor(shop: Shop) {
    this.#shop = shop;
  }

  name(shard: 'west' | 'east'): string {
    return this.#shop.settings.database.replace('run', shard);
  }

  async map(): Promise<ShardMap> {
    const map = await (await (this.#manager ??= ShardMapManager.get(this.#options()))).tryGetMap('tenants');
    if (!map) throw new Error('No map');
    return map;
  }

  #options() {
    const { settings, services } = this.#shop;
    const database = services.place.database.client.database(settings.shardMaps?.database ?? '');
    return { database, connect: services.places.connect };
  }

  write = (doc: Doc) => async (): Promise<void> => {
    const router = await (this.#router ??= openRouter('tenants', this.#options()));
    using pass = await router.enter(String(doc['storeId']));
    await pass.container('Orders').items.upsert(doc);
    this.truth.set(`${String(doc['storeId'])} ${String(doc['id'])}`, doc);
  };

  async stored(shard: 'west' | 'east', container: string): Promise<Doc[]> {
    const query = 'SELECT * FROM c WHERE NOT IS_DEFINED(c._mr.moved.gone)';
    const { client } = this.#shop.services.place.database;
    const of = client.database(this.name(shard)).container(container);
    const { resources } = await of.items.query<Doc>(query).fetchAll();
    return resources.filter(({ type }) => type === 'order' || type === 'summary');
  }

  /** Each order in its shard alone, derived there and in the place of all; no key locked or offline, no move open. */
  async judge(shardOf: (storeId: string) => 'west' | 'east'): Promise<void> {
    await (await this.#router)?.[Symbol.asyncDispose]();
    const shown = (doc: Doc): string =>
      canonical(Object.fromEntries(['storeId', 'id', 'cents'].map((name) => [name, doc[name]])));
    for (const shard of ['west', 'east'] as const) {
      const own = [...this.truth.values()].filter(({ storeId }) => shardOf(String(storeId)) === shard);
      for (const container of ['Orders', 'Summaries'])
        assert.deepEqual((await this.stored(shard, container)).map(shown).toSorted(), own.map(shown).toSorted());
    }
    const listed = (await this.#all('AllOrders')).filter(({ type }) => type === 'listed');
    assert.deepEqual(
      listed.map(({ id, cents }) => `${String(id)} ${String(cents)}`).toSorted(),
      [...this.truth.values()]
        .map(({ storeId, id, cents }) => `${String(storeId)}-${String(id)} ${String(cents)}`)
        .toSorted(),
    );
    const totals = (await this.#all('Totals')).filter((doc) => doc['type'] === 'total');
    const sum = (of: Iterable<Doc>): number => [...of].reduce((all, { cents }) => all + Number(cents), 0);
    assert.deepEqual(
      [totals.reduce((all, one) => all + Number(one['orders']), 0), sum(totals)],
      [this.truth.size, sum(this.truth.values())],
    );
    const map = await this.map();
    const { mappings } = await map.inspect();
    assert.deepEqual(
      mappings.map(({ owner, status }) => [owner, status]),
      mappings.map(() => [undefined, 'online']),
    );
    for (const shard of await map.shards()) assert.deepEqual(await map.strays(shard), []);
    assert.deepEqual((await this.moves()).filter(isUnfinished), []);
  }

  moves(): Promise<MoveDocument[]> {
    return movesOf(this.#options().database.container('shardmaps'), 'tenants', NEVER);
  }

  async #all(container: string): Promise<Doc[]> {
    return (await this.#shop.container(container).items.query<Doc>('SELECT * FROM c').fetchAll()).resources;
  }
}

interface Move {
  readonly name: string;
  readonly kind: 'list' | 'range';
  readonly run: (shop: Shop, shards: Shards) => Step | Promise<Step>;
  readonly shardOf: (storeId: string) => 'west' | 'east';
}

/** No writer is suspended here, so no write is late. */
const TIMES = { grace: 5, takeOver: true };
/** A move that dies after so many requests has copied, and has not given the keys to the target. */
const BEGUN = 180;

const MOVES: readonly Move[] = [
  {
    name: 'move',
    kind: 'list',
    run: (shop, shards) =>
      unlessDone(
        (process) => shop.run(process, 'shards move', { map: 'tenants', key: S1, to: shards.name('east'), ...TIMES }),
        'wrong-state',
      ),
    shardOf: (storeId) => (storeId === S2 ? 'west' : 'east'),
  },
  {
    name: 'cancel of a move',
    kind: 'list',
    run: async (shop, shards) => {
      await shop.until(BEGUN, 'shards move', { map: 'tenants', key: S1, to: shards.name('east'), ...TIMES });
      const [move] = await shards.moves();
      assert.ok(move, 'otherwise there is nothing to cancel');
      return unlessDone(
        (process) => shop.run(process, 'shards moves', { map: 'tenants', cancel: move.id, takeOver: true }),
        // So it answers for a move that is cancelled already. That this one didn't switch, the judge says.
        'move-switched',
      );
    },
    shardOf: (storeId) => (storeId === S3 ? 'east' : 'west'),
  },
  {
    name: 'split with documents',
    kind: 'range',
    run: (shop, shards) =>
      unlessDone(
        (process) => shop.run(process, 'shards split', { map: 'tenants', at: S2, to: shards.name('east'), ...TIMES }),
        'wrong-state',
      ),
    shardOf: (storeId) => (storeId === S1 ? 'west' : 'east'),
  },
  {
    name: 'merge with documents',
    kind: 'range',
    run: (shop, shards) =>
      unlessDone(
        (process) => shop.run(process, 'shards merge', { map: 'tenants', at: S3, to: shards.name('east'), ...TIMES }),
        'wrong-state',
      ),
    shardOf: () => 'east',
  },
];

for (const { name, kind, run, shardOf } of MOVES)
  crash(
    shopScenario({
      name,
      folder: MOVING,
      shards: kind,
      pipeline: (whole) => ({ ...whole, effects: [] }),
      steps: async (shop) => {
        const shards = new Shards(shop);
        const map = await shards.map();
        const [west, east] = [
          await map.shard({ database: shards.name('west') }),
          await map.shard({ database: shards.name('east') }),
        ];
        if (kind === 'list')
          for (const key of [S1, S2, S3]) await map.createMapping({ shard: key === S3 ? east : west, key });
        else {
          await map.createMapping({ shard: west, low: S1, high: S3 });
          await map.createMapping({ shard: east, low: S3, high: S4 });
        }
        await shop.live();
        for (const storeId of [S1, S2, S3]) for (const id of ['a', 'b']) await shards.write(order(storeId, id))();
        await shop.live();
        shop.writes(
          shards.write(order(S1, 'a', 21)),
          shards.write(order(S2, 'a', 30)),
          shards.write(order(S1, 'c', 14)),
          shards.write(order(S1, 'a', 40)),
        );
        return { derives: false, steps: [await run(shop, shards)], judge: () => shards.judge(shardOf) };
      },
    }),
  );
