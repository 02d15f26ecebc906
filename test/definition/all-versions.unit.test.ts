// What of a declaration is refused because a container is read by its all-versions feed.
import { expect, test } from 'vitest';
import { archive, definePipeline, model, source } from 'millrace';
import { checkPipeline } from '../../src/definition/check/check-pipeline.ts';
import { loadPipeline } from '../../src/runtime/load-pipeline.ts';
import type { Shop } from '../fixtures/shop/model.types.ts';
import { SHOP } from '../support/stage.ts';

const m = model<Shop>('../fixtures/shop/cosmosdb_data_model.md');
const { model: shop } = await loadPipeline(SHOP);
const cold = archive('orders-cold', { from: m.Orders.order, date: 'placedAt', before: '2026-02-01' });
const found = (feed: 'latest' | 'all-versions', ...projections: Parameters<typeof definePipeline>[0]['projections']) =>
  checkPipeline(definePipeline({ model: m, sources: [source({ of: m.Orders.order, feed })], projections }), shop)
    .filter(({ code }) => code.endsWith('all-versions'))
    .map(({ code, severity, message }) => [severity, code, message]);

test('an archive: what a sweep removes would count as deleted', () => {
  expect(found('latest', cold)).toEqual([]);
  expect(found('all-versions', cold)).toEqual([
    ['error', 'archive-all-versions', expect.stringContaining('Archive orders-cold takes Orders (order)')],
  ]);
});

test('an archive of another type in that container: a container has one feed', () => {
  const refund = { ...cold, from: { container: 'Orders', type: 'refund' } };
  expect(found('all-versions', refund)).toMatchObject([['error', 'archive-all-versions', expect.anything()]]);
});
