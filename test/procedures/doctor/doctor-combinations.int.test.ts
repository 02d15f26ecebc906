// What excludes each other in the service, as `doctor` names it.
import type { ContainerDefinition } from '@azure/cosmos';
import { react } from 'millrace';
import { expect, it } from 'vitest';
import { combinations, sayCombinations } from '../../../src/procedures/doctor/doctor-combinations.ts';
import { m } from '../../fixtures/shop/model.ts';
import { ALL_VERSIONS, openStage } from '../../support/stage.ts';

const ALONE = { containers: new Map(), merged: [], account: undefined };
const mails = react('mails', { from: m.Orders.order, run: async () => undefined });
const of = (name: string, more: object) => new Map([[name, { id: name, ...more } as ContainerDefinition]]);

it('a container of an all-versions feed whose partitions were merged is named, and none before', async () => {
  // The embedded server merges no container that has the feed already.
  await using stage = await openStage();
  const { pipeline } = stage.loaded;
  const sources = [{ container: 'Orders', type: 'order', feed: 'all-versions' as const }];
  const loaded = { ...stage.loaded, pipeline: { ...pipeline, sources } };
  const said = async () => (await combinations(loaded, stage.services)).map(({ verdict, what }) => [verdict, what]);
  expect(await said()).toEqual([['good', 'nothing in use excludes something else']]);
  const path = `${stage.services.place.database.id}/Orders`;
  stage.emulator.split(path);
  expect(await said()).toMatchObject([['good', expect.any(String)]]);
  stage.emulator.merge(path);
  expect(await said()).toEqual([['bad', expect.stringContaining('Orders is read by its all-versions feed')]]);
});

it('failovers of single partitions, indexes of the service and vectors that it writes are named where they do harm', async () => {
  await using stage = await openStage({}, ALL_VERSIONS);
  const { pipeline } = stage.loaded;
  const whole = { ...pipeline, effects: [mails] };
  const said = (more: object) => sayCombinations({ pipeline: whole, ...ALONE, ...more }).map(({ what }) => what);
  const failing = (consistencyPolicy: string) => ({ account: { enablePerPartitionFailover: true, consistencyPolicy } });
  expect(said({})).toEqual([]);
  expect(said(failing('Strong'))).toEqual([]);
  expect(said(failing('Session'))).toMatchObject([expect.stringContaining('fails over single partitions')]);
  const index = { materializedViewDefinition: { sourceCollectionId: 'Stores' } };
  expect(said({ containers: of('Days', index) })).toEqual([
    'days@1 writes into Days, a global secondary index, which only the service writes',
  ]);
  expect(said({ containers: of('Orders', index) })).toContainEqual(expect.stringContaining('mails@1 reads Orders'));
  const vectors = (source: object) => ({ vectorEmbeddingPolicy: { vectorEmbeddings: [{ path: '/v', ...source }] } });
  expect(said({ containers: of('Orders', vectors({})) })).toEqual([]);
  expect(said({ containers: of('Orders', vectors({ embeddingSource: {} })) })).toEqual([
    expect.stringContaining('mails@1 acts on each change of Orders'),
  ]);
});
