// `model check --env`: how an account differs from the model.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { cli } from '../../cli/cli.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-reality-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
/** The account of the stage is in the variables of the process, so the file of settings has nothing to add. */
async function against(pipeline: string): Promise<string[]> {
  await writeFile(join(root, 'millrace.live.env'), '');
  return ['model', 'check', pipeline, '--env', 'live'];
}

let stage: Stage;
const open = async (of: string): Promise<void> => {
  stage = await openStage({}, of);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  for (const { name, types } of stage.loaded.model.containers)
    for (const { examples } of types) for (const doc of examples) await stage.container(name).items.upsert(doc);
};
const close = async (): Promise<void> => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
};

describe('the storefront', () => {
  beforeEach(() => open(STOREFRONT));
  afterEach(close);

  test('the storefront doesn’t drift from its own examples', async () => {
    const { code, stdout } = await cli(await against(STOREFRONT), { directory: root });
    expect(stdout).toContain('no drift');
    expect(code).toBe(0);
    expect((await cli(['model', 'check', STOREFRONT])).stdout).not.toContain('drift');
  });
});

describe('the shop', () => {
  beforeEach(() => open(SHOP));
  afterEach(close);

  const drift = async () => {
    const { code, stdout } = await cli([...(await against(SHOP)), '--json'], { directory: root });
    const {
      account: { drifts },
    } = JSON.parse(stdout) as {
      account: { drifts: { container: string; type?: string; kind: string; what: string }[] };
    };
    return {
      code,
      drifts: drifts.map(({ container, type = '', kind, what }) => [container, type, kind, what].join(' | ')),
    };
  };

  test('each kind of drift is told with its counts; exit code 1', async () => {
    const orders = stage.container('Orders').items;
    const order = { type: 'order', storeId: 's1', placedAt: '2026-01-01T10:00:00.000Z' };
    await orders.create({ ...order, id: 'x1', customerId: 'c1', cents: '12' });
    await orders.create({ ...order, id: 'x2', cents: 5, coupon: { code: 'A' }, note: 'n'.repeat(2_000) });
    await orders.create({ id: 'x3', type: 'refund', storeId: 's1' });
    await stage.container('Customers').items.create({ id: 'c9', type: 'customer', storeId: 's1', name: 'B', ttl: 60 });
    await stage.container('Days').delete();
    await stage.services.place.database.containers.create({ id: 'Invoices', partitionKey: { paths: ['/id'] } });
    const { resource } = await stage.container('Orders').read();
    await stage.container('Orders').replace({ ...resource, defaultTtl: 60 });
    expect(await drift()).toEqual({
      code: 1,
      drifts: [
        'Invoices |  | container-extra | is in the account and not in the model',
        'Orders |  | ttl | defaultTtl is 60; the model says -1',
        expect.stringMatching(
          /^Orders \| order \| json-type \| cents is string in 1 document; the examples have number$/,
        ),
        'Orders | order | field-extra | coupon is in 1 of 4 documents, but in no example',
        'Orders | order | field-missing | customerId is in every example, but not in 1 of 4 documents',
        'Orders | order | field-extra | note is in 1 of 4 documents, but in no example',
        'Orders | refund | type-extra | 1 document of this type, which has no example',
        expect.stringMatching(/^Orders \| {2}\| size \| the average is \d+ B; the examples have \d+ B$/),
        'Customers | customer | field-extra | ttl is in 1 of 2 documents, but in no example',
        "Customers |  | ttl | 1 document with a ttl that has no effect, because the container's TTL is off",
        'Days |  | container-missing | is in the model and not in the account',
      ],
    });
  });
});
