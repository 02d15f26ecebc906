import type { ErrorResponse } from '@azure/cosmos';
import type { Order } from '../order.ts';
import { atOnce } from './at-once.ts';
import { type Group, type Total, idOf, totals } from './derive.ts';

const TRIES = 3;

/** Reads a total and writes it where nobody has written it meanwhile. */
export async function guarded(group: Group, next: (total?: Total) => Promise<Pick<Total, 'orders' | 'cents'>>) {
  const { storeId, country, status } = group;
  const id = idOf(group);
  for (let attempt = 1; ; attempt++) {
    const { resource: total, etag } = await totals.item(id, storeId).read<Total>();
    const row = { id, storeId, country, status, ...(await next(total)) };
    try {
      if (total) await totals.item(id, storeId).replace(row, { accessCondition: { type: 'IfMatch', condition: etag } });
      else await totals.items.create(row);
      return;
    } catch (error) {
      const { code } = error as ErrorResponse;
      if ((code !== 412 && code !== 409) || attempt === TRIES) throw error;
    }
  }
}

const countGuarded = (group: Group, orders: number, cents: number): Promise<void> =>
  guarded(group, async (total) => ({ orders: (total?.orders ?? 0) + orders, cents: (total?.cents ?? 0) + cents }));

export const handler = (batch: readonly Order[]): Promise<unknown> => atOnce(batch, countGuarded);
