import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { FeedOptions } from '@azure/cosmos';
import { TWO_LEVELS, emulate, refusal } from './emulate.ts';

test('a query goes over all ranges, page by page, each document once', async () => {
  const { container } = await emulate({ throughput: 18_000 });
  for (let i = 0; i < 50; i++) await container.items.create({ id: String(i), pk: `k${i % 11}`, n: i });
  for (const query of [
    'SELECT VALUE c.n FROM c',
    'SELECT VALUE c.n FROM c ORDER BY c.n',
    'SELECT VALUE c.n FROM c WHERE c.n >= 0',
  ]) {
    const iterator = container.items.query<number>(query, { maxItemCount: 7 });
    const pages: number[][] = [];
    while (iterator.hasMoreResults()) pages.push((await iterator.fetchNext()).resources ?? []);
    expect(pages.map((page) => page.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 1]);
    expect(pages.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  }
  expect((await container.items.readAll().fetchAll()).resources).toHaveLength(50);
});

test('a continuation outlives its cursor, and writes between pages lose nothing else', async () => {
  const { container } = await emulate();
  for (let i = 0; i < 20; i++) await container.items.create({ id: String(i), pk: 'a' });
  const first = await container.items.query('SELECT VALUE c.id FROM c', { maxItemCount: 5 }).fetchNext();
  expect(first.resources).toEqual(['0', '1', '2', '3', '4']);
  const rest = async (): Promise<string[]> =>
    (
      await container.items
        .query<string>('SELECT VALUE c.id FROM c', { maxItemCount: 5, continuationToken: first.continuationToken })
        .fetchAll()
    ).resources;
  await container.item('9', 'a').delete();
  await container.item('2', 'a').patch([{ op: 'set', path: '/x', value: 1 }]);
  const wanted = ['5', '6', '7', '8', '10', '11', '12', '13', '14', '15', '16', '17', '18', '19'];
  expect(await rest()).toEqual(wanted);
  // The token again, as after a lost answer: the cursor has moved on.
  expect(await rest()).toEqual(wanted);
  const bad = container.items.query('SELECT * FROM c', { continuationToken: 'nonsense' }).fetchNext();
  expect(await refusal(bad)).toMatchObject({ code: 400, message: expect.stringContaining('Invalid Continuation') });
});

test('a continuation outlives the server, where there is a disk', async () => {
  const data = mkdtempSync(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rmSync(data, { recursive: true }));
  const { container, emulator } = await emulate({ throughput: 18_000 }, { data });
  for (let i = 0; i < 12; i++) await container.items.create({ id: String(i), pk: `k${i}`, n: i % 3 });
  for (const [query, left] of [
    ['SELECT VALUE c.id FROM c', ['5', '6', '7', '8', '9', '10', '11']],
    ['SELECT VALUE c.id FROM c ORDER BY c.n', ['4', '7', '10', '2', '5', '8', '11']],
  ] as const) {
    const first = await container.items.query(query, { maxItemCount: 5 }).fetchNext();
    expect(first.resources).toHaveLength(5);
    await container.item('0', 'k0').delete();
    await emulator.restart();
    const { continuationToken } = first;
    expect((await container.items.query(query, { continuationToken }).fetchAll()).resources).toEqual(left);
    await container.items.create({ id: '0', pk: 'k0', n: 0 });
    await container.item('0', 'k0').delete();
    await container.items.create({ id: '0', pk: 'k0', n: 0 });
  }
});

test('a continuation by long texts, or by what is no ASCII, is good for a header', async () => {
  const { container } = await emulate();
  const names = ['é', 'ü'.repeat(3000), 'ü'.repeat(3000), '\u{1f600}', '\ud800'];
  for (const [i, name] of names.entries()) await container.items.create({ id: String(i), pk: 'a', name });
  const query = { query: 'SELECT VALUE c.id FROM c ORDER BY c.name, c.id', parameters: [] };
  const single = 'SELECT VALUE c.id FROM c ORDER BY c.name';
  expect((await refusal(container.items.query(query).fetchAll())).code).toBe(400);
  const found: string[] = [];
  const iterator = container.items.query<string>(single, { maxItemCount: 1 });
  while (iterator.hasMoreResults()) {
    const { resources, continuationToken } = await iterator.fetchNext();
    expect([continuationToken].join()).toMatch(/^[ -~]{0,1024}$/);
    found.push(...resources);
    // What was kept for the next page is of no use then.
    await container.items.upsert({ id: 'x', pk: 'a', type: 'without a name' });
    await container.item('x', 'a').delete();
  }
  expect(found).toEqual(['0', '1', '2', '4', '3']);
});

test('a continuation that was made up, or for another query, is refused', async () => {
  const { container } = await emulate();
  for (let i = 0; i < 3; i++) await container.items.create({ id: String(i), pk: 'a' });
  const { continuationToken } = await container.items
    .query('SELECT * FROM c ORDER BY c.id', { maxItemCount: 1 })
    .fetchNext();
  const token = JSON.parse(continuationToken) as object;
  for (const wrong of [
    'null',
    '[]',
    '{"__proto__":{}}',
    JSON.stringify({ ...token, r: 'other' }),
    JSON.stringify({ ...token, s: -1.5 }),
    JSON.stringify({ ...token, v: [] }),
    JSON.stringify({ ...token, v: ['1'] }),
    JSON.stringify({ ...token, c: 7 }),
  ]) {
    const call = container.items.query('SELECT * FROM c ORDER BY c.id', { continuationToken: wrong }).fetchNext();
    expect({ wrong, ...(await refusal(call)) }).toMatchObject({ wrong, code: 400 });
  }
  const plain = container.items.query('SELECT * FROM c', { continuationToken }).fetchNext();
  expect(await refusal(plain)).toMatchObject({ code: 400, message: expect.stringContaining('for this query') });
});

test('a partition whose last page came out full says so by an empty one', async () => {
  const { container } = await emulate();
  for (let i = 0; i < 4; i++) await container.items.create({ id: String(i), pk: 'a' });
  const pages = async (query: string): Promise<number[]> => {
    const sizes: number[] = [];
    const iterator = container.items.query(query, { maxItemCount: 2, partitionKey: 'a' });
    for await (const { resources } of iterator.getAsyncIterator()) sizes.push(resources.length);
    return sizes;
  };
  expect(await pages('SELECT * FROM c')).toEqual([2, 2, 0]);
  expect(await pages('SELECT TOP 4 * FROM c')).toEqual([2, 2]);
  expect(await pages('SELECT * FROM c ORDER BY c.id')).toEqual([2, 2]);
});

test('the client makes of its plan what the server makes of the query', async () => {
  const { container } = await emulate({ throughput: 18_000 });
  for (let i = 0; i < 30; i++) await container.items.create({ id: String(i), pk: `k${i}`, n: Math.floor(i / 3) });
  for (const query of [
    'SELECT DISTINCT c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 5',
    'SELECT DISTINCT TOP 8 c.n FROM c ORDER BY c.n DESC',
    'SELECT VALUE COUNT(c.n) FROM c ORDER BY c.n, c.id',
    'SELECT VALUE AVG(c.n) FROM c WHERE c.n > 2 ORDER BY c.n',
  ]) {
    const direct = await container.items.query(query).fetchAll();
    const planned = await container.items.query(query, { forceQueryPlan: true, maxItemCount: 2 }).fetchAll();
    expect({ query, found: planned.resources }).toEqual({ query, found: direct.resources });
  }
  const { resources } = await container.items.query('SELECT DISTINCT TOP 8 c.n FROM c ORDER BY c.n DESC').fetchAll();
  expect(resources).toEqual([9, 8, 7, 6, 5, 4, 3, 2].map((n) => ({ n })));
});

test('ids and keys are looked up, not searched for', async () => {
  const { container } = await emulate();
  for (let i = 0; i < 40; i++) await container.items.create({ id: String(i), pk: `k${i % 4}`, n: i });
  const charge = async (
    query: string,
    parameters: { name: string; value: string[] | string }[] = [],
    partitionKey?: string,
  ): Promise<[number, number]> => {
    const { resources, requestCharge } = await container.items
      .query({ query, parameters }, partitionKey === undefined ? {} : { partitionKey })
      .fetchAll();
    return [resources.length, Math.round((requestCharge - 2.3) * 8)];
  };
  const all = await charge('SELECT * FROM c WHERE c.n >= 0');
  expect(all[0]).toBe(40);
  for (const [query, value, key, found] of [
    ['SELECT * FROM c WHERE c.id = @v', '5', 'k1', 1],
    ['SELECT * FROM c WHERE c.id = @v', '5', undefined, 1],
    ['SELECT * FROM c WHERE c.id = @v', '5', 'k2', 0],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS(@v, c.id)', ['1', '5', '6'], 'k1', 2],
    ['SELECT * FROM c WHERE c.pk = "k1" AND ARRAY_CONTAINS(@v, c.id)', ['1', '5', '6'], undefined, 2],
    ['SELECT * FROM c WHERE c.id IN ("1", "2") AND c.n > 1', '', undefined, 1],
  ] as [string, string | string[], string | undefined, number][]) {
    const [count, documents] = await charge(query, [{ name: '@v', value }], key);
    expect(count).toBe(found);
    expect(documents).toBeLessThan(all[1] / 8);
  }
});

test('some documents of a large logical partition are found by an index, and of no other partition', async () => {
  const { container } = await emulate();
  const operations = (pk: string) =>
    Array.from({ length: 100 }, (_, n) => ({ operationType: 'Create' as const, resourceBody: { id: `${n}`, pk, n } }));
  await container.items.batch(operations('other'), 'other');
  for (let batch = 0; batch < 10; batch++) {
    const bodies = operations('large').map((one) => ({
      ...one,
      resourceBody: { ...one.resourceBody, id: `${batch}-${one.resourceBody.id}` },
    }));
    await container.items.batch(bodies, 'large');
  }
  const query = 'SELECT VALUE c.id FROM c WHERE c.n > 98';
  const { resources, requestCharge } = await container.items.query(query, { partitionKey: 'large' }).fetchAll();
  expect(resources).toEqual(Array.from({ length: 10 }, (_, batch) => `${batch}-99`));
  expect(requestCharge).toBeLessThan(6);
});

test('where most documents match, pages come in the same order and cost what they give', async () => {
  const { container } = await emulate();
  const bodies = Array.from({ length: 1_200 }, (_, n) => ({
    id: `${n}`,
    pk: `${n % 3}`,
    kind: n % 10 === 0 ? 'b' : 'a',
  }));
  for (const [pk, of] of Map.groupBy(bodies, (body) => body.pk))
    for (let at = 0; at < of.length; at += 100)
      await container.items.batch(
        of.slice(at, at + 100).map((resourceBody) => ({ operationType: 'Create' as const, resourceBody })),
        pk,
      );
  const all = (await container.items.query<{ id: string; kind: string }>('SELECT * FROM c').fetchAll()).resources;
  const iterator = container.items.query<string>("SELECT VALUE c.id FROM c WHERE c.kind = 'a'", { maxItemCount: 500 });
  const found: string[] = [];
  while (iterator.hasMoreResults()) {
    const { resources, requestCharge } = await iterator.fetchNext();
    found.push(...resources);
    expect(requestCharge).toBeLessThan(2.4 + 0.2 * 501);
  }
  expect(found).toEqual(all.filter(({ kind }) => kind === 'a').map(({ id }) => id));
  const [few] = (await container.items.query("SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'b'").fetchAll()).resources;
  expect(few).toBe(120);
});

test('a mistake says where it is', async () => {
  const { container } = await emulate();
  const { code, message } = await refusal(container.items.query('SELECT * FORM c').fetchAll());
  expect(code).toBe(400);
  expect(message).toContain('"location":{"start":9,"end":13}');
  expect(message).toContain("incorrect syntax near 'FORM'");
});

test('sorted results that no client asks for are given up, and made again for the next page', async () => {
  const { emulator, container } = await emulate();
  for (let i = 0; i < 6; i++) await container.items.create({ id: String(i), pk: 'a', n: i });
  const iterator = container.items.query<number>('SELECT VALUE c.n FROM c ORDER BY c.n DESC', { maxItemCount: 3 });
  expect((await iterator.fetchNext()).resources).toEqual([5, 4, 3]);
  expect(emulator.stats().keptQueries).toBe(1);
  emulator.advance(61_000);
  await expect.poll(() => emulator.stats().keptQueries, { timeout: 20_000 }).toBe(0);
  expect((await iterator.fetchNext()).resources).toEqual([2, 1, 0]);
});

test('a continuation of sorted results is refused for another query, or for other parameters', async () => {
  const { emulator, container } = await emulate();
  for (let i = 0; i < 6; i++) await container.items.create({ id: String(i), pk: 'a', n: i });
  const page = (query: string, value: number, continuationToken?: string) =>
    container.items
      .query<number>(
        { query, parameters: [{ name: '@least', value }] },
        { partitionKey: 'a', maxItemCount: 2, ...(continuationToken !== undefined && { continuationToken }) },
      )
      .fetchNext();
  const sorted = 'SELECT VALUE c.n FROM c WHERE c.n >= @least ORDER BY c.n DESC';
  const first = await page(sorted, 1);
  expect(first.resources).toEqual([5, 4]);
  expect(emulator.stats().keptQueries).toBe(1);
  for (const other of [
    page(sorted.replace('DESC', 'ASC'), 1, first.continuationToken),
    page(sorted, 2, first.continuationToken),
  ]) {
    const { code, message } = await refusal(other);
    expect(code).toBe(400);
    expect(message).toContain('Invalid Continuation Token');
  }
  expect((await page(sorted, 1, first.continuationToken)).resources).toEqual([3, 2]);
});

test('a query that takes too much is refused, and others are served', async () => {
  const { container } = await emulate();
  await container.items.create({ id: '1', pk: 'a', list: Array.from({ length: 500 }, (_, i) => i) });
  const joins = 'c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list';
  for (const query of [
    `SELECT VALUE COUNT(1) FROM ${joins}`,
    "SELECT VALUE REPLACE(REPLICATE('a', 10000), 'a', REPLICATE('a', 10000)) FROM c",
  ]) {
    const { code, message } = await refusal(container.items.query(query).fetchAll());
    expect([code, message]).toEqual([400, expect.stringContaining('The query needs')]);
  }
  const { resources } = await container.items
    .query<boolean>("SELECT VALUE RegexMatch('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '^(a+)+$') FROM c")
    .fetchAll();
  expect(resources).toEqual([false]);
});

test("the time in a query is the server's, and a static one is the same in each row", async () => {
  const { emulator, container } = await emulate();
  for (let i = 0; i < 3; i++) await container.items.create({ id: String(i), pk: 'a' });
  const hour = 3_600_000;
  const times = async (name: string): Promise<number[]> =>
    (await container.items.query<number>(`SELECT VALUE ${name}() FROM c`).fetchAll()).resources;
  emulator.freeze(true);
  const [before] = await times('GetCurrentTimestamp');
  emulator.advance(hour);
  expect(await times('GetCurrentTimestamp')).toEqual(Array.from({ length: 3 }, () => before! + hour));
  expect(await times('GetCurrentTicks')).toEqual(Array.from({ length: 3 }, () => (before! + hour) * 10_000));
  emulator.freeze(false);
  expect(new Set(await times('GetCurrentTicksStatic')).size).toBe(1);
});

test('a prefix of a key filters, unless prefixes are loose', async () => {
  const { emulator, container } = await emulate({ partitionKey: TWO_LEVELS, throughput: 18_000 });
  const tenants = Array.from({ length: 12 }, (_, n) => `t${n}`);
  for (const t of tenants) for (const u of [1, 2]) await container.items.create({ id: `${u}`, t, u });
  const seen = async (partitionKey: (string | number)[]): Promise<number> =>
    new Set((await container.items.query<string>('SELECT VALUE c.t FROM c', { partitionKey }).fetchAll()).resources)
      .size;
  expect([await seen(['t3']), await seen(['t3', 1])]).toEqual([1, 1]);
  // ASM-E72. A whole key stays a filter (ASM-E79), and a prefix reaches no other physical partition.
  emulator.faults({ loosePrefixes: true });
  expect(await seen(['t3'])).toBeGreaterThan(1);
  expect(await seen(['t3'])).toBeLessThan(tenants.length);
  expect(await seen(['t3', 1])).toBe(1);
});

test('where plans are demanded, a query that combines partitions is refused first, and the client makes one', async () => {
  const { emulator, container } = await emulate({ throughput: 18_000 });
  for (let i = 0; i < 30; i++) await container.items.create({ id: String(i), pk: `k${i}`, n: i });
  const ask = async (query: string, options: FeedOptions): Promise<[unknown[], number]> => {
    const before = emulator.stats().statuses['400'] ?? 0;
    const { resources } = await container.items.query<unknown>(query, options).fetchAll();
    return [resources, (emulator.stats().statuses['400'] ?? 0) - before];
  };
  for (const [query, refusals] of [
    ['SELECT VALUE c.n FROM c ORDER BY c.n', 1],
    ['SELECT TOP 2 VALUE 1 FROM c', 1],
    ['SELECT VALUE 1 FROM c OFFSET 1 LIMIT 2', 1],
    ['SELECT DISTINCT VALUE c.n > 5 ? "a" : "b" FROM c ORDER BY c.n > 5 ? "a" : "b"', 1],
    ['SELECT VALUE COUNT(1) FROM c', 1],
    ['SELECT COUNT(1) AS n FROM c GROUP BY c.none', 1],
    ['SELECT VALUE c.n FROM c WHERE c.n = 3', 0],
  ] as const) {
    emulator.faults({});
    const [wanted] = await ask(query, {});
    emulator.faults({ demandPlans: true });
    // ASM-E74.
    expect([query, await ask(query, {})]).toEqual([query, [wanted, refusals]]);
    expect([query, (await ask(query, { partitionKey: 'k3' }))[1]]).toEqual([query, 0]);
  }
});

test('a count of one key that is kept is right after each write, and costs as one that reads everything', async () => {
  const { container, emulator } = await emulate({ defaultTtl: -1 });
  const condition = '@x = 1 AND NOT IS_DEFINED(c.gone) AND NOT (IS_STRING(c.type) AND STARTSWITH(c.type, "own."))';
  const ask = async (keeps: boolean, x = 1): Promise<readonly [unknown, number]> => {
    emulator.faults({ indexFrom: keeps ? 2 : 1_000 });
    const query = { query: `SELECT VALUE COUNT(1) FROM c WHERE ${condition}`, parameters: [{ name: '@x', value: x }] };
    const { resources, requestCharge } = await container.items.query(query, { partitionKey: 'a' }).fetchAll();
    return [resources[0], requestCharge];
  };
  const same = async (count: number): Promise<void> => {
    const kept = await ask(true);
    expect(kept[0]).toBe(count);
    expect(kept).toEqual(await ask(false));
  };
  for (let n = 0; n < 8; n++)
    await container.items.create({ id: `${n}`, pk: 'a', text: 'x'.repeat(500 * n), ...(n < 2 && { gone: true }) });
  await container.items.create({ id: '0', pk: 'b' });
  await same(6);
  expect((await ask(true, 2))[0]).toBe(0);
  await container.items.upsert({ id: '0', pk: 'a' });
  await same(7);
  await container.items.upsert({ id: '7', pk: 'a', type: 'own.x' });
  await container.item('6', 'a').delete();
  await same(5);
  await container.items.batch([{ operationType: 'Create', resourceBody: { id: '9', pk: 'a' } } as never], 'a');
  await same(6);
  await container.items.batch(
    [
      { operationType: 'Delete', id: '9' },
      { operationType: 'Create', resourceBody: { id: '9', pk: 'a' } },
    ],
    'a',
  );
  await same(6);
  // One that expires is read each time.
  await container.items.create({ id: 'short', pk: 'a', ttl: 1 });
  await same(7);
  for (const { id } of (
    await container.items.query<{ id: string }>('SELECT c.id FROM c', { partitionKey: 'a' }).fetchAll()
  ).resources)
    await container.item(id, 'a').delete();
  await same(0);
  await container.items.create({ id: 'new', pk: 'a' });
  await container.items.create({ id: 'newer', pk: 'a' });
  await same(2);
});
