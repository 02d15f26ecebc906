// Every kind of damage that a person or an accident leaves in a sink: verify names it for what it is, repair puts it right
// or says why it can't, and a repair never tells of a success that changed nothing. docs/SPEC-rebuild.md, REB-W6 to
// REB-W10.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { type VerifyOptions, formatVerification, verify } from '../../../src/procedures/verify/verify.ts';
import { cli } from '../../cli/cli.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { live } from '../../verbs/projections/versions.ts';

const MENDED = join(import.meta.dirname, '../../fixtures/mended');
const SEED = suiteSeed();
const { signal } = new AbortController();
const screen = { progress: () => undefined };
let stage: Stage;
let app: App;

beforeEach(async () => {
  stage = await openStage({}, MENDED);
  app = await live(stage);
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

type Stored = Record<string, unknown> & { readonly id: string };
const look = (more: Partial<VerifyOptions> = {}) =>
  verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0, settings: stage.settings, ...more });
const read = async (container: string, id: string, key = 's1'): Promise<Stored | undefined> =>
  (await stage.container(container).item(id, key).read<Stored>()).resource;
const write = (container: string, doc: Stored) => stage.container(container).items.upsert(doc);
const letters = () => new DeadLetters(stage.services.place.state).list();

const customer = (id: string, name = 'Ada') => write('Customers', { id, type: 'customer', storeId: 's1', name });
const order = (id: string, more: Record<string, unknown> = {}) => {
  const base = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z', amount: 1 };
  return write('Orders', { id, ...base, ...more });
};
const shop = async (): Promise<void> => {
  for (const id of ['s1', 's2', 's3']) await write('Stores', { id, type: 'store', storeId: id, name: id });
  for (const id of ['AT', 'CH', 'DE']) await write('Countries', { id, type: 'country', region: 'eu', name: id });
  await app.drained(signal);
};

/** As an editor in a data explorer leaves a document. */
async function without(container: string, id: string, ...fields: string[]): Promise<void> {
  const doc = await read(container, id);
  await write(
    container,
    Object.fromEntries(Object.entries(doc ?? {}).filter(([name]) => !fields.includes(name))) as Stored,
  );
}

describe(`repairing (seed ${SEED})`, () => {
  it('a repair sets reference data right where both of its lists are older than its rows', async () => {
    await shop();
    const { state } = stage.services.place;
    const query = "SELECT * FROM c WHERE c.type = 'millrace.listed'";
    const { resources } = await state.items.query<Stored>(query).fetchAll();
    expect(resources).toHaveLength(6);
    for (const entry of resources) await state.items.upsert({ ...entry, version: { epoch: 1, lsn: 0, etag: 'older' } });
    await write('StoreCountries', { ...(await read('StoreCountries', 'AT'))!, name: 'Australia' });
    expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 1, unrepaired: [] } });
    expect(await read('StoreCountries', 'AT')).toMatchObject({ name: 'AT' });
  });

  it('a repair sets reference data right, in each tenant, and its lists with it', async () => {
    await shop();
    await write('StoreCountries', { ...(await read('StoreCountries', 'AT'))!, name: 'Australia' });
    await stage.container('StoreCountries').item('CH', 's2').delete();
    await write('StoreCountries', { id: 'XX', type: 'storeCountry', storeId: 's3', name: 'Nowhere' });
    expect(await look()).toMatchObject({ different: 3 });
    const after = await look({ repair: true });
    expect(after).toMatchObject({ different: 0, repaired: { repaired: 3, removed: 1, reset: 1, unrepaired: [] } });
    expect(await read('StoreCountries', 'AT')).toMatchObject({ name: 'AT' });
    expect(await read('StoreCountries', 'CH', 's2')).toMatchObject({ name: 'CH' });
    // It goes on as before.
    await write('Countries', { id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
    await write('Stores', { id: 's4', type: 'store', storeId: 's4', name: 's4' });
    await app.drained(signal);
    expect(await read('StoreCountries', 'AT', 's4')).toMatchObject({ name: 'Austria' });
    expect(await look()).toMatchObject({ different: 0 });
    // Its lists are wrong: one entry is gone with its copies, one says what is not so.
    const { resources } = await stage.services.place.state.items
      .query<Stored & { of: { id: string }; pk: string }>("SELECT * FROM c WHERE c.type = 'millrace.listed'")
      .fetchAll();
    const entry = (id: string) => resources.find(({ of }) => of.id === id)!;
    await stage.services.place.state.item(entry('s2').id, entry('s2').pk).delete();
    for (const id of ['AT', 'CH', 'DE']) await stage.container('StoreCountries').item(id, 's2').delete();
    await stage.services.place.state.items.upsert({ ...entry('DE'), part: { id: 'DE', name: 'Wrong' } });
    await write('Stores', { id: 's5', type: 'store', storeId: 's5', name: 's5' });
    await app.drained(signal);
    expect(await look()).toMatchObject({ different: 4 });
    expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 4, unrepaired: [] } });
    await write('Stores', { id: 's6', type: 'store', storeId: 's6', name: 's6' });
    await app.drained(signal);
    expect(await look()).toMatchObject({ different: 0 });
  });

  it.each([
    ['_mr', ['_mr']],
    ['_src', ['_src']],
    ['both', ['_mr', '_src']],
  ])(
    'a repair adopts copies that lost their own part (%s), without a moment in which they are gone',
    async (_, fields) => {
      await shop();
      await customer('c1');
      await order('o1');
      await app.drained(signal);
      await without('Summaries', 'o1', ...fields);
      await without('StoreCountries', 'AT', ...fields);
      expect((await look()).differences.map(({ document, fields: of }) => [document, of.toSorted()])).toEqual(
        expect.arrayContaining([
          ['["s1","o1"]', fields],
          ['["s1","AT"]', fields],
        ]),
      );
      // Until then the ordinary path leaves them alone.
      await order('o1', { amount: 2 });
      await app.drained(signal);
      expect(await read('Summaries', 'o1')).toMatchObject({ amount: 1 });
      expect(await letters()).toMatchObject([{ projection: 'summaries@1', code: 'sink-occupied' }]);
      const { _self: before } = (await read('Summaries', 'o1'))!;
      expect(await look({ repair: true })).toMatchObject({ different: 0, parked: [], repaired: { repaired: 2 } });
      const { _self: after, ...repaired } = (await read('Summaries', 'o1'))!;
      expect(after).toBe(before);
      expect(repaired).toMatchObject({ amount: 2, _mr: { by: 'summaries@1' }, _src: { id: 'o1', pk: ['s1'] } });
      expect(await letters()).toEqual([]);
      await order('o1', { amount: 3 });
      await customer('c1', 'Eve');
      await app.drained(signal);
      expect(await read('Summaries', 'o1')).toMatchObject({ amount: 3, customerName: 'Eve' });
    },
  );

  it('a repair builds up again a group that lost its own part, or whose own part says what is not so', async () => {
    await customer('c1');
    await order('o1', { amount: 1 });
    await order('o2', { amount: 2, placedAt: '2026-01-02T10:00:00.000Z' });
    await app.drained(signal);
    await without('Days', 'day|2026-01-01|s1', '_mr');
    const second = (await read('Days', 'day|2026-01-02|s1'))!;
    await write('Days', { ...second, _mr: { ...(second['_mr'] as object), rows: 7 } });
    const found = await look();
    expect(found.differences.map(({ document, fields }) => [document, fields])).toEqual([
      ['["s1","day|2026-01-01|s1"]', ['_mr']],
      ['["s1","day|2026-01-02|s1"]', ['_mr']],
    ]);
    // What is parked for it meanwhile hides nothing.
    await order('o1', { amount: 5 });
    await app.drained(signal);
    expect(await letters()).toMatchObject([{ projection: 'days@1', code: 'sink-occupied' }]);
    expect((await look()).differences).toHaveLength(2);
    expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 2, unrepaired: [] } });
    expect(await letters()).toEqual([]);
    expect(await read('Days', 'day|2026-01-01|s1')).toMatchObject({ orders: 1, amount: 5 });
  });

  it('a repair sees that what waits for a joined document is gone, and lets it wait again', async () => {
    await order('o1', { customerId: 'later' });
    await app.drained(signal);
    expect(await letters()).toEqual([]);
    expect(await read('Summaries', 'o1')).toBeUndefined();
    expect(await look()).toMatchObject({ different: 0 });
    const { state } = stage.services.place;
    const { resources } = await state.items.query<Stored & { pk: string }>('SELECT * FROM c WHERE c.waits').fetchAll();
    for (const { id, pk } of resources) await state.item(id, pk).delete();
    expect(await look()).toMatchObject({
      different: 1,
      differences: [{ container: 'Orders', document: '["s1","o1"]', kind: 'missing', expected: { waits: true } }],
    });
    expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 1 } });
    await customer('later', 'Ada');
    await app.drained(signal);
    expect(await read('Summaries', 'o1')).toMatchObject({ type: 'summary', customerName: 'Ada' });
  });

  it('a repair names what is parked as parked, not as missing, and compares the rest of its group', async () => {
    await customer('c1');
    await order('o1');
    await order('huge', { amount: 1e21 });
    await order('other', { amount: 1e21, placedAt: '2026-01-02T10:00:00.000Z' });
    await app.drained(signal);
    const found = await look();
    expect(found).toMatchObject({ different: 0 });
    expect(found.parked.map(({ projection, id, code }) => `${projection} ${id} ${code}`).toSorted()).toEqual([
      'days@1 huge sum-unsafe',
      'days@1 other sum-unsafe',
    ]);
    const day = (await read('Days', 'day|2026-01-01|s1'))!;
    await write('Days', { ...day, amount: 5 });
    expect(await look()).toMatchObject({ different: 1 });
    expect(await look({ repair: true })).toMatchObject({ different: 0, parked: [{}, {}] });
    // An older version of what is parked now is still counted: no one can say what the group must be.
    await order('o2');
    await app.drained(signal);
    await order('o1', { amount: -1e21 });
    await app.drained(signal);
    expect(await look()).toMatchObject({ different: 0, parked: [{}, {}, {}] });
    vi.stubEnv('NO_COLOR', '1');
    for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
    try {
      const { code, stdout } = await cli(['projections', 'verify', 'days', '--pipeline', MENDED]);
      expect(stdout).toContain('parked, not compared: Orders ["s1","huge"] in days@1, sum-unsafe: Measure amount');
      expect(stdout).toContain('no difference');
      expect(stdout).toContain(
        '3 source documents not compared, nor what derives from older versions: 3 parked (sum-unsafe).',
      );
      expect(code).toBe(1);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('a repair takes sums of fractions for equal that differ by their rounding, and no others', async () => {
    const random = new Random(SEED);
    await customer('c1');
    const amount = (): number => random.pick([0.1, 0.7, 1e-3, 1234.56, 1e9 / 3, -0.3, 5]) * (1 + random.unit());
    const fresh = Array.from({ length: 20 }, (_, n) => 0.1 * (n + 1)).reduce((sum, one) => sum + one, 0);
    let day: Stored | undefined;
    // What was added and taken away over all changes is, sooner or later, another number than what is added up now.
    for (let round = 0; round < 20 && (!day || day['amount'] === fresh); round++) {
      for (const given of [amount, (n: number) => 0.1 * (n + 1)]) {
        await Promise.all(Array.from({ length: 20 }, (_, n) => order(`o${n}`, { amount: given(n) })));
        await app.drained(signal);
      }
      day = (await read('Days', 'day|2026-01-01|s1'))!;
    }
    if (!day) throw new Error('There is no day');
    expect(day['amount']).not.toBe(fresh);
    expect(await look()).toMatchObject({ different: 0 });
    for (const [field, wrong] of [
      ['amount', Number(day['amount']) + 0.001],
      ['average', Number(day['average']) + 0.001],
      ['orders', 21],
    ] as const) {
      await write('Days', { ...day, [field]: wrong });
      expect((await look()).differences).toMatchObject([{ fields: [field] }]);
    }
    expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 1 } });
    // Whole numbers are exact.
    await order('whole', { amount: 3, placedAt: '2026-01-03T10:00:00.000Z' });
    await app.drained(signal);
    const whole = (await read('Days', 'day|2026-01-03|s1'))!;
    await write('Days', { ...whole, amount: 3 + Number.EPSILON * 2 });
    expect((await look()).differences).toMatchObject([{ fields: ['amount'] }]);
  });

  it('a repair names what it could not repair, and why, and touches no document of others', async () => {
    await customer('c1');
    await order('o1');
    await order('o2');
    await app.drained(signal);
    const foreign = { id: 'o1', storeId: 's1', type: 'note', text: 'the application’s' };
    await write('Summaries', foreign);
    const other = (await read('Summaries', 'o2'))!;
    await write('Summaries', { ...other, amount: 7, _mr: { by: 'another@1' } });
    const day = { id: 'day|2026-01-01|s1', storeId: 's1', type: 'note' };
    await write('Days', day);
    const after = await look({ repair: true });
    expect(after).toMatchObject({ different: 3, repaired: { repaired: 0, removed: 0, reset: 0 } });
    expect(after.repaired?.unrepaired.map(({ document, why }) => [document, why])).toEqual(
      expect.arrayContaining([
        ['["s1","o1"]', 'a document of type note that Millrace did not write has its place'],
        ['["s1","o2"]', 'a document of another@1 has its place'],
        ['["s1","day|2026-01-01|s1"]', 'a document of type note that Millrace did not write has its place'],
      ]),
    );
    expect(await read('Summaries', 'o1')).toMatchObject(foreign);
    expect(await read('Days', day.id)).toMatchObject(day);
    const text = formatVerification(after);
    expect(text).toContain('Repaired 0 of 3 differences');
    expect(text).toContain('not repaired: Summaries ["s1","o2"]: a document of another@1 has its place');
    // A change that meets it is parked, and verify names that instead.
    await order('o1', { amount: 2 });
    await app.drained(signal);
    const parked = await look({ only: 'summaries' });
    expect(parked.parked).toMatchObject([{ id: 'o1', code: 'sink-occupied' }]);
    expect(parked.differences.map(({ document }) => document)).toEqual(['["s1","o2"]']);
  });
});
