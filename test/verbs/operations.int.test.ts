import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { cli } from '../cli/cli.ts';
import { useStage } from '../support/each-stage.ts';
import { SHOP, type Stage } from '../support/stage.ts';

let stage: Stage;
useStage({}, (opened) => {
  stage = opened;
});

const millrace = (...args: string[]) => cli([...args, '--pipeline', SHOP]);
const json = async (...args: string[]): Promise<{ code: number; value: unknown }> => {
  const { code, stdout } = await millrace(...args, '--json');
  return { code, value: JSON.parse(stdout) };
};

async function derive(): Promise<void> {
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
}

const order = (id: string, placedAt: unknown = '2026-01-01T10:00:00.000Z') => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt,
  cents: 100,
});

it.each([['status'], ['dead-letters', 'list'], ['projections', 'pause', 'days', '--dry-run'], ['run', '--once']])(
  'a verb names the database where it is what lacks, not a container in it: %s %s',
  async (...verb) => {
    await stage.services.place.database.container('millrace').delete();
    expect((await millrace('dead-letters', 'list')).stderr).toContain(
      'There is no container millrace in database shop',
    );
    vi.stubEnv('COSMOS_DATABASE', 'shopp');
    vi.stubEnv('LEASES_DATABASE', 'shopp');
    const { code, stderr } = await millrace(...verb);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no database shopp: did you mean shop?');
    expect(stderr).toContain('Check `COSMOS_DATABASE`');
  },
);

describe('model apply', () => {
  it('`model apply` creates what is missing, says so before, and finds nothing to do afterwards', async () => {
    vi.stubEnv('COSMOS_DATABASE', 'fresh');
    vi.stubEnv('LEASES_DATABASE', 'fresh');
    const planned = await json('model', 'apply', '--dry-run');
    expect(planned.value).toMatchObject({
      steps: [
        'create database fresh',
        'create container Orders, key /storeId, TTL on',
        'create container Customers, key /storeId',
        'create container Summaries, key /storeId, TTL on',
        'create container Days, key /storeId, TTL on',
        'create container leases, key /id, TTL on',
        'create container millrace, key /pk, TTL on',
      ],
    });
    expect(
      (await stage.services.place.database.client.databases.readAll().fetchAll()).resources.map(({ id }) => id),
    ).toEqual(['shop']);
    expect((await json('model', 'apply')).code).toBe(0);
    expect(await json('model', 'apply', '--dry-run')).toEqual({ code: 0, value: { steps: [], ru: 0 } });
    expect(await json('model', 'apply')).toEqual({ code: 0, value: { done: [] } });
  });

  it('`model apply` changes what can be changed', async () => {
    const { resource } = await stage.container('Orders').read();
    await stage
      .container('Orders')
      .replace({ id: 'Orders', partitionKey: resource?.partitionKey ?? { paths: [] }, defaultTtl: 60 });
    expect((await json('model', 'apply', '--dry-run')).value).toMatchObject({
      steps: ['change container Orders: defaultTtl from 60 to -1'],
    });
    await millrace('model', 'apply');
    expect((await stage.container('Orders').read()).resource?.defaultTtl).toBe(-1);
  });

  it('`model apply` refuses what Cosmos DB fixes at creation, and names it', async () => {
    await stage.container('Days').delete();
    await stage.services.place.database.containers.create({ id: 'Days', partitionKey: { paths: ['/day'] } });
    const { code, stderr } = await millrace('model', 'apply');
    expect(code).toBe(2);
    expect(stderr).toContain('Days: partitionKey from {"paths":["/day"]');
  });
});

describe('projections verify', () => {
  beforeEach(async () => {
    await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
    for (const id of ['o1', 'o2', 'o3']) await stage.container('Orders').items.upsert(order(id));
    await derive();
  });

  it('`projections verify` finds nothing where everything is right', async () => {
    expect(await json('projections', 'verify')).toMatchObject({
      code: 0,
      value: { different: 0, documents: { sources: 4, expected: 4, found: 4 } },
    });
  });

  it('`projections verify` finds what is missing, unexpected and different: exit code 1', async () => {
    const summaries = stage.container('Summaries');
    await summaries.item('o1', 's1').delete();
    await summaries.items.upsert({ id: 'o9', type: 'summary', storeId: 's1' });
    const { resource } = await summaries.item('o2', 's1').read<Record<string, unknown>>();
    await summaries.items.upsert({ ...resource, cents: 7 });
    const { code, value } = await json('projections', 'verify', 'summaries');
    expect(code).toBe(1);
    expect(value).toMatchObject({ different: 3 });
    expect((value as { differences: unknown[] }).differences).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'missing', document: '["s1","o1"]' }),
        expect.objectContaining({ kind: 'unexpected', document: '["s1","o9"]' }),
        expect.objectContaining({ kind: 'different', document: '["s1","o2"]', fields: ['cents'] }),
      ]),
    );
    expect((await millrace('projections', 'verify')).stdout).toContain('cents: expected 100, found 7');
    expect((await json('projections', 'verify', 'days')).code).toBe(0);
  });

  it('`projections verify` says which projections there are', async () => {
    const { code, stderr } = await millrace('projections', 'verify', 'dais');
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean days?');
  });
});

it('the command line lists leases, dead letters and the state of it all', async () => {
  await stage.container('Orders').items.upsert(order('bad', 7));
  await derive();
  const leases = (await json('leases', 'list')).value;
  expect(leases).toHaveLength(2);
  expect(leases).toEqual(
    expect.arrayContaining([expect.objectContaining({ token: '0', range: '00-FF', owner: null })]),
  );
  // The copy would hold a number where its type has text.
  expect((await json('dead-letters', 'list', '--each')).value).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ projection: 'days@1', id: 'bad', container: 'Orders' }),
      expect.objectContaining({ projection: 'summaries@1', id: 'bad', code: 'value-of-other-type' }),
    ]),
  );
  expect((await millrace('dead-letters', 'show', 'bad')).stdout).toMatch(
    /Orders\/bad \(order, key \["s1"\]\), not applied by days@1\n {2}projection-threw: /,
  );
  expect((await millrace('dead-letters', 'show', 'bat')).stderr).toContain('did you mean bad?');
  expect((await json('status')).value).toMatchObject({
    projections: [
      { id: 'summaries@1', parked: 1 },
      { id: 'days@1', parked: 1 },
    ],
    leases: { all: 2, free: 2 },
  });
});

it('a verb says how to make the containers that are not there yet', async () => {
  vi.stubEnv('COSMOS_DATABASE', 'nothing');
  vi.stubEnv('LEASES_DATABASE', 'nothing');
  for (const verb of [
    ['leases', 'list'],
    ['dead-letters', 'list'],
    ['projections', 'verify'],
    ['run', '--once'],
  ]) {
    const { code, stderr } = await millrace(...verb);
    expect(code).toBe(2);
    expect(stderr).toContain('millrace model apply');
  }
});

describe('model types', () => {
  it('`model types` tells a stale file, writes it, and finds it fresh', async () => {
    const folder = mkdtempSync(join(import.meta.dirname, '../fixtures/types-'));
    try {
      cpSync(SHOP, folder, { recursive: true });
      const file = join(folder, 'model.ts');
      expect((await cli(['model', 'types', '--pipeline', folder])).code).toBe(0);
      const wanted = readFileSync(file, 'utf8');
      writeFileSync(file, 'stale');
      expect((await cli(['model', 'types', '--check', '--pipeline', folder])).code).toBe(1);
      expect(readFileSync(file, 'utf8')).toBe('stale');
      expect((await cli(['model', 'types', '--pipeline', folder])).code).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(wanted);
      expect((await cli(['model', 'types', '--check', '--pipeline', folder])).code).toBe(0);
      writeFileSync(file, '// by hand\n');
      expect(await cli(['model', 'types', '--pipeline', folder])).toMatchObject({ code: 2, stderr: /by hand/ });
      const { code, stdout } = await cli(['model', 'types', '--overwrite', '--pipeline', folder]);
      expect(code).toBe(0);
      expect(stdout).not.toContain('Without a type');
      expect(readFileSync(file, 'utf8')).toBe(wanted);
      const design = join(folder, 'cosmosdb_data_model.md');
      const value = '"note": null, "tags": [], "at": { "x": null, "y": 1 }, "cents":';
      writeFileSync(design, readFileSync(design, 'utf8').replaceAll('"cents":', value));
      expect((await cli(['model', 'types', '--pipeline', folder])).stdout).toMatch(
        /^Without a type, because no example has a value: (Orders\.order\.(note|tags\[\]|at\.x), ){3}/m,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
