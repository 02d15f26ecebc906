import { expect, test } from 'vitest';
import {
  type ContainerDefinition,
  containerDefinitions,
  diffContainer,
} from '../../src/model/container-definitions.ts';
import type { Container, Model } from '../../src/model/model.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  partitionKey: ['/id'],
  types: [],
  at: { file: 'm.md', line: 7 },
  places: {},
  ...more,
});
const model = (...containers: Container[]): Model => ({ title: '', file: 'm.md', containers, findings: [] });
const define = (more: Partial<Container>): ContainerDefinition => {
  const [definition] = containerDefinitions(model(container('C', more)), new Map());
  if (!definition) throw new Error('no definition');
  return definition;
};

test('containers as Cosmos DB takes them; TTL is switched on for sinks that state none', () => {
  const definitions = containerDefinitions(
    model(
      container('Orders', {
        partitionKey: ['/storeId', '/id'],
        throughput: { kind: 'autoscale', max: 4000 },
        uniqueKeys: [{ paths: ['/n'] }],
      }),
      container('Sales'),
      container('Hot', { defaultTtl: 60, indexingPolicy: { indexingMode: 'none' } }),
    ),
    new Map([
      ['Sales', new Set()],
      ['Hot', new Set()],
    ]),
  );
  expect(definitions).toEqual([
    {
      id: 'Orders',
      partitionKey: { paths: ['/storeId', '/id'], kind: 'MultiHash', version: 2 },
      throughput: { kind: 'autoscale', max: 4000 },
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] },
    },
    { id: 'Sales', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 }, defaultTtl: -1 },
    {
      id: 'Hot',
      partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 },
      defaultTtl: 60,
      indexingPolicy: { indexingMode: 'none' },
    },
  ]);
});

test('a selective policy gets the paths that projections query; one that has every path is left alone', () => {
  const policy = (...paths: string[]) => ({
    includedPaths: paths.map((path) => ({ path })),
    excludedPaths: [{ path: '/x' }],
  });
  const containers = [
    container('Some', { indexingPolicy: policy('/day/?', '/by/?') }),
    container('All', { indexingPolicy: policy('/*') }),
  ];
  const needs = new Set(['/by/?', '/of/?']);
  const definitions = containerDefinitions(
    model(...containers),
    new Map([
      ['Some', needs],
      ['All', needs],
    ]),
  );
  expect(definitions.map(({ indexingPolicy }) => indexingPolicy)).toEqual([
    policy('/day/?', '/by/?', '/of/?'),
    policy('/*'),
  ]);
});

test.each([[[]], [['/a', '/b', '/c', '/d']]])('the key %j makes no container', (partitionKey) => {
  expect(() => define({ partitionKey })).toThrow(
    expect.objectContaining({ name: 'UsageError', code: 'model-wrong', message: expect.stringContaining('m.md:7') }),
  );
});

test('keys and unique keys cannot be changed in place, the rest can', () => {
  const before = define({ throughput: { kind: 'manual', max: 400 }, defaultTtl: 60 });
  const after = define({
    partitionKey: ['/a', '/b'],
    uniqueKeys: [{ paths: ['/n'] }],
    throughput: { kind: 'manual', max: 800 },
    defaultTtl: -1,
    indexingPolicy: { excludedPaths: [{ path: '/*' }] },
  });
  expect(diffContainer(before, after).map(({ what, possible }) => `${what} ${String(possible)}`)).toEqual([
    'partitionKey false',
    'uniqueKeyPolicy false',
    'indexingPolicy true',
    'defaultTtl true',
    'throughput true',
  ]);
  expect(diffContainer(before, after).at(-1)).toMatchObject({ from: { max: 400 }, to: { max: 800 } });
});

test('what the service fills in, and what the document leaves open, is no change', () => {
  const wanted = define({
    indexingPolicy: { includedPaths: [{ path: '/b/?' }, { path: '/a/?' }], excludedPaths: [{ path: '/*' }] },
  });
  const existing: ContainerDefinition = {
    ...wanted,
    defaultTtl: 60,
    throughput: { kind: 'manual', max: 400 },
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/a/?' }, { path: '/b/?' }],
      excludedPaths: [{ path: '/*' }, { path: '/"_etag"/?' }],
    },
  };
  expect(diffContainer(existing, wanted)).toEqual([]);
});
