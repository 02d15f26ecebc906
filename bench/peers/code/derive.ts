import { CosmosClient } from '@azure/cosmos';
import type { Order } from '../order.ts';

const database = new CosmosClient(process.env['COSMOS'] ?? '').database('bench');
const summaries = database.container('Summaries');
export const source = database.container('Orders');
export const totals = database.container('Totals');

export interface Total {
  readonly id: string;
  readonly storeId: string;
  readonly country: string;
  readonly status: string;
  readonly orders: number;
  readonly cents: number;
}

export type Group = Pick<Total, 'storeId' | 'country' | 'status'>;
export type Count = (group: Group, orders: number, cents: number) => Promise<void>;

export const idOf = ({ country, status }: Group): string => `${country}|${status}`;

/** The row of an order, and the totals that it leaves and comes to. The row says what was counted before. */
export async function derive({ id, storeId, customer, status, cents, turn, cancelled }: Order, count: Count) {
  const { country } = customer;
  const { resource: before } = await summaries.item(id, customer.id).read<Total>();
  if (!cancelled) await summaries.items.upsert({ id, customerId: customer.id, storeId, country, status, cents, turn });
  else if (before) await summaries.item(id, customer.id).delete();
  if (before) await count(before, -1, -before.cents);
  if (!cancelled) await count({ storeId, country, status }, 1, cents);
}

export async function countPlainly(group: Group, orders: number, cents: number): Promise<void> {
  const { storeId, country, status } = group;
  const { resource: total } = await totals.item(idOf(group), storeId).read<Total>();
  await totals.items.upsert({
    id: idOf(group),
    storeId,
    country,
    status,
    orders: (total?.orders ?? 0) + orders,
    cents: (total?.cents ?? 0) + cents,
  });
}
