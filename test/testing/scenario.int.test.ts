import { AssertionError } from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestPipeline, testPipeline } from 'millrace/testing';
import type { m as sentModel } from '../fixtures/sent/model.ts';
import { cache } from '../fixtures/sent/pipeline.ts';
import { suiteSeed } from '../support/seed.ts';

const SEED = suiteSeed();
const EVERYTHING = { redeliver: true, reorder: true, crash: true, stale: true };
const open = (folder: string): Promise<TestPipeline> => testPipeline(join(import.meta.dirname, folder));

const order = (id: string, cents: number, more: object = {}) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-03-01T10:00:00.000Z',
  cents,
  ...more,
});
const customer = (id: string, name: string) => ({ id, type: 'customer', storeId: 's1', name });
const day = (orders: number, cents: number) => ({
  id: 'day|2026-03-01|s1',
  type: 'day',
  storeId: 's1',
  day: '2026-03-01',
  orders,
  cents,
});

describe('tables', () => {
  let shop: TestPipeline;
  beforeAll(async () => {
    shop = await open('../../examples/tables');
  }, 60_000);
  afterAll(() => shop.close());

  test('tables hold the rows that a scenario expects, whatever happens on the way', async () => {
    const country = (id: string, name: string) => ({ id, type: 'country', name });
    const { rows } = await shop
      .given({ Countries: [country('AT', 'Osterreich')], Orders: shop.like('Orders', 'order') })
      .when({ Countries: [country('AT', 'Austria'), country('NL', 'Netherlands')] }, { ...EVERYTHING, seed: SEED })
      .expect(
        {},
        {
          countries: [
            { id: 'NL', name: 'Netherlands', extra: null },
            { id: 'AT', name: 'Austria', extra: null },
          ],
        },
      );
    expect(Object.keys(rows)).toContain('order_lines');
    expect(rows['orders']?.length).toBeGreaterThan(0);
  });

  test('tables begin each scenario empty, one after the other, and say what is different', async () => {
    const expected = (name: string) =>
      shop
        .given({ Countries: [{ id: 'AT', type: 'country', name }] })
        .expect({}, { countries: [{ id: 'AT', name: 'Austria', extra: null }] });
    const [right, wrong] = await Promise.allSettled([expected('Austria'), expected('Osterreich')]);
    expect(right.status).toBe('fulfilled');
    expect(wrong).toMatchObject({
      reason: { message: expect.stringContaining('The rows of countries are different') },
    });
    await expect(shop.given().expect({}, { none: [] })).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('the sink of a send', () => {
  const rowsOf = async (): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const { row } of cache.rows()) found.push(row);
    return found;
  };

  test('the sink of a send begins each scenario empty, though it is the pipeline’s own and outlives it', async () => {
    await using shop = await testPipeline<typeof sentModel>(join(import.meta.dirname, '../fixtures/sent'));
    const named = (id: string, name: string) => ({ id, type: 'customer', storeId: 's1', name });
    await shop
      .given({ Customers: [named('c1', 'Ada'), named('c2', 'Bob')] })
      .when({ Customers: [named('c1', 'Eve'), named('c1', 'Zoe')] }, { ...EVERYTHING, seed: SEED })
      .expect();
    expect(await rowsOf()).toHaveLength(2);
    // Fewer documents, and fewer changes of one: their versions are lower than those of the scenario before.
    await shop.given({ Customers: [named('c1', 'Ann')] }).expect();
    expect(await rowsOf()).toEqual([{ name: 'Ann' }]);
    await Promise.all(['Una', 'Ida'].map((name) => shop.given({ Customers: [named('c3', name)] }).expect()));
    expect(await rowsOf()).toHaveLength(1);
    await shop.given().expect();
    expect(await rowsOf()).toEqual([]);
  });
});

test('a scenario of a typed pipeline compiles with the containers and types of its model only', async () => {
  await using shop = await testPipeline<typeof sentModel>(join(import.meta.dirname, '../fixtures/sent'));
  // @ts-expect-error Order is no container of the model.
  await expect(shop.given({ Order: [] }).run()).rejects.toMatchObject({ code: 'not-found' });
  // @ts-expect-error Nor is Customer.
  await expect(shop.given().when({ Customer: [] }).run()).rejects.toMatchObject({ code: 'not-found' });
  // @ts-expect-error Nor is Names.
  await expect(shop.given().expect({ Names: [] })).rejects.toMatchObject({ code: 'not-found' });
  // @ts-expect-error Orders have no type invoice.
  expect(() => shop.like('Orders', 'invoice')).toThrow(expect.objectContaining({ code: 'not-found' }));
  expect(shop.like('Orders', 'order', { count: 1 })).toHaveLength(1);
});

describe('the shop', () => {
  let shop: TestPipeline;
  beforeAll(async () => {
    shop = await open('../fixtures/shop');
  });
  afterAll(() => shop.close());

  test('the shop derives from what is given, and from what comes then', async () => {
    const { parked } = await shop
      .given({ Customers: [customer('c1', 'Ada')], Orders: [order('o1', 100)] })
      .when({ Orders: [order('o2', 50), order('o1', 70)] })
      .expect({ Days: [day(2, 120)] });
    expect(parked).toEqual([]);
  });

  test('the shop begins each scenario with nothing', async () => {
    const { documents, parked } = await shop.given().expect({ Days: [], Summaries: [] });
    expect({ documents, parked }).toEqual({ documents: { Days: [], Summaries: [] }, parked: [] });
  });

  test('the shop says what is different', async () => {
    const run = shop.given({ Orders: [order('o1', 100)] }).expect({ Days: [day(1, 99)] });
    const error = await run.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AssertionError);
    expect(error).toMatchObject({ actual: [{ cents: 100 }], expected: [{ cents: 99 }] });
    expect(String(error)).toContain('The derived documents in Days are different');
  });

  test('the shop tells what was parked, and why', async () => {
    const { parked } = await shop.given({ Orders: [order('bad', 1, { cents: 'many' })] }).run();
    const bad = { container: 'Orders', id: 'bad', code: expect.any(String) as string };
    expect(parked.toSorted((a, b) => (a.projection < b.projection ? -1 : 1))).toEqual([
      { ...bad, projection: 'days@1', message: expect.stringMatching(/cents.*not a finite number/) as string },
      {
        ...bad,
        projection: 'summaries@1',
        message: expect.stringMatching(/\/cents is "many", not a number/) as string,
      },
    ]);
  });

  test('the shop names a container that isn’t there', async () => {
    await expect(shop.given({ Order: [] }).run()).rejects.toMatchObject({ code: 'not-found' });
    await expect(shop.given().expect({ Orders: [] })).rejects.toMatchObject({
      code: 'not-found',
      hint: 'Use Summaries, Days.',
    });
    expect(() => shop.like('Orders', 'invoice')).toThrow(expect.objectContaining({ code: 'not-found' }));
  });

  test.each(Array.from({ length: 12 }, (_, at) => SEED + at))(
    'the shop is exact whatever is written and whatever fails (seed %i)',
    async (seed) => {
      const drawn = { seed, count: 30, ids: 4 };
      const { parked } = await shop
        .given({ Customers: shop.like('Customers', 'customer', drawn), Orders: shop.like('Orders', 'order', drawn) })
        .when({ Orders: shop.like('Orders', 'order', { ...drawn, seed: seed + 1_000 }) }, { ...EVERYTHING, seed })
        .when({ Customers: shop.like('Customers', 'customer', { ...drawn, count: 5 }) }, { ...EVERYTHING, seed })
        .expect();
      expect(parked).toEqual([]);
    },
  );
});

test('a pipeline that claims what isn’t so is found', async () => {
  await using shop = await open('../fixtures/unstable');
  const run = shop
    .given({ Orders: [order('o1', 100)] })
    .when({ Orders: [order('o1', 100, { placedAt: '2026-03-02T10:00:00.000Z' })] });
  const { parked } = await run.run();
  expect(parked.toSorted((a, b) => (a.projection < b.projection ? -1 : 1))).toEqual([
    expect.objectContaining({
      projection: 'days@1',
      code: 'place-changed',
      message: expect.stringMatching(/^days@1 is `stable`, but the document has left .*2026-03-01/),
    }),
    expect.objectContaining({ projection: 'summaries@1', code: 'place-changed' }),
  ]);
});

test('what is made up after the examples is the same for a seed, and has the type’s keys', async () => {
  await using shop = await open('../fixtures/shop');
  const once = shop.like('Orders', 'order', { seed: SEED, count: 200, ids: 8 });
  expect(shop.like('Orders', 'order', { seed: SEED, count: 200, ids: 8 })).toEqual(once);
  expect(new Set(once.map(({ id }) => id)).size).toBe(8);
  const keys = Map.groupBy(once, ({ id }) => id);
  for (const versions of keys.values()) expect(new Set(versions.map(({ storeId }) => storeId)).size).toBe(1);
  const kinds = once.map(({ id, storeId, placedAt, cents, cancelled }) =>
    [id, storeId, placedAt, cents, cancelled].map((value) => typeof value).join(' '),
  );
  expect([...new Set(kinds)].toSorted()).toEqual([
    'string string string number boolean',
    'string string string number undefined',
  ]);
});

test('a container of several physical partitions is tested as one', async () => {
  await using flights = await open('../../examples/flights');
  const { parked } = await flights
    .given({ Airports: flights.like('Airports', 'airport'), Flights: flights.like('Flights', 'flight') })
    .when({ Flights: flights.like('Flights', 'flight', { seed: SEED }) }, { ...EVERYTHING, seed: SEED })
    .expect();
  expect(parked).toEqual([]);
});
