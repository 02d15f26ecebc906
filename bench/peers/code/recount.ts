import type { Order } from '../order.ts';
import { atOnce } from './at-once.ts';
import { type Group, type Total, source } from './derive.ts';
import { guarded } from './with-etag.ts';

const QUERY = `SELECT COUNT(1) AS orders, SUM(c.cents) AS cents FROM c
  WHERE c.customer.country = @country AND c.status = @status AND NOT IS_DEFINED(c.cancelled)`;

const recount = (group: Group): Promise<void> =>
  guarded(group, async () => {
    const parameters = [
      { name: '@country', value: group.country },
      { name: '@status', value: group.status },
    ];
    const { resources } = await source.items
      .query<Pick<Total, 'orders' | 'cents'>>({ query: QUERY, parameters }, { partitionKey: group.storeId })
      .fetchAll();
    return { orders: resources[0]?.orders ?? 0, cents: resources[0]?.cents ?? 0 };
  });

export const handler = (batch: readonly Order[]): Promise<unknown> => atOnce(batch, recount);
