import type { Effect } from 'millrace';
import type { Order } from './model.types.ts';

/**
 * Tells the mail service that an order is on its way; nobody, where SHIPPED_WEBHOOK is not set. The service knows a
 * repetition by its idempotency key. What it answers with an error is tried again, then parked.
 */
export async function tellShipped(order: Order, { key, signal }: Effect): Promise<void> {
  const address = process.env['SHIPPED_WEBHOOK'];
  if (!address) return;
  const { storeId, id, customerId } = order;
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ event: 'order-shipped', storeId, order: id, customer: customerId }),
    signal,
  });
  if (!response.ok) throw new Error(`The mail service answered ${response.status}`);
}
