import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { compose } from '../../src/host/compose.ts';
import { openStage } from '../support/stage.ts';

test('a container that is read by its all-versions feed shows hard deletes', async () => {
  await using stage = await openStage();
  const orders = stage.container('Orders');
  const { resource } = await orders.read();
  await orders.delete();
  const retention = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await stage.services.database.containers.create({ ...resource, changeFeedPolicy: retention });
  const { pipeline, model } = stage.loaded;
  const sources = pipeline.sources.map((rule) => ({ ...rule, feed: 'all-versions' as const }));
  const loaded = { pipeline: { ...pipeline, sources }, model };
  const timings = { pollMs: 5, acquireMs: 20 };
  const app = await compose({ ...stage, loaded, host: 'all', readLagMs: 0, timings });
  const signal = AbortSignal.timeout(30_000);
  await app.start();
  try {
    await app.drained(signal);
    const order = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00Z', cents: 5 };
    await orders.items.create({ ...order, id: 'kept' });
    await orders.items.create({ ...order, id: 'lost' });
    await app.drained(signal);
    expect(await rows(stage, 'Summaries')).toMatchObject([{ id: 'kept' }, { id: 'lost' }]);
    expect(await rows(stage, 'Days')).toMatchObject([{ orders: 2, cents: 10 }]);
    await orders.item('lost', 's1').delete();
    await app.drained(signal);
    expect(await rows(stage, 'Summaries')).toMatchObject([{ id: 'kept' }]);
    expect(await rows(stage, 'Days')).toMatchObject([{ orders: 1, cents: 5 }]);
    expect(app.stats().map(({ parked }) => parked)).toEqual([0, 0]);
  } finally {
    await app.stop();
  }
});

test('a hard delete in a container of several types reaches every projection that reads one of them', async () => {
  await using stage = await openStage();
  const orders = stage.container('Orders');
  const { resource } = await orders.read();
  await orders.delete();
  const retention = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await stage.services.database.containers.create({ ...resource, changeFeedPolicy: retention });
  const { pipeline, model } = stage.loaded;
  const [first, ...others] = pipeline.projections;
  if (!first) throw new Error('No projection');
  // The other one reads another type there.
  const refund = { container: 'Orders', type: 'refund' };
  const projections = [first, ...others.map((spec) => ({ ...spec, from: refund }))];
  const sources = [first.from, refund].map((of) => ({ ...of, feed: 'all-versions' as const }));
  const loaded = { pipeline: { ...pipeline, projections, sources }, model };
  const app = await compose({
    ...stage,
    loaded,
    host: 'all',
    readLagMs: 0,
    timings: { pollMs: 5, acquireMs: 20 },
  });
  const signal = AbortSignal.timeout(30_000);
  await app.start();
  try {
    await app.drained(signal);
    const order = { storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00Z', cents: 5 };
    for (const id of ['a', 'b']) await orders.items.create({ ...order, id, type: first.from.type });
    for (const id of ['c', 'd']) await orders.items.create({ ...order, id, type: 'refund' });
    await app.drained(signal);
    await orders.item('a', 's1').delete();
    await orders.item('c', 's1').delete();
    await app.drained(signal);
    const left = [...(await rows(stage, 'Summaries')), ...(await rows(stage, 'Days'))];
    expect(left).toMatchObject([{ id: expect.stringContaining('b') }, { orders: 1, cents: 5 }]);
    expect(app.stats().map(({ parked }) => parked)).toEqual([0, 0]);
  } finally {
    await app.stop();
  }
});

async function rows(stage: Awaited<ReturnType<typeof openStage>>, container: string): Promise<unknown[]> {
  const sql = `SELECT * FROM c WHERE NOT STARTSWITH(c.type, 'millrace.') ORDER BY c.id`;
  return (await stage.container(container).items.query<unknown>(sql).fetchAll()).resources;
}
