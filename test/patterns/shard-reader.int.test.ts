import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eachOfShards, readShards, shardedKey } from '../../src/patterns/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type World, openWorld } from './world.ts';

interface View {
  readonly id: string;
  readonly pk: string;
  readonly at?: number | string | null;
  readonly kind: string;
}

const SEED = suiteSeed();
let world: World;
beforeAll(async () => {
  world = await openWorld(SEED);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

let names = 0;
/** Documents of `p` as they came to be under three numbers of shards; every fourth has an equal date, some none. */
async function filled(count: number) {
  const random = new Random(SEED + ++names);
  const container = await world.create(`views${names}`, ['/pk']);
  const views: View[] = [];
  for (let n = 0; n < count; n++) {
    const shards = [2, 7, 5][n % 3] ?? 1;
    const pk = shardedKey({ shards, by: 'hash' }).keyOf('p', `v${n}`);
    const at = n % 4 === 0 ? 50 : n % 11 === 0 ? null : n % 13 === 0 ? `t${random.int(9)}` : random.int(100);
    const view = { id: `v${n}`, pk, kind: n % 5 === 0 ? 'odd' : 'even', ...(n % 17 === 0 ? {} : { at }) };
    views.push(view);
    await container.items.create(view);
  }
  return { container, views, key: shardedKey({ shards: 5, by: 'hash', formerly: [2, 7] }) };
}

const RANKS: Record<string, number> = { undefined: 0, object: 1, number: 3, string: 4 };
const inOrder = (a: View, b: View): number =>
  (RANKS[typeof a.at] ?? 9) - (RANKS[typeof b.at] ?? 9) || (a.at === b.at ? 0 : (a.at ?? 0) < (b.at ?? 0) ? -1 : 1);
const idsOf = (views: readonly View[]): string[] => views.map(({ id }) => id).toSorted();

describe(`reading shards (seed ${SEED})`, () => {
  it('a reader of shards shows no document that Millrace stores for itself, unless it is asked for', async () => {
    const { container, views, key } = await filled(30);
    const own = ['tombstone', 'contribution', 'pending', 'locator'].map((name) => `millrace.${name}`);
    for (const pk of key.all('p')) {
      for (const type of own) await container.items.create({ id: type, pk, type, kind: 'even', at: 1 });
      await container.items.create({ id: 'no rows', pk, type: 'day', _mr: { rows: 0 }, kind: 'even', at: 1 });
    }
    const query = { partitionKeys: key.all('p'), orderBy: [{ path: '/at' }], pageSize: 3 };
    const listed = async (more: object): Promise<View[]> => {
      const found: View[] = [];
      for await (const view of eachOfShards<View>(container, { ...query, ...more })) found.push(view);
      return found;
    };
    expect(idsOf(await listed({}))).toEqual(idsOf(views));
    const even = views.filter(({ kind }) => kind === 'even');
    // A condition of several parts stays one.
    expect(idsOf(await listed({ where: "c.kind = 'even' OR c.kind = 'none'" }))).toEqual(idsOf(even));
    expect((await listed({ withOwn: true })).length).toBe(views.length + key.all('p').length * (own.length + 1));
  });

  it.each([1, 3, 10, 64, 1_000])(
    'a reader of shards tells every document once, in order, by pages of %i',
    async (pageSize) => {
      const { container, views, key } = await filled(pageSize === 1 ? 40 : 150);
      const query = { partitionKeys: key.all('p'), orderBy: [{ path: '/at' }], pageSize };
      const all: View[] = [];
      const sizes: number[] = [];
      let continuation: string | undefined;
      do {
        const page = await readShards<View>(container, { ...query, continuation });
        sizes.push(page.items.length);
        all.push(...page.items);
        continuation = page.continuation;
      } while (continuation !== undefined);
      // Every page is full but the last.
      expect(sizes.slice(0, -1).every((size) => size === pageSize)).toBe(true);
      expect(idsOf(all)).toEqual(idsOf(views));
      for (const [index, view] of all.slice(1).entries())
        expect(inOrder(all[index] ?? view, view)).toBeLessThanOrEqual(0);
    },
  );

  it('filters, and goes downwards', async () => {
    const { container, views, key } = await filled(120);
    const found: View[] = [];
    const query = {
      partitionKeys: key.all('p'),
      where: 'c.kind = @kind OR c.kind = "none"',
      parameters: [{ name: '@kind', value: 'odd' }],
      orderBy: [{ path: '/at', descending: true }],
      pageSize: 7,
    };
    for await (const view of eachOfShards<View>(container, query)) found.push(view);
    expect(idsOf(found)).toEqual(idsOf(views.filter(({ kind }) => kind === 'odd')));
    for (const [index, view] of found.slice(1).entries())
      expect(inOrder(found[index] ?? view, view)).toBeGreaterThanOrEqual(0);
  });

  it('a reader of shards asks shards of a hierarchical key', async () => {
    const container = await world.create('tenants', ['/tenant', '/pk']);
    const key = shardedKey({ shards: 3, by: 'time' });
    for (let n = 0; n < 9; n++)
      await container.items.create({ id: `e${n}`, tenant: n % 2 ? 'a' : 'b', pk: key.keyOf('d', n), at: n });
    const partitionKeys = key.all('d').map((pk) => ['a', pk]);
    const { items, continuation } = await readShards<View>(container, { partitionKeys, orderBy: [{ path: '/at' }] });
    expect(items.map(({ id }) => id)).toEqual(['e1', 'e3', 'e5', 'e7']);
    expect(continuation).toBeUndefined();
  });

  it('a reader of shards refuses a continuation of another query, and what isn’t a continuation', async () => {
    const { container, key } = await filled(30);
    const query = { partitionKeys: key.all('p'), orderBy: [{ path: '/at' }], pageSize: 2 };
    const { continuation } = await readShards<View>(container, query);
    const other = { ...query, partitionKeys: key.all('q'), continuation };
    for (const wrong of [other, { ...query, continuation: 'x' }, { ...query, where: 'true', continuation }])
      await expect(readShards(container, wrong)).rejects.toMatchObject({ code: 'continuation-invalid' });
    await expect(readShards(container, { ...query, pageSize: 0 })).rejects.toMatchObject({ code: 'option-invalid' });
  });
});
