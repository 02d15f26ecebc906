// What of a declaration is refused because a container is read by its all-versions feed.
import { expect, test } from 'vitest';
import { archive, definePipeline, source } from 'millrace';
import { checkPipeline } from '../../src/pipeline/check/check-pipeline.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { m } from '../fixtures/shop/model.ts';
import { SHOP } from '../support/stage.ts';

const { model: shop } = await loadPipeline(SHOP);
const cold = archive('orders-cold', { from: m.Orders.order, date: 'placedAt', before: '2026-02-01' });

test('an archive of a container without a default time to live, where nothing could leave by expiry', () => {
  const endless = { ...shop, containers: shop.containers.map(({ defaultTtl: _ttl, ...container }) => container) };
  const of = (feed: 'latest' | 'all-versions') =>
    definePipeline({ model: m, sources: [source({ of: m.Orders.order, feed })], projections: [cold] });
  const codes = (feed: 'latest' | 'all-versions', in_: typeof shop) =>
    checkPipeline(of(feed), in_).map(({ code, severity }) => [severity, code]);
  expect(codes('all-versions', shop)).toEqual([]);
  expect(codes('latest', endless)).toEqual([]);
  expect(codes('all-versions', endless)).toEqual([['error', 'archive-no-ttl']]);
});
