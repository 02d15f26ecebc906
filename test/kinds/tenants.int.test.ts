// A change without a tenant is parked, and so is one whose copy or group would belong to another tenant.
// docs/SPEC-tenants.md, TEN-T2 and TEN-T3.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Doc, ProjectionSpec } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import { live } from '../verbs/projections/versions.ts';
import { type Stage, openStage } from '../support/stage.ts';

const { signal } = new AbortController();
let stage: Stage;
let app: App | undefined;

beforeEach(async () => {
  stage = await openStage({}, join(import.meta.dirname, '../fixtures/mended'));
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
  await stage[Symbol.asyncDispose]();
});

/** Hosts the pipeline with another tenant field, and some projections declared otherwise. */
async function host(tenant: string, change: (spec: ProjectionSpec) => ProjectionSpec = (spec) => spec): Promise<void> {
  const { loaded } = stage;
  const projections = loaded.pipeline.projections.map(change);
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  app = await live({ ...stage, loaded: { ...loaded, pipeline: { ...loaded.pipeline, tenant, projections } } });
}

const order = async (id: string, more: Doc = {}): Promise<void> => {
  const base = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z', amount: 1 };
  await stage.container('Orders').items.upsert({ id, ...base, ...more });
  await app?.drained(signal);
};
const summaries = async (): Promise<string[]> =>
  (await stage.container('Summaries').items.readAll<Doc>().fetchAll()).resources
    .filter(({ type }) => type === 'summary')
    .map(({ id, storeId }) => `${String(storeId)} ${String(id)}`)
    .toSorted();
const letters = async (): Promise<string[]> =>
  (await new DeadLetters(stage.services.place.state).list())
    .map(({ projection, id, code, message }) => `${projection} ${id} ${code} ${message}`)
    .toSorted();

it('the engine parks a document without a tenant in every projection that reads it, until it has one', async () => {
  // The tenant is a field that is no part of the key, so the service lets it be missing.
  await host('customerId', (spec) => ({ ...spec, acrossTenants: true }));
  await order('none', { customerId: null });
  await order('number', { customerId: 7 });
  await order('right');
  expect(await summaries()).toEqual(['s1 right']);
  const parked = await letters();
  expect(parked).toContain('summaries@1 none tenant-missing The document names no tenant: customerId is null');
  expect(parked).toContain('summaries@1 number tenant-invalid The tenant in customerId is 7, not a text');
  expect(parked.some((line) => line.startsWith('days@1 none tenant-missing'))).toBe(true);
  await order('none');
  await order('number');
  expect(await letters()).toEqual([]);
  expect(await summaries()).toEqual(['s1 none', 's1 number', 's1 right']);
});

it('the engine parks a copy and a group for another tenant, and applies what belongs to its own', async () => {
  await host('storeId', (spec) => {
    if (spec.kind === 'copy')
      return {
        ...spec,
        map: (doc, joined) => ({ ...spec.map(doc, joined), ...(doc['amount'] === 2 ? { storeId: 's2' } : {}) }),
      };
    if (spec.kind === 'aggregate' && spec.from.type === 'order')
      return {
        ...spec,
        groupBy: (row, doc) => ({ ...spec.groupBy(row, doc), ...(doc['amount'] === 3 ? { storeId: 'all' } : {}) }),
      };
    return spec;
  });
  await order('own');
  await order('copied', { amount: 2 });
  await order('grouped', { amount: 3 });
  expect(await summaries()).toEqual(['s1 grouped', 's1 own']);
  const parked = await letters();
  expect(parked).toContain(
    'summaries@1 copied tenant-crossed summaries@1 makes a document of tenant "s2" from one of tenant "s1"',
  );
  expect(parked).toContain(
    'days@1 grouped tenant-crossed days@1 makes a document of tenant "all" from one of tenant "s1"',
  );
});

it('the engine lets a projection that says so write for other tenants', async () => {
  await host('storeId', (spec) =>
    spec.kind === 'copy'
      ? { ...spec, acrossTenants: true, map: (doc, joined) => ({ ...spec.map(doc, joined), storeId: 's2' }) }
      : spec,
  );
  await order('copied');
  expect(await summaries()).toEqual(['s2 copied']);
  expect(await letters()).toEqual([]);
});
