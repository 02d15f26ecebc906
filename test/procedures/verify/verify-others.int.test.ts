import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { rebuildInPlace } from '../../../src/procedures/rebuild/rebuild.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';
import { cli } from '../../cli/cli.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');

test('an embedded field that is not as its parent says is told, and nothing that no embed writes', async () => {
  await using stage = await openStage({}, STOREFRONT);
  const store = { id: 's', storeId: 's', type: 'store', name: 'n', currency: 'EUR', countryId: 'AT' };
  const variant = { storeId: 's', productId: 'p', type: 'variant', sku: 'x', name: 'v', priceCents: 1, shelf: 'A-1' };
  await stage.container('Stores').items.create(store);
  for (const [id, currency] of [
    ['right', 'EUR'],
    ['wrong', 'CHF'],
    ['orphan', 'CHF'],
  ] as const)
    await stage.container('Catalog').items.create({
      ...variant,
      id,
      currency,
      ...(id === 'orphan' ? { storeId: 'gone' } : {}),
    });
  const { signal } = new AbortController();
  const screen = { progress: () => undefined };
  const only = 'variant-currencies';
  const found = await verify(stage.loaded, stage.services, { signal, screen, only, readLagMs: 0 });
  expect(found).toMatchObject({
    projections: [{ id: 'variant-currencies@1', expected: 3, refused: 0 }],
    different: 1,
    differences: [{ container: 'Catalog', document: '["s","p","wrong"]', kind: 'different', fields: ['currency'] }],
  });
  const under = async (...key: string[]) =>
    verify(stage.loaded, stage.services, { signal, screen, only, key, readLagMs: 0 });
  expect(await under('s', 'p')).toMatchObject({ documents: { expected: 2, found: 2 }, different: 1 });
  expect(await under('s', 'q')).toMatchObject({ documents: { expected: 0, found: 0 }, none: 'the key ["s","q"]' });
  await expect(under('s', 'p', 'wrong')).rejects.toThrow('has 3 values');
});

test('of one tenant the children of its parents are compared, and no others are read', async () => {
  await using stage = await openStage({}, STOREFRONT);
  await fill(stage, 3);
  const look = (tenant?: string) =>
    verify(stage.loaded, stage.services, {
      signal,
      screen,
      only: ONLY,
      readLagMs: 0,
      ...(tenant !== undefined && { ofTenant: askedTenant(stage.loaded, tenant) }),
    });
  const all = await look();
  expect(all).toMatchObject({ different: 9, projections: [{ expected: 9 }] });
  for (const tenant of ['s0', 's2'])
    expect(await look(tenant)).toMatchObject({
      different: 3,
      projections: [{ expected: 3, refused: 0 }],
      differences: all.differences.filter(({ document }) => document.startsWith(`["${tenant}",`)),
    });
});

const { signal } = new AbortController();
const screen = { progress: () => undefined };
const ONLY = 'variant-currencies';

/** Stores and three variants of each, all with a currency that is no store's. */
async function fill(stage: Stage, stores: number): Promise<void> {
  for (let n = 0; n < stores; n++) {
    const store = { id: `s${n}`, storeId: `s${n}`, type: 'store', name: 'n', currency: `C${n}`, countryId: 'AT' };
    await stage.container('Stores').items.create(store);
    for (const id of ['a', 'b', 'c'])
      await stage.container('Catalog').items.create({
        id,
        storeId: `s${n}`,
        productId: 'p',
        type: 'variant',
        sku: 'x',
        name: 'v',
        priceCents: 1,
        shelf: 'A-1',
        currency: 'none',
      });
  }
}

test('an embed that was added to a running pipeline is filled in from history, in place, and again does no harm', async () => {
  await using stage = await openStage({}, STOREFRONT);
  await fill(stage, 5);
  const spec = stage.loaded.pipeline.embeds.find(({ name }) => name === ONLY);
  if (!spec) throw new Error(`No ${ONLY}`);
  const { settings, services, loaded } = stage;
  const options = { settings, services, loaded, spec, readLagMs: 0, signal, timings: { pollMs: 40, acquireMs: 100 } };
  const look = () => verify(loaded, services, { signal, screen, only: ONLY, readLagMs: 0 });
  expect(await look()).toMatchObject({ different: 15 });
  expect(await rebuildInPlace(options)).toMatchObject({
    projection: `${ONLY}@1`,
    changes: 5,
    parked: 0,
    inPlace: true,
  });
  expect(await look()).toMatchObject({ different: 0 });
  const { resources: before } = await stage.container('Catalog').items.query('SELECT c._etag FROM c').fetchAll();
  expect(await rebuildInPlace(options)).toMatchObject({ changes: 5 });
  expect((await stage.container('Catalog').items.query('SELECT c._etag FROM c').fetchAll()).resources).toEqual(before);
  // Its leases are gone.
  const { resources } = await stage.services.global.leases.items.query('SELECT VALUE c.id FROM c').fetchAll();
  expect(resources).toEqual([]);
});

test('--repair puts embedded fields right, of parents that were never seen and of children that were falsified', async () => {
  await using stage = await openStage({}, STOREFRONT);
  await fill(stage, 3);
  const { settings, services, loaded } = stage;
  const hint = { signal, screen, only: ONLY, readLagMs: 0, settings, repair: true };
  expect(await verify(loaded, services, hint)).toMatchObject({ different: 0, repaired: { applied: 12 } });
  const { resource } = await stage.container('Catalog').item('b', ['s1', 'p']).read<Record<string, unknown>>();
  await stage.container('Catalog').items.upsert({ ...resource, currency: 'false' });
  expect(await verify(loaded, services, { ...hint, repair: false })).toMatchObject({ different: 1 });
  expect(await verify(loaded, services, hint)).toMatchObject({ different: 0 });
  expect((await stage.container('Catalog').item('b', ['s1', 'p']).read()).resource).toMatchObject({ currency: 'C1' });
});

test('what has no versions, or nothing to compare, is said so', async () => {
  await using stage = await openStage({}, STOREFRONT);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  try {
    const projections = (...args: string[]) => cli(['projections', ...args, '--pipeline', STOREFRONT]);
    expect((await projections('promote', ONLY)).stderr).toMatch(
      /variant-currencies@1 is an embed.*\n.*Fill it in place with `millrace projections rebuild variant-currencies`/,
    );
    expect((await projections('replay', ONLY, '--into', 'Catalog')).stderr).toContain('only writes in place');
    expect((await projections('rebuild', 'variant-curencies')).stderr).toContain('did you mean variant-currencies?');
    expect((await projections('rebuild', ONLY, '--dry-run')).stdout).toContain('where they differ');
    const { pipeline } = stage.loaded;
    const [other] = [...pipeline.effects, ...pipeline.publishes, ...pipeline.archives];
    if (!other) throw new Error('The storefront has nothing beyond verification');
    expect((await projections('verify', other.name)).stderr).toContain("can't be verified");
    expect((await projections('verify')).stdout).toMatch(/ {2}\S+@1: (not compared|compared by)/);
  } finally {
    vi.unstubAllEnvs();
  }
});
