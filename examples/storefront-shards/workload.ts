// The history of the storefront, of the containers that this pipeline reads.
import type { LoadOptions, Step, WhileMoving } from 'millrace';
import { load as loadStorefront } from '../storefront/workload.ts';

const READ = new Set(['Stores', 'Customers', 'Orders', 'Countries']);

export async function* load(options: LoadOptions): AsyncGenerator<Step, void, undefined> {
  for await (const step of loadStorefront(options)) if (READ.has(step.container)) yield step;
}

/** While a store moves to another shard and back, its orders get dearer; cancelled and deleted ones stay. */
export const whileMoving: WhileMoving = {
  container: 'Orders',
  change: (order) =>
    order['status'] === 'cancelled' || order['deletedAt'] !== undefined
      ? undefined
      : { ...order, totalCents: Number(order['totalCents']) + 1 },
};
