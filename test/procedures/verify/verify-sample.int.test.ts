// A sample of all documents must say what a comparison of all documents says, of every kind and of archived sources.
import { join } from 'node:path';
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { sweep } from '../../../src/procedures/archive/sweep.ts';
import { draw } from '../../../src/procedures/verify/sample/draw.ts';
import { type Verification, type VerifyOptions, verify } from '../../../src/procedures/verify/verify.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { COLD, type Stage, openStage } from '../../support/stage.ts';
import { derive } from '../recover/recovery.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');
const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');
const ALL = '10000';
const { signal } = new AbortController();
const screen = { progress: () => undefined };

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.close());

const look = (stage: Stage, more: Partial<VerifyOptions> = {}): Promise<Verification> =>
  verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0, ...more });

/** The differences without evidence, in one order. */
const said = ({ differences }: Verification): unknown[] =>
  differences
    .map(({ container, document, kind, fields }) => ({ container, document, kind, fields }))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Compares a sample of everything with a comparison of everything, and resolves with its differences. */
async function agree(stage: Stage): Promise<unknown[]> {
  const [whole, sample] = [await look(stage), await look(stage, { sample: ALL })];
  expect(said(sample)).toEqual(said(whole));
  return said(whole);
}

async function any(stage: Stage, container: string, type: string): Promise<Doc & { id: string; storeId: string }> {
  const query = `SELECT * FROM c WHERE c.type = '${type}' ORDER BY c.id`;
  const { resources } = await stage.container(container).items.query(query).fetchAll();
  return resources[0] as Doc & { id: string; storeId: string };
}

it('a sample says of copies, sums of fractions and reference data what a comparison of all documents says', async () => {
  await using stage = await openStage({}, join(FIXTURES, 'mended'));
  for (const storeId of ['s1', 's2', 's3'])
    await stage.container('Stores').items.create({ id: storeId, storeId, type: 'store' });
  for (const id of ['AT', 'DE', 'CH'])
    await stage.container('Countries').items.create({ id, type: 'country', name: id });
  for (let n = 0; n < 40; n++) {
    const storeId = `s${1 + (n % 3)}`;
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId,
      customerId: `c${n % 4}`,
      amount: n / 10,
      placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
    });
    // Copies wait for the customer c3.
    if (n % 4 < 3)
      await stage.container('Customers').items.upsert({ id: `c${n % 4}`, type: 'customer', storeId, name: 'N' });
  }
  await derive(stage);
  expect(await agree(stage)).toEqual([]);

  const summary = await any(stage, 'Summaries', 'summary');
  await stage.container('Summaries').items.upsert({ ...summary, customerName: 'X' });
  const day = await any(stage, 'Days', 'day');
  await stage.container('Days').item(day.id, day.storeId).delete();
  const country = await any(stage, 'StoreCountries', 'storeCountry');
  await stage.container('StoreCountries').items.upsert({ ...country, name: 'X' });
  await stage.container('StoreCountries').items.create({ ...country, id: 'XX' });
  const found = await agree(stage);
  expect(found).toHaveLength(4);
});

it('a sample finds embedded fields that are not as their parents say', async () => {
  await using stage = await openStage({}, STOREFRONT);
  await stage
    .container('Stores')
    .items.create({ id: 's', storeId: 's', type: 'store', name: 'n', currency: 'EUR', countryId: 'AT' });
  const variant = { storeId: 's', productId: 'p', type: 'variant', sku: 'x', name: 'v', priceCents: 1, shelf: 'A-1' };
  for (const [id, currency] of [
    ['right', 'EUR'],
    ['wrong', 'CHF'],
  ] as const)
    await stage.container('Catalog').items.create({ ...variant, id, currency });
  const found = await look(stage, { sample: ALL, only: 'variant-currencies' });
  expect(found.differences).toMatchObject([{ document: '["s","p","wrong"]', fields: ['currency'] }]);
});

it('a sample compares of a large group what the documents drawn contribute', async () => {
  await using stage = await openStage({});
  for (let n = 0; n < 130; n++)
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      cents: n,
      placedAt: '2026-01-01T10:00:00.000Z',
    });
  await derive(stage);
  expect(await look(stage, { sample: ALL, only: 'days' })).toMatchObject({ different: 0, sampled: { largeGroups: 1 } });

  const days = stage.container('Days');
  const query = "SELECT * FROM c WHERE c.source.id = 'o7'";
  const [one] = (await days.items.query<Doc & { id: string }>(query).fetchAll()).resources;
  await days.items.upsert({ ...one, values: { rows: 1, m: { cents: -1 } } });
  const found = await look(stage, { sample: ALL, only: 'days' });
  expect(found.differences).toMatchObject([{ container: 'Days', fields: ['contributions'] }]);
  const day = await any(stage, 'Days', 'day');
  await days.item(day.id, day.storeId).delete();
  expect((await look(stage, { sample: ALL, only: 'days' })).differences).toMatchObject([
    { kind: 'missing', document: '["s1","day|2026-01-01|s1"]' },
  ]);
});

for (const feed of ['latest', 'all-versions'] as const)
  it(`a sample knows the sources that were archived by their discriminator (${feed})`, async () => {
    const { connectionString } = azurite;
    await using stage = await openStage({}, COLD, { connectionString, container: `sample-${feed}` });
    if (feed === 'all-versions') {
      const { resource } = await stage.container('Orders').read();
      await stage.container('Orders').delete();
      const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(60));
      await stage.services.place.database.containers.create({ ...resource, defaultTtl: -1, changeFeedPolicy });
    }
    const sources = stage.loaded.pipeline.sources.map((rules) => ({ ...rules, feed, discriminator: 'kind' }));
    const loaded = { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, sources } };
    const cold: Stage = { ...stage, loaded };
    if (feed === 'all-versions') await derive(cold);
    for (let n = 0; n < 12; n++)
      await stage.container('Orders').items.create({
        id: `o${n}`,
        kind: 'order',
        storeId: 's1',
        customerId: 'c1',
        cents: n,
        placedAt: `2026-0${1 + (n % 2)}-01T10:00:00.000Z`,
      });
    await derive(cold);
    const [swept] = await sweep({ ...cold, signal, screen: { draw: () => undefined, line: () => undefined } });
    expect(swept).toMatchObject({ archived: 6 });
    expect(await agree(cold)).toEqual([]);
    const day = await any(stage, 'Days', 'day');
    await stage.container('Days').items.upsert({ ...day, cents: -1 });
    expect(await agree(cold)).toMatchObject([{ container: 'Days', kind: 'different' }]);
  });

it('a sample draws each document of a container with many some time, and reads only so many', async () => {
  await using stage = await openStage({ partitions: 3 } as never);
  const ids = Array.from({ length: 300 }, (_, n) => `o${n}`);
  for (const id of ids)
    await stage.container('Orders').items.create({ id, type: id.endsWith('7') ? 'rare' : 'order', storeId: id });
  const random = new Random(suiteSeed());
  const most = new Map([
    ['order', 20],
    ['rare', 5],
  ]);
  const typeOf = ({ type }: Doc): string => String(type);
  const met = new Set<string>();
  for (let n = 0; n < 2_000 && met.size < ids.length; n++) {
    const drawn = await draw(stage.container('Orders'), {
      typeOf,
      most,
      random: () => random.int(2 ** 30) / 2 ** 30,
      signal,
    });
    expect(drawn.get('order')?.length).toBeLessThanOrEqual(20);
    for (const { id } of [...drawn.values()].flat()) met.add(id);
  }
  expect(met.size).toBe(ids.length);
});

it('a verification refuses a sample that is repaired, or is no number, or of a sink that lists everything or nothing', async () => {
  const world = await leaseWorld(1);
  await expect(world.run(projectionsVerify, { sample: '10', repair: true })).rejects.toMatchObject({
    code: 'input-invalid',
    message: expect.stringContaining('can’t be repaired'),
  });
  for (const sample of ['0', '0%', '101%', '-1', '1.5', 'some'])
    await expect(world.run(projectionsVerify, { sample })).rejects.toMatchObject({ code: 'input-invalid' });
  expect((await world.run(projectionsVerify, { sample: '0.5%' })).text).toContain('A sample of 0.5% of each type');
});
