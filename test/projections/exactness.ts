// The server, projections and judge of the two model tests beside this file, which run side by side.
import type { CosmosClient, Database } from '@azure/cosmos';
import { afterAll, beforeAll, expect } from 'vitest';
import pMap from 'p-map';
import { canonical } from '../../src/base/json.ts';
import { connect } from '../../src/cosmos/connect.ts';
import type { AggregateSpec, CopySpec, Doc, ProjectionSpec, SourceRef } from '../../src/definition/kinds.ts';
import { isEmptied } from '../../src/definition/emptied.ts';
import { recompute, visible } from '../../src/definition/recompute.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { SourceContainer } from '../../src/feed/change-mapper.ts';
import type { Runner } from '../../src/projections/runner.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { runHistory } from './history.ts';

// 2,025 histories a run (the slow ones with joins half as often); MILLRACE_SEED repeats one, MILLRACE_HISTORIES changes
// how many a projection gets.
export const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 450);
export const READ_LAG_MS = 8;

export const ORDERS: SourceRef = { container: 'Orders', type: 'order' };
const GROUPS: SourceRef = { container: 'Groups', type: 'state' };
export const CUSTOMERS: SourceRef = { container: 'Customers', type: 'customer' };
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
export const source = (of: SourceRef): SourceContainer => ({
  name: of.container,
  keyPaths: [['tenant']],
  types: new Map([[of.type, { deleted }]]),
});

const lines = (doc: Doc): readonly Doc[] => doc['lines'] as Doc[];
const number = (row: unknown, field: string): number => Number((row as Doc)[field]);

export const AGGREGATE = {
  kind: 'aggregate',
  name: 'by-state',
  version: 1,
  from: ORDERS,
  into: { container: 'Groups', type: 'state' },
  onDelete: 'remove',
  stable: false,
  groupBy: (_row, doc) => ({ tenant: doc['tenant'], state: doc['state'] }),
  measures: {
    orders: { kind: 'count' },
    cents: { kind: 'sum', of: (row) => number(row, 'cents') },
    mean: { kind: 'avg', of: (row) => number(row, 'cents') },
    least: { kind: 'min', of: (row) => number(row, 'cents') },
    most: { kind: 'max', of: (row) => number(row, 'cents') },
    spread: { kind: 'histogram', bounds: [20, 60], of: (row) => number(row, 'cents') },
    payers: { kind: 'distinct', of: (row) => String((row as Doc)['payer'] ?? (row as Doc)['product']) },
    best: {
      kind: 'top',
      n: 1,
      by: (row) => Math.floor(number(row, 'cents') / 10),
      keep: (row) => ({ cents: number(row, 'cents') }),
    },
  },
} satisfies AggregateSpec;
export const EACH = {
  ...AGGREGATE,
  name: 'by-product',
  into: { container: 'Groups', type: 'product' },
  where: (doc: Doc) => doc['state'] !== 'draft',
  each: lines,
  groupBy: (row: unknown, doc: Doc) => ({ tenant: doc['tenant'], product: (row as Doc)['product'] }),
} satisfies AggregateSpec;
export const STABLE = {
  ...AGGREGATE,
  name: 'by-customer',
  into: { container: 'Groups', type: 'fixed' },
  stable: true,
  where: (doc: Doc) => doc['state'] !== 'draft',
  groupBy: (_row: unknown, doc: Doc) => ({ tenant: doc['tenant'], fixed: doc['fixed'] }),
} satisfies AggregateSpec;
/** Two levels: what the parent derives from are the groups of AGGREGATE, so a group is the best by a sum. */
export const ROLLED_UP = {
  kind: 'aggregate',
  name: 'rolled-up',
  version: 1,
  from: AGGREGATE.into,
  into: { container: 'Groups', type: 'rolledUp' },
  onDelete: 'remove',
  stable: true,
  groupBy: (_row, doc) => ({ tenant: doc['tenant'], open: doc['state'] !== 'draft' }),
  measures: {
    states: { kind: 'count' },
    cents: { kind: 'sum', of: (row) => number(row, 'cents') },
    best: { kind: 'top', n: 1, by: (row) => number(row, 'cents'), keep: (row) => ({ state: (row as Doc)['state'] }) },
  },
} satisfies AggregateSpec;
export const COPY = {
  kind: 'copy',
  name: 'by-place',
  version: 1,
  from: ORDERS,
  into: { container: 'Copies', type: 'moved' },
  onDelete: 'remove',
  stable: false,
  joins: [],
  where: (doc) => doc['state'] !== 'draft',
  map: (doc) => ({
    id: `${String(doc['tenant'])}|${String(doc['id'])}`,
    place: `${String(doc['tenant'])}-${String(doc['state'])}`,
    cents: doc['cents'],
  }),
} satisfies CopySpec;
export const JOINED = {
  ...COPY,
  name: 'joined',
  into: { container: 'Copies', type: 'joined' },
  stable: true,
  joins: [
    { name: 'customer', of: CUSTOMERS, on: { tenant: 'tenant', id: 'customer' }, missing: 'null' },
    { name: 'payer', of: CUSTOMERS, on: { tenant: 'tenant', id: 'payer' }, missing: 'wait' },
  ],
  map: (doc: Doc, { customer, payer }: Readonly<Record<string, Doc | null>>) => ({
    id: `j|${String(doc['id'])}`,
    place: doc['tenant'],
    name: customer?.['name'] ?? null,
    payer: payer?.['name'] ?? null,
    cents: doc['cents'],
  }),
} satisfies CopySpec;

let emulator: Emulator;
let clients: CosmosClient[];
let databases: Database[];

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
  const { httpClient } = emulator.clientOptions;
  clients = await Promise.all([1, 2, 3].map(() => connect(account, [], { httpClient })));
  const [admin] = clients;
  await admin?.databases.create({ id: 'model' });
  databases = clients.map((client) => client.database('model'));
  const containers = [
    ['Orders', '/tenant'],
    ['Customers', '/tenant'],
    ['Groups', '/tenant'],
    ['Copies', '/place'],
    ['millrace', '/pk'],
  ];
  for (const [id, path] of containers) {
    await databases[0]?.containers.create({ id: id ?? '', partitionKey: { paths: [path ?? ''] }, defaultTtl: -1 });
  }
});

afterAll(async () => {
  for (const client of clients) client.dispose();
  await emulator.close();
});

/** Runs random histories of a projection and compares what they leave with the oracle. */
export async function holdExact(spec: ProjectionSpec, runner: () => Runner): Promise<void> {
  emulator.faults({ replicaLagMs: READ_LAG_MS / 2, failAfterEffect: 0.01, throttle: 0.005 });
  const joined = spec.kind === 'copy' && spec.joins.length > 0;
  const seeds = Array.from({ length: Math.ceil(joined ? HISTORIES / 2 : HISTORIES) }, (_, index) => SEED + index);
  await pMap(
    seeds,
    async (seed) => {
      const tenant = `${spec.name}-${seed}`;
      const random = new Random(seed);
      const hosts = databases.slice(1).map((database) => ({ database }));
      const runners = hosts.map(runner);
      const write = (of: Random) => (joined && of.chance(0.4) ? writeCustomer(of, tenant) : writeOrder(of, tenant));
      await runHistory({
        random,
        tenant,
        hosts,
        runners,
        write,
        steps: 40,
        readLagMs: READ_LAG_MS,
        sources: sourcesOf(spec),
      });
    },
    { concurrency: 12 },
  );
  // The judge looks at the primary: no stale replica, no fault.
  emulator.faults({});
  await pMap(seeds, (seed) => compare(spec, `${spec.name}-${seed}`, seed), { concurrency: 12 });
}

const sourcesOf = (spec: ProjectionSpec): SourceContainer[] => {
  if (spec.from.container === GROUPS.container) return [source(ORDERS), source(GROUPS)];
  return spec.kind === 'copy' && spec.joins.length > 0 ? [source(ORDERS), source(CUSTOMERS)] : [source(ORDERS)];
};

async function writeOrder(random: Random, tenant: string): Promise<void> {
  const id = `d${random.int(5)}`;
  const line = () => ({ product: `p${random.int(3)}`, cents: 1 + random.int(50) });
  const order = {
    id,
    tenant,
    type: 'order',
    state: random.pick(['draft', 'open', 'paid', 'sent']),
    fixed: `f${Number(id.slice(1)) % 2}`,
    cents: random.int(100),
    customer: `c${random.int(2)}`,
    payer: `c${random.int(3)}`,
    lines: Array.from({ length: random.int(4) }, line),
    ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
  };
  // Two documents of one transaction share an lsn, and their order inside it is open.
  const twin = { ...order, id: `d${random.int(5)}`, fixed: 'f9' };
  await atSource(
    'Orders',
    tenant,
    random.chance(0.2) && twin.id !== id ? [order, { ...twin, fixed: `f${Number(twin.id.slice(1)) % 2}` }] : [order],
  );
}

const writeCustomer = (random: Random, tenant: string): Promise<void> =>
  atSource('Customers', tenant, [
    {
      id: `c${random.int(3)}`,
      tenant,
      type: 'customer',
      name: `n${random.int(100)}`,
      ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
    },
  ]);

/** The application's own write: repeated until it is known to have happened. */
async function atSource(container: string, tenant: string, documents: readonly Doc[]): Promise<void> {
  for (;;) {
    try {
      const operations = documents.map((resourceBody) => ({
        operationType: 'Upsert' as const,
        resourceBody: resourceBody as never,
      }));
      const answer = await databases[0]?.container(container).items.batch(operations, tenant);
      if (answer?.code === 200) return;
    } catch {
      // Throttled, or the answer was lost: an upsert may be sent again.
    }
  }
}

async function compare(spec: ProjectionSpec, tenant: string, seed: number): Promise<void> {
  const found = await ownDocuments(
    spec.into.container,
    spec.into.container === 'Copies' ? `STARTSWITH(c.place, '${tenant}')` : `c.tenant = '${tenant}'`,
  );
  const present = new Map<string, Doc[]>();
  for (const of of [ORDERS, CUSTOMERS, GROUPS])
    present.set(of.type, await ownDocuments(of.container, `c.tenant = '${tenant}' AND c.type = '${of.type}'`));
  const expected = recompute(spec, (of) => present.get(of.type) ?? [], [
    { ...ORDERS, deleted },
    { ...CUSTOMERS, deleted },
  ]);
  const shown = (documents: Iterable<Doc>) => [...documents].map((document) => canonical(visible(document))).toSorted();
  const own = found.filter((document) => document['type'] === spec.into.type && !isEmptied(document));
  expect(shown(own), `${spec.name}: MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`).toEqual(shown(expected.values()));
}

async function ownDocuments(container: string, where: string): Promise<Doc[]> {
  const { resources } = await (databases[0]
    ?.container(container)
    .items.query<Doc>(`SELECT * FROM c WHERE ${where}`)
    .fetchAll() ?? never());
  return resources;
}

function never(): never {
  throw new Error('The server was not started');
}
