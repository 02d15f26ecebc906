// The verb as a person runs it.
import { expect, it } from 'vitest';
import { readInProgress } from '../../../src/procedures/status/in-progress.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { TENANTS, addCustomers, order, stored } from './shop.ts';

let stage: Stage;
useStage({ folder: TENANTS }, async (opened) => {
  stage = opened;
  await addCustomers(stage);
  for (const id of ['o1', 'o2', 'o3']) await stage.container('Orders').items.upsert(order(id));
  await stage.container('Orders').items.upsert(order('o4', { storeId: 's9' }));
});

const backfill = (...args: string[]) => {
  const container = args.includes('--container') ? [] : ['--container', 'Orders'];
  return cli(['tenants', 'backfill', ...container, ...args, '--pipeline', TENANTS]);
};
const FROM = ['--from', 'Customers.storeId', '--by', 'customerId'];

it('a backfill shows what it would do, and changes nothing', async () => {
  const before = await stored(stage, 'Orders');
  const { code, stdout } = await backfill(...FROM, '--dry-run', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    steps: [
      'read the feed of Orders: 4 documents, about 4 RU',
      'read the documents of Customers that they name, at most 3 RU',
      'write storeId into 3 documents from Customers.storeId, about 33 RU',
      'write as `ttl` what is left of the life of documents that expire',
      'feed entries that this makes: 3; every reader of Orders gets them',
      'summaries@1: gets these documents again',
      'days@1: gets these documents again',
    ],
    ru: 40,
    seconds: 1,
  });
  expect(await stored(stage, 'Orders')).toEqual(before);
});

it('a backfill asks for a confirmation, writes, and leaves a record and nothing in progress', async () => {
  expect(await backfill(...FROM)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  const { code, stdout } = await backfill(...FROM, '--yes');
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Orders: storeId written into 3 documents, for [\d,]+ RU\.\n$/),
  });
  const audit = JSON.parse((await cli(['audit', '--json', '--pipeline', TENANTS])).stdout) as unknown[];
  expect(audit[0]).toMatchObject({ verb: 'tenants backfill', outcome: 'done', result: { written: 3, left: 0 } });
  expect(await readInProgress(stage.services, undefined, new AbortController().signal)).toEqual([]);
  const { resources } = await stage.services.place.state.items
    .query("SELECT * FROM c WHERE c.pk LIKE 'backfill%'")
    .fetchAll();
  expect(resources).toEqual([]);
  expect(JSON.parse((await backfill(...FROM, '--dry-run', '--json')).stdout)).toEqual({ steps: [], ru: 0 });
});

it('a backfill names the documents that it finds no value for: exit code 1', async () => {
  await stage.container('Orders').items.upsert(order('lost', { customerId: 'nobody' }));
  const { code, stdout } = await backfill(...FROM, '--yes');
  expect(code).toBe(1);
  expect(stdout).toContain('1 document still without storeId:\n  lost (key ["nobody"]): there is no Customers/nobody');
});

it.each([
  [['--from', 'a', '--value', 'b'], 'input-invalid'],
  [['--value', 'b', '--type', 'ordr'], 'input-invalid'],
  [['--value', 'b', '--container', 'Ordrs'], 'container-missing'],
  [['--from', 'Nothing.storeId', '--by', 'customerId'], 'container-missing'],
  [['--value', 'b', '--container', 'Days'], 'backfill-key'],
  [['--value', 'b', '--container', 'Countries'], 'not-found'],
])('a backfill refuses %j', async (args, code) => {
  for (const mode of ['--yes', '--dry-run']) {
    const result = await backfill(...args, mode, '--json');
    expect(result.code).toBe(2);
    expect(JSON.parse(result.stdout)).toMatchObject({ error: { code } });
  }
});

it('points to a migration where the tenant is part of the key', async () => {
  const { stderr } = await backfill('--container', 'Days', '--value', 's1', '--yes');
  expect(stderr).toContain('storeId is part of the partition key of Days');
  expect(stderr).toContain('millrace migrate Days --into TARGET');
});
