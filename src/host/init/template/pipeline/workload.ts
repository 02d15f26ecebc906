// The data that `millrace dev` and the tests load: customers, orders, corrections, cancellations and renamed customers.
import type { Load } from 'millrace';

const STORES = 3;
const CUSTOMERS = 15;
const ORDERS = 120;

export const load: Load = async function* ({ seed }) {
  for (let n = 0; n < CUSTOMERS; n++) yield { container: 'Customers', upsert: customer(n, `Customer ${n}`) };
  for (let n = 0; n < ORDERS; n++) yield { container: 'Orders', upsert: order(n, 100 + ((n * 37 + seed) % 900)) };
  for (let n = 0; n < ORDERS; n += 3) yield { container: 'Orders', upsert: order(n, 1_000 + n) };
  for (let n = 0; n < ORDERS; n += 8) yield { container: 'Orders', upsert: { ...order(n, 5), cancelled: true } };
  for (let n = 0; n < CUSTOMERS; n += 4) yield { container: 'Customers', upsert: customer(n, `Renamed ${n}`) };
};

const customer = (n: number, name: string) => ({ id: `c${n}`, type: 'customer', storeId: `s${n % STORES}`, name });

const order = (n: number, cents: number) => ({
  id: `order-${n}`,
  type: 'order',
  storeId: `s${n % STORES}`,
  customerId: `c${n % CUSTOMERS}`,
  placedAt: `2026-01-${String(1 + (n % 9)).padStart(2, '0')}T10:00:00.000Z`,
  cents,
});
