// What the projections make of a change. `given` exists before, `when` is written then, and `expect` says what is derived.
// Pages come twice and out of order, hosts die, reads are stale: none of it may show.
// More: node_modules/millrace/docs/testing.md
import { test } from 'node:test';
import { testPipeline } from 'millrace/testing';
import type { m } from '../pipeline/model.ts';

const shop = await testPipeline<typeof m>('pipeline');

const order = (id: string, cents: number) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
});

await test('a changed order is counted once, with its new price', async () => {
  await shop
    .given({ Orders: [order('o1', 100)] })
    .when({ Orders: [order('o2', 50), order('o1', 70)] }, { redeliver: true, reorder: true, crash: true, stale: true })
    .expect({
      Days: [{ id: 'day|2026-01-01|s1', type: 'day', storeId: 's1', day: '2026-01-01', orders: 2, cents: 120 }],
    });
});

await test('orders of two stores are counted apart', async () => {
  await shop
    .given({})
    .when({ Orders: [order('o1', 100), { ...order('o2', 50), storeId: 's2' }] })
    .expect({
      Days: [
        { id: 'day|2026-01-01|s1', type: 'day', storeId: 's1', day: '2026-01-01', orders: 1, cents: 100 },
        { id: 'day|2026-01-01|s2', type: 'day', storeId: 's2', day: '2026-01-01', orders: 1, cents: 50 },
      ],
    });
});

// Last: a hook `after` would close it after the first test.
await shop.close();
