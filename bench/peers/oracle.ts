// What the views have to be, computed from what was written alone: by no code of a participant, nor of Millrace.
import type { Database } from '@azure/cosmos';
import type { Order } from './order.ts';

interface Row {
  readonly id: string;
  readonly storeId: string;
  readonly country: string;
  readonly status: string;
  readonly cents: number;
  readonly orders?: number;
  readonly turn?: number;
}

export interface Wrong {
  readonly summaries: number;
  readonly totals: number;
  /** Of both: how many there have to be. */
  readonly owed: number;
  /** Request units of looking. */
  readonly charge: number;
}

/** `written`: the last version of each order. An order without a customer can't be derived, and nobody owes a row of it. */
export async function wrongRows(database: Database, written: Iterable<Order>): Promise<Wrong> {
  const stores = new Set<string>();
  const summaries = new Map<string, string>();
  const groups = new Map<string, { orders: number; cents: number }>();
  for (const { id, storeId, customer, status, cents, turn, cancelled } of written) {
    stores.add(storeId);
    if (cancelled || customer === undefined) continue;
    const { country } = customer;
    summaries.set(id, [storeId, country, status, cents, turn].join());
    const name = [storeId, country, status].join();
    const group = groups.get(name) ?? { orders: 0, cents: 0 };
    groups.set(name, { orders: group.orders + 1, cents: group.cents + cents });
  }
  const totals = new Map([...groups].map(([name, { orders, cents }]) => [name, [orders, cents].join()]));
  let charge = 0;
  const rowsOf = async (container: string): Promise<Row[]> => {
    const { resources, requestCharge } = await database
      .container(container)
      .items.query<Row>('SELECT * FROM c')
      .fetchAll();
    charge += requestCharge;
    return resources.filter(({ storeId }) => stores.has(storeId));
  };
  const found = (await rowsOf('Summaries')).filter(({ turn }) => turn !== undefined);
  // A total of no orders may be there or not. What each order adds to one is no row of a total.
  const counted = (await rowsOf('Totals')).filter(({ orders, cents }) => orders !== undefined && (orders || cents));
  return {
    summaries: differences(
      summaries,
      found.map(({ id, storeId, country, status, cents, turn }) => [
        id,
        [storeId, country, status, cents, turn].join(),
      ]),
    ),
    totals: differences(
      totals,
      counted.map(({ storeId, country, status, orders, cents }) => [
        [storeId, country, status].join(),
        [orders, cents].join(),
      ]),
    ),
    owed: summaries.size + totals.size,
    charge,
  };
}

/** Rows that are missing, that differ, and that nobody asked for. */
function differences(owed: ReadonlyMap<string, string>, found: readonly (readonly [string, string])[]): number {
  const missing = new Set(owed.keys());
  let wrong = 0;
  for (const [name, row] of found) {
    if (!missing.delete(name) || owed.get(name) !== row) wrong += 1;
  }
  return wrong + missing.size;
}
