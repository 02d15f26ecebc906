import type { Effect } from 'millrace';
import type { Order } from './model.ts';

/**
 * Reports a shipped order to the mail service; without SHIPPED_WEBHOOK it does nothing. The service recognises a repetition
 * by its idempotency key. If the service answers with an error, Millrace retries, and then parks the change.
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
