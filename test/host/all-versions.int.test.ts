import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import type { Pipeline } from '../../src/pipeline/specs.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../support/stage.ts';

const ORDER = { storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00Z', cents: 5 };

test('a container that is read by its all-versions feed shows hard deletes', () =>
  running(
    ({ sources }) => ({ sources: sources.map((rule) => ({ ...rule, feed: 'all-versions' })) }),
    async ({ orders, rows, drained }) => {
      for (const id of ['kept', 'lost']) await orders.items.create({ ...ORDER, id, type: 'order' });
      await drained();
      expect(await rows('Summaries')).toMatchObject([{ id: 'kept' }, { id: 'lost' }]);
      expect(await rows('Days')).toMatchObject([{ orders: 2, cents: 10 }]);
      await orders.item('lost', 's1').delete();
      await drained();
      expect(await rows('Summaries')).toMatchObject([{ id: 'kept' }]);
      expect(await rows('Days')).toMatchObject([{ orders: 1, cents: 5 }]);
    },
  ));

test('a hard delete in a container of several types reaches every projection that reads one of them', () => {
  const refund = { container: 'Orders', type: 'refund' };
  return running(
    // The first reads orders, the others another type there.
    ({ projections: [first, ...others] }) => {
      if (!first) throw new Error('No projection');
      return {
        projections: [first, ...others.map((spec) => ({ ...spec, from: refund }))],
        sources: [first.from, refund].map((of) => ({ ...of, feed: 'all-versions' })),
      };
    },
    async ({ orders, rows, drained }) => {
      for (const id of ['a', 'b']) await orders.items.create({ ...ORDER, id, type: 'order' });
      for (const id of ['c', 'd']) await orders.items.create({ ...ORDER, id, type: 'refund' });
      await drained();
      await orders.item('a', 's1').delete();
      await orders.item('c', 's1').delete();
      await drained();
      const left = [...(await rows('Summaries')), ...(await rows('Days'))];
      expect(left).toMatchObject([{ id: expect.stringContaining('b') }, { orders: 1, cents: 5 }]);
    },
  );
});

interface Running {
  readonly orders: Container;
  readonly rows: (container: string) => Promise<unknown[]>;
  /** Everything so far is derived. */
  readonly drained: () => Promise<void>;
}

/** Runs the shop, changed so, with an Orders container that keeps all versions; nothing may be parked in the end. */
async function running(
  change: (pipeline: Pipeline) => Partial<Pipeline>,
  use: (running: Running) => Promise<void>,
): Promise<void> {
  await using stage = await openStage();
  const orders = stage.container('Orders');
  const { resource } = await orders.read();
  await orders.delete();
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await stage.services.place.database.containers.create({ ...resource, changeFeedPolicy });
  const { pipeline, model } = stage.loaded;
  const loaded = { pipeline: { ...pipeline, ...change(pipeline) }, model };
  const app = await compose({
    ...stage,
    loaded,
    host: 'all',
    readLagMs: 0,
    timings: { pollMs: 40, acquireMs: 20 },
  });
  const signal = AbortSignal.timeout(30_000);
  await app.start();
  try {
    // The feed begins where it is first read.
    await app.drained(signal);
    await use({ orders, rows: (container) => rowsOf(stage, container), drained: () => app.drained(signal) });
    expect(app.stats().map(({ parked }) => parked)).toEqual([0, 0]);
  } finally {
    await app.stop();
  }
}

async function rowsOf(stage: Stage, container: string): Promise<unknown[]> {
  const sql = `SELECT * FROM c WHERE NOT STARTSWITH(c.type, 'millrace.') ORDER BY c.id`;
  return (await stage.container(container).items.query<unknown>(sql).fetchAll()).resources;
}
