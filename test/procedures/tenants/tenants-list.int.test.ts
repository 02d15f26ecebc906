// docs/SPEC-tenants.md, TEN-T6.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tenantRule } from '../../../src/pipeline/tenant.ts';
import { type ListedTenants, passes, saySize } from '../../../src/verbs/tenants/list.operation.ts';
import { PARTITION_BYTES, type Sizes, sizesOf } from '../../../src/procedures/tenants/sizes.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';

const MENDED = join(import.meta.dirname, '../../fixtures/mended');
const { signal } = new AbortController();
let stage: Stage;

useStage({ folder: MENDED }, (opened) => {
  stage = opened;
});

const orders = async (storeId: string, count: number, pad = 10): Promise<void> => {
  for (let n = 0; n < count; n++)
    await stage
      .container('Orders')
      .items.upsert({ id: `o${n}`, type: 'order', storeId, amount: 1, text: 'x'.repeat(pad) });
};
const sizes = (more: Partial<Parameters<typeof sizesOf>[0]> = {}): Promise<Sizes> => {
  const { pipeline, model } = stage.loaded;
  const rule = tenantRule({ ...pipeline, tenant: 'storeId' }, model)!;
  return sizesOf({
    database: stage.services.place.database,
    containers: model.containers,
    rule,
    most: 20,
    signal,
    ...more,
  });
};

it('`tenants list` counts the documents of each tenant, and estimates their bytes by 50 of them', async () => {
  await orders('s1', 3, 1_000);
  await orders('s2', 70, 10);
  await orders('S1', 1);
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  const { tenants, count, alike, without } = await sizes();
  expect([count, alike, without]).toEqual([3, [['S1', 's1']].map((ids) => expect.arrayContaining(ids)), []]);
  const stored = async (container: string, storeId: string): Promise<number> =>
    (
      await stage.container(container).items.query(`SELECT * FROM c WHERE c.storeId = '${storeId}'`).fetchAll()
    ).resources
      .map((doc) => Buffer.byteLength(JSON.stringify(doc)))
      .reduce((sum, bytes) => sum + bytes, 0);
  const of = (tenant: string) => tenants.find((one) => one.tenant === tenant)!;
  expect(of('s1')).toMatchObject({
    documents: 4,
    bytes: (await stored('Orders', 's1')) + (await stored('Customers', 's1')),
  });
  expect(of('s2').containers).toMatchObject([{ container: 'Orders', documents: 70, sampled: 50 }]);
  const exact = await stored('Orders', 's2');
  expect(Math.abs(of('s2').bytes - exact) / exact).toBeLessThan(0.05);
  expect(of('s2').containers[0]!.ofPartition).toBeCloseTo(of('s2').bytes / PARTITION_BYTES, 12);
  expect((await sizes({ most: 1 })).tenants.map(({ tenant }) => tenant)).toEqual(['s2']);
  expect((await sizes({ only: 'Customers' })).tenants.map(({ tenant }) => tenant)).toEqual(['s1']);
});

it('`tenants list` names documents without a valid tenant', async () => {
  await orders('s1', 1);
  for (const [id, storeId] of [
    ['number', 7],
    ['null', null],
  ] as const)
    await stage.container('Orders').items.upsert({ id, type: 'order', storeId });
  expect((await sizes()).without).toEqual([{ container: 'Orders', documents: 2 }]);
});

it('`tenants list` prints a table, and refuses what it can’t list', async () => {
  await orders('s1', 2);
  const { stdout, code } = await cli(['tenants', 'list', '--pipeline', MENDED]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^tenant +documents +size, about +RU +dead letters +largest in\ns1 +2 /m);
  expect(stdout).toContain('1 tenant.');
  const { stdout: status } = await cli(['status', '--pipeline', MENDED]);
  expect(status).toMatch(
    /^largest tenants +documents +size, about\ns1 +2 .*\n`millrace tenants list` counted them \d+ \S+ ago\./m,
  );
  const wrong = await cli(['tenants', 'list', '--container', 'Order', '--pipeline', MENDED]);
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.stderr).toContain('No container Order belongs to tenants');
});

it('`tenants list` warns of a logical partition that is half full, and fails for one that is nearly full', () => {
  const at = (share: number): ListedTenants => ({
    count: 1,
    documents: 1,
    without: [],
    alike: [],
    tenants: [
      {
        tenant: 's1',
        documents: 1,
        bytes: 1,
        deadLetters: 0,
        ru: null,
        containers: [{ container: 'Orders', documents: 1, bytes: 1, sampled: 1, ofPartition: share }],
      },
    ],
  });
  expect(saySize(at(0.49), 20)).not.toContain('20 GB of a logical partition');
  expect([0.5, 0.79, 0.8].map((share) => passes(at(share)))).toEqual([true, true, false]);
  expect(saySize(at(0.5), 20)).toContain('s1 has about 50 % of the 20 GB of a logical partition of Orders.');
});
