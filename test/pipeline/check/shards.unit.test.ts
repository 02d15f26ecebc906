import { describe, expect, it } from 'vitest';
import {
  aggregate,
  archive,
  copy,
  custom,
  definePipeline,
  embed,
  global,
  ingest,
  react,
  reference,
  send,
  shardMap,
  source,
  table,
} from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import { partOf } from '../../../src/pipeline/places.ts';
import type { PipelineOptions } from '../../../src/pipeline/pipeline.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { m } from '../../fixtures/spread/model.ts';
import { SPREAD } from '../../support/spread-stage.ts';

const loaded = await loadPipeline(SPREAD);

const codes = (
  projections: PipelineOptions['projections'],
  more: Partial<PipelineOptions> = {},
): (string | undefined)[] =>
  checkPipeline(
    definePipeline({ name: 'spread', model: m, tenant: 'storeId', shards: shardMap('tenants'), projections, ...more }),
    loaded.model,
  )
    .filter(({ severity }) => severity === 'error')
    .map(({ code }) => code);

const summary = { id: 'o', storeId: 's1', customerName: null, countryName: null, cents: 1 };
const listed = (order: { id: string; storeId: string; cents: number }) => ({
  id: order.id,
  day: 'd',
  storeId: order.storeId,
  cents: order.cents,
});
const country = { from: m.Countries.country, map: ({ id, name }: { id: string; name: string }) => ({ id, name }) };
const total = {
  from: m.Orders.order,
  acrossTenants: true,
  groupBy: () => ({ day: 'd' }),
  measures: { orders: (q: { count(): never }) => q.count() },
};

describe('a pipeline over shards refuses', () => {
  it.each([
    ['a sink in no shard without global', [copy('c', { from: m.Orders.order, into: m.AllOrders.listed, map: listed })]],
    [
      'global for a container of the shards',
      [copy('c', { from: m.Orders.order, into: global(m.Summaries.summary), map: () => summary })],
    ],
    [
      'a join into the global place',
      [
        copy('c', {
          from: m.Orders.order,
          into: global(m.AllOrders.listed),
          with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
          map: listed,
        }),
      ],
    ],
    [
      'a join of the global place in a shard',
      [
        copy('c', {
          from: m.Orders.order,
          into: m.Summaries.summary,
          with: { country: { of: m.Countries.country, on: { id: 'countryId' } } },
          map: () => summary,
        }),
      ],
    ],
    [
      'a derived container into the global place',
      [
        copy('c', { from: m.Orders.order, into: m.Summaries.summary, map: () => summary }),
        copy('g', { from: m.Summaries.summary, into: global(m.AllOrders.listed), map: listed }),
      ],
    ],
    [
      'a reference container into the global place',
      [
        copy('c', {
          from: m.ShardCountries.shardCountry,
          into: global(m.Countries.country),
          map: ({ id, name }) => ({ id, name }),
        }),
      ],
    ],
    [
      'the global place into a sharded container',
      [
        copy('c', {
          ...country,
          into: m.StoreCountries.storeCountry,
          map: ({ id, name }) => ({ id, name, storeId: 's1' }),
        }),
      ],
    ],
    [
      'a sharded container into a reference container',
      [
        copy('c', {
          from: m.Customers.customer,
          into: m.ShardCountries.shardCountry,
          map: ({ id, name }) => ({ id, name }),
        }),
      ],
    ],
    [
      'an embed over places',
      [
        embed('e', {
          from: m.Countries.country,
          into: m.Orders.order,
          on: { id: 'countryId' },
          set: { customerId: (of) => of.name },
        }),
      ],
    ],
    [
      'a reaction to a reference container',
      [react('r', { from: m.ShardCountries.shardCountry, run: async () => undefined })],
    ],
    [
      'a send of a reference container',
      [send('s', { from: m.ShardCountries.shardCountry, to: { write: async () => undefined }, map: (doc) => doc })],
    ],
    [
      'an archive of a reference container',
      [archive('a', { from: m.ShardCountries.shardCountry, date: 'name', after: '90d' })],
    ],
    ['a table of a reference container', [table('t', { from: m.ShardCountries.shardCountry, into: 'countries' })]],
    [
      'a table of what is derived in each shard',
      [
        copy('c', { from: m.Orders.order, into: m.Summaries.summary, map: () => summary }),
        table('t', { from: m.Summaries.summary, into: 'summaries' }),
      ],
    ],
    [
      'a send of what is derived in each shard',
      [
        copy('c', { from: m.Orders.order, into: m.Summaries.summary, map: () => summary }),
        send('s', { from: m.Summaries.summary, to: { write: async () => undefined }, map: (doc) => doc }),
      ],
    ],
    [
      'a reaction to what is derived in each shard',
      [
        copy('c', { from: m.Orders.order, into: m.Summaries.summary, map: () => summary }),
        react('r', { from: m.Summaries.summary, run: async () => undefined }),
      ],
    ],
    [
      'a custom projection of what is in the shards',
      [custom('x', { sources: [m.Orders.order], apply: async () => undefined })],
    ],
  ] as const)('%s', (_, projections) => {
    expect(codes(projections)).toContain('shards-place');
  });

  it('a table whose documents’ keys don’t have the tenant', () => {
    const orders = table('t', { from: m.Orders.order, into: 'orders' });
    expect(codes([orders])).toEqual([]);
    const containers = loaded.model.containers.map((one) =>
      one.name === 'Orders' ? { ...one, partitionKey: ['/customerId'] } : one,
    );
    const shards = shardMap('tenants');
    const found = checkPipeline(
      definePipeline({ name: 'spread', model: m, tenant: 'storeId', shards, projections: [orders] }),
      { ...loaded.model, containers },
    );
    expect(found.map(({ code }) => code)).toContain('shards-place');
  });

  it('an ingest into a reference container', () => {
    const events = { from: 'hub', map: () => null };
    const refused = ingest('i', { ...events, into: m.ShardCountries.shardCountry });
    expect(codes([], { ingest: [refused] })).toContain('shards-place');
    expect(codes([], { ingest: [ingest('i', { ...events, into: m.Customers.customer })] })).toEqual([]);
  });

  it('the all-versions feed of a container of the shards', () => {
    const projections = [copy('c', { from: m.Orders.order, into: m.Summaries.summary, map: () => summary })];
    expect(codes(projections, { sources: [source({ of: m.Orders.order, feed: 'all-versions' })] })).toContain(
      'shards-all-versions',
    );
  });

  it('a tenant that is not the key of the map, and tenants together in a shard', () => {
    const days = copy('c', {
      from: m.Orders.order,
      into: m.Summaries.summary,
      map: (order) => ({ ...summary, id: order.id, storeId: order.storeId }),
    });
    expect(codes([days])).toEqual([]);
    expect(codes([days], { tenant: 'customerId' })).toContain('shards-tenant');
    const across = copy('c', {
      from: m.Orders.order,
      into: m.Summaries.summary,
      acrossTenants: true,
      map: () => summary,
    });
    expect(codes([across])).toContain('shards-across-tenants');
  });

  it('a model that places no container', () => {
    const { shardMaps: _, ...model } = loaded.model;
    const pipeline = definePipeline({ name: 'spread', model: m, shards: shardMap('tenants'), projections: [] });
    expect(checkPipeline(pipeline, model)).toMatchObject([
      { code: 'shard-map-undocumented' },
      { code: 'no-projections' },
    ]);
  });
});

it('without shards a pipeline is its own part, and global is refused', () => {
  const { part, shards, ...plain } = { part: undefined, ...loaded.pipeline };
  expect([part, shards]).toEqual([undefined, { map: 'tenants' }]);
  expect(partOf(plain, loaded.model, 'shard')).toBe(plain);
  const found = checkPipeline(plain, loaded.model).map(({ code, of }) => [code, of]);
  expect(found).toEqual(
    expect.arrayContaining([
      ['global-without-shards', 'totals'],
      ['global-without-shards', 'all-orders'],
    ]),
  );
});

it('a pipeline over shards runs each declaration in one kind of place', () => {
  expect(checkPipeline(loaded.pipeline, loaded.model)).toEqual([]);
  const names = (place: 'global' | 'shard') =>
    partOf(loaded.pipeline, loaded.model, place).projections.map(({ name }) => name);
  expect(names('global')).toEqual(['years']);
  expect(names('shard')).toEqual(['shard-countries', 'store-countries', 'summaries', 'totals', 'all-orders']);
  const kept = reference('r', {
    ...country,
    into: m.StoreCountries.storeCountry,
    tenants: m.Stores.store,
    key: { storeId: 'storeId' },
  });
  const own = custom('x', { sources: [m.AllOrders.listed, m.Totals.total], apply: async () => undefined });
  expect(codes([own])).toEqual([]);
  expect(codes([kept, aggregate('t', { ...total, into: global(m.Totals.total) } as never)])).toEqual([]);
});
