// A field that names another document may be null or absent: then nothing is joined, and nothing is embedded.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestPipeline, testPipeline } from '../../src/testing/index.ts';

let shop: TestPipeline;
beforeAll(async () => {
  shop = await testPipeline(join(import.meta.dirname, '../fixtures/nullable'));
});
afterAll(() => shop.close());

const order = { type: 'order', storeId: 's1' };
const ada = { id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' };

test('null and absent join null, or have the copy wait, until the field names a document', async () => {
  const { parked } = await shop
    .given({ Customers: [ada], Couriers: [{ id: 'k1', type: 'courier', name: 'Kim' }] })
    .when(
      {
        Orders: [
          { ...order, id: 'null', customerId: null },
          { ...order, id: 'absent' },
          { ...order, id: 'named', customerId: null },
          { ...order, id: 'named', customerId: 'c1', courierId: 'k1' },
          { ...order, id: 'lost', customerId: 'c1' },
          { ...order, id: 'lost', customerId: null },
        ],
      },
      { redeliver: true, reorder: true, crash: true, stale: true, seed: 3 },
    )
    .expect({
      Lists: [
        { id: 'null', type: 'listed', storeId: 's1', customerName: null },
        { id: 'absent', type: 'listed', storeId: 's1', customerName: null },
        { id: 'named', type: 'listed', storeId: 's1', customerName: 'Ada' },
        { id: 'lost', type: 'listed', storeId: 's1', customerName: null },
        { id: 'known-named', type: 'known', storeId: 's1' },
      ],
    });
  expect(parked).toEqual([]);
});
