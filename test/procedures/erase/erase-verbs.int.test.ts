// Verbs that name documents or tenants, beside an erasure. ERASE-S6.
import { definePipeline, react } from 'millrace';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { registry } from '../../../src/host/registry.ts';
import { migrate } from '../../../src/procedures/migrate/migrate.ts';
import { rerun } from '../../../src/procedures/replay/rerun.ts';
import { settled } from '../../../src/procedures/verify/until-stable.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { m } from '../../fixtures/shop/model.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

const { signal } = new AbortController();

let stage: Stage;
let records: ErasureRecords;
beforeAll(async () => {
  stage = await openStage();
  records = new ErasureRecords(stage.services.place.state, stage.loaded.pipeline.name);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  for (const storeId of ['gone', 'stays'])
    await stage.container('Orders').items.create({
      id: 'o1',
      type: 'order',
      storeId,
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

it('an export of the tenant is refused, and of another one it isn’t', async () => {
  const { id } = await records.begin('gone', Date.now());
  const run = async (tenant: string) => {
    const workspace = openWorkspace({ directory: SHOP, pipeline: SHOP });
    const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
    const output = () => Promise.resolve();
    try {
      return await registry
        .get('tenants export')
        ?.run({ tenant, out: '-' }, { workspace, actor: 'Ada', signal, screen, output });
    } finally {
      await workspace.close();
    }
  };
  await expect(run('gone')).rejects.toMatchObject({ code: 'tenant-erased', message: expect.stringContaining('gone') });
  expect((await run('stays'))?.value).toMatchObject({ documents: 1 });
  await records.remove(id);
});

it('a reaction isn’t run again for its documents', async () => {
  const { id } = await records.begin('gone', Date.now());
  const ran: string[] = [];
  const spec = react('mail', { from: m.Orders.order, run: async ({ storeId }) => void ran.push(storeId) });
  const loaded = { ...stage.loaded, pipeline: definePipeline({ model: m, tenant: 'storeId', projections: [spec] }) };
  const documents = ['gone', 'stays'].map((storeId) => ({ key: [storeId], id: 'o1' }));
  const results = await rerun({ ...stage, loaded, spec, documents, repeat: 1, readLagMs: 0, signal });
  expect(results.map(({ outcome, message }) => [outcome, message])).toEqual([
    ['left out', 'its tenant is erased'],
    ['ran', undefined],
  ]);
  expect(ran).toEqual(['stays']);
  await records.remove(id);
});

it('a verification doesn’t judge its documents', async () => {
  const { loaded, services } = stage;
  const screen = { line: () => undefined, draw: () => undefined, progress: () => undefined, live: false };
  const chosen = loaded.pipeline.projections;
  const differ = async (): Promise<string[]> => {
    const { differences } = await settled(loaded, services, { chosen, kept: chosen, others: [] }, { signal, screen });
    return [...new Set(differences.map(({ document }) => String((JSON.parse(document) as unknown[])[0])))].toSorted();
  };
  expect(await differ()).toEqual(['gone', 'stays']);
  const { id } = await records.begin('gone', Date.now());
  expect(await differ()).toEqual(['stays']);
  await records.remove(id);
});

it('a migration doesn’t begin while a tenant is being erased, ends at its next page, and runs once it is erased', async () => {
  const { database, state } = stage.services.place;
  const { container: target } = await database.containers.create({
    id: 'Moved',
    partitionKey: { paths: ['/storeId'] },
  });
  const options = { state, source: stage.container('Orders'), target, signal, readLagMs: 0 };
  const { id } = await records.begin('gone', Date.now());
  await expect(migrate(options)).rejects.toMatchObject({ code: 'under-way' });
  await records.remove(id);
  let begun = '';
  const progress = async (): Promise<void> => void (begun ||= (await records.begin('gone', Date.now())).id);
  await expect(migrate({ ...options, progress })).rejects.toMatchObject({ code: 'under-way' });
  await records.update(begun, (record) => ({ ...record, state: 'erased' }));
  expect(await migrate(options)).toMatchObject({ into: 'Moved' });
  await records.remove(begun);
});
