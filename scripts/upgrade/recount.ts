// Computes the expected documents from the load's writes and compares them with the stored ones. It imports nothing of src/,
// so that a fault of Millrace can't hide itself here.
import { gunzipSync } from 'node:zlib';
import type { Database } from '@azure/cosmos';
import type { ContainerClient } from '@azure/storage-blob';
import type { Load, Order } from './load.ts';

type Row = Readonly<Record<string, unknown>>;

export interface Recount {
  readonly orders: number;
  readonly cold: number;
  readonly summaries: number;
  readonly days: number;
  readonly customers: number;
  readonly storeCountries: number;
  /** One sentence each. */
  readonly differences: readonly string[];
}

export async function recount(database: Database, blobs: ContainerClient, load: Load): Promise<Recount> {
  const rows = async (container: string, type: string): Promise<Row[]> => {
    const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
    return (await database.container(container).items.query<Row>(query).fetchAll()).resources;
  };
  const differences: string[] = [];
  const compare = (
    what: string,
    expected: ReadonlyMap<string, Row>,
    found: readonly Row[],
    keyOf: (row: Row) => string,
  ) => {
    const seen = new Set<string>();
    for (const row of found) {
      const key = keyOf(row);
      const wanted = expected.get(key);
      if (seen.has(key)) differences.push(`${what}: ${key} exists twice`);
      else if (!wanted) differences.push(`${what}: ${key} exists, but should not`);
      else
        for (const field of new Set([...Object.keys(wanted), ...Object.keys(plain(row))]))
          if (JSON.stringify(row[field]) !== JSON.stringify(wanted[field]))
            differences.push(
              `${what}: ${key} has ${field} ${JSON.stringify(row[field])}, not ${JSON.stringify(wanted[field])}`,
            );
      seen.add(key);
    }
    for (const key of expected.keys()) if (!seen.has(key)) differences.push(`${what}: ${key} is missing`);
  };
  const idOf = (row: Row): string => String(row['id']);

  const hot = await rows('Orders', 'order');
  const cold = (await archived(database, blobs)).filter(({ id }) => !hot.some((row) => row['id'] === id));
  compare('Orders', asRows(load.orders), [...hot, ...cold], idOf);
  compare('Summaries', summariesOf(load), await rows('Summaries', 'summary'), idOf);
  const dayOf = (row: Row): string => `${String(row['storeId'])} ${String(row['day'])}`;
  // Among equal amounts Millrace may choose any order, so only the amounts are compared.
  const days = (await rows('Days', 'day')).map((row) => ({
    ...row,
    id: dayOf(row),
    best: (row['best'] as { cents: number }[]).map(({ cents }) => cents),
  }));
  compare('Days', daysOf(load), days, dayOf);
  const customers = new Map(
    [...load.customers.values()].map((one) => [
      one.id,
      { ...one, currency: load.stores.get(one.storeId ?? '')?.currency },
    ]),
  );
  compare('Customers', customers, await rows('Customers', 'customer'), idOf);
  const pairOf = (row: Row): string => `${String(row['storeId'])} ${String(row['id'])}`;
  const pairs = [...load.stores.keys()].flatMap((storeId) =>
    [...load.countries.values()].map(({ id, name }) => ({ id, type: 'storeCountry', storeId, name })),
  );
  const expectedPairs = new Map(pairs.map((pair): [string, Row] => [pairOf(pair), pair]));
  compare('StoreCountries', expectedPairs, await rows('StoreCountries', 'storeCountry'), pairOf);
  return {
    orders: load.orders.size,
    cold: cold.length,
    summaries: load.orders.size,
    days: daysOf(load).size,
    customers: customers.size,
    storeCountries: expectedPairs.size,
    differences,
  };
}

/** The row without the fields of the service and of Millrace. */
const plain = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([field]) => !field.startsWith('_')));

const asRows = (orders: ReadonlyMap<string, Order>): Map<string, Row> =>
  new Map([...orders].map(([id, order]) => [id, { ...order }]));

function summariesOf({ orders, customers }: Load): Map<string, Row> {
  const rows = [...orders.values()].map(({ id, storeId, customerId, day, cents }): [string, Row] => {
    const customer = customers.get(customerId);
    const customerName = customer?.storeId === storeId ? customer.name : null;
    return [id, { id, type: 'summary', storeId, customerId, customerName, day, cents }];
  });
  return new Map(rows);
}

function daysOf({ orders }: Load): Map<string, Row> {
  const groups = Map.groupBy(orders.values(), ({ storeId, day }) => `${storeId} ${day}`);
  return new Map(
    [...groups].map(([key, of]): [string, Row] => {
      const amounts = of.map(({ cents }) => cents).toSorted((a, b) => b - a);
      const cents = amounts.reduce((sum, one) => sum + one, 0);
      const [storeId, day] = key.split(' ');
      return [
        key,
        {
          id: key,
          type: 'day',
          storeId,
          day,
          orders: of.length,
          cents,
          averageCents: cents / of.length,
          largestCents: amounts[0],
          customers: new Set(of.map(({ customerId }) => customerId)).size,
          best: amounts.slice(0, 2),
        },
      ];
    }),
  );
}

/** Reads the archived documents: each archive entry in the state container names a blob and a line. */
async function archived(database: Database, blobs: ContainerClient): Promise<Row[]> {
  const query = "SELECT * FROM c WHERE c.type = 'millrace.archived' AND c.state = 'archived'";
  const { resources } = await database.container('millrace').items.query<Row>(query).fetchAll();
  const places = resources.map(({ blob }) => blob as { readonly name: string; readonly line: number });
  const lines = new Map<string, string[]>();
  for (const name of new Set(places.map((place) => place.name)))
    lines.set(
      name,
      gunzipSync(await blobs.getBlobClient(name).downloadToBuffer())
        .toString()
        .trimEnd()
        .split('\n'),
    );
  return places.map(({ name, line }) => (JSON.parse(lines.get(name)?.[line] ?? '{"doc":{}}') as { doc: Row }).doc);
}
