// The server, projections and judge of the two model tests beside this file, which run side by side.
import { MARKS } from '../../src/engine/runners.ts';
import { expect } from 'vitest';
import example from '../../scripts/reference/examples/measures.ts';
import { canonical } from '../../src/base/json.ts';
import type { MeasureSpec } from '../../src/pipeline/builders/measures.ts';
import type { AggregateSpec, CopySpec, Doc, ProjectionSpec, SourceRef } from '../../src/pipeline/specs.ts';
import { isEmptied } from '../../src/pipeline/emptied.ts';
import { timeWindow } from '../../src/pipeline/time-window.ts';
import { recompute, visible } from '../../src/pipeline/oracle/recompute.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { Random } from '../support/random.ts';
import { type ReadBy, runHistoryBy } from './all-versions.ts';
import { withEnricher } from './enricher.ts';
import { type Judge, READ_LAG_MS, type World, historiesOr, useHistories } from './world.ts';

export const ORDERS: SourceRef = { container: 'Orders', type: 'order' };
const GROUPS: SourceRef = { container: 'Groups', type: 'state' };
export const CUSTOMERS: SourceRef = { container: 'Customers', type: 'customer' };
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
export const source = (of: SourceRef): SourceContainer => ({
  name: of.container,
  keyPaths: [['tenant']],
  types: new Map([[of.type, { deleted }]]),
  marks: MARKS,
});

const lines = (doc: Doc): readonly Doc[] => doc['lines'] as Doc[];
const RULES = [ORDERS, CUSTOMERS].map((of) => ({ ...of, deleted }));
const number = (row: unknown, field: string): number => Number((row as Doc)[field]);

/**
 * The measures of the reference page, so that a new one is tested here too. Its rows are orders; a line has no customer.
 * Two are replaced: `best` has ties here, and the bounds of `bySize` divide these amounts.
 */
const MEASURES: AggregateSpec['measures'] = {
  ...examples(),
  best: {
    kind: 'top',
    n: 1,
    by: (row) => Math.floor(number(row, 'cents') / 10),
    keep: (row) => ({ cents: number(row, 'cents') }),
  },
  bySize: { kind: 'histogram', bounds: [20, 60], of: (row) => number(row, 'cents') },
};

function examples(): AggregateSpec['measures'] {
  const [spec] = example.projections;
  if (spec?.kind !== 'aggregate') throw new Error('examples/measures.ts declares no aggregate');
  const order = (row: Doc): Doc => ({ ...row, customerId: String(row['payer'] ?? row['product']) });
  const ofOrders = (of: unknown): unknown =>
    typeof of === 'function' ? (row: Doc): unknown => Reflect.apply(of, undefined, [order(row)]) : of;
  const map = (all: object, to: (value: unknown) => unknown) =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, to(value)]));
  return map(spec.measures, (measure) => map(measure as MeasureSpec, ofOrders)) as AggregateSpec['measures'];
}

export const AGGREGATE = {
  kind: 'aggregate',
  name: 'by-state',
  version: 1,
  from: ORDERS,
  into: { container: 'Groups', type: 'state' },
  onDelete: 'remove',
  stable: false,
  groupBy: (_row, doc) => ({ tenant: doc['tenant'], state: doc['state'] }),
  measures: MEASURES,
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
/** Moments around what makes local time hard, and the windows they fall into in Berlin. */
const MOMENTS: Readonly<Record<string, { readonly hour: string; readonly day: string; readonly month: string }>> = {
  '2026-10-25T00:59:59.999Z': { hour: '2026-10-25T02+02:00', day: '2026-10-25', month: '2026-10' },
  '2026-10-25T01:00:00Z': { hour: '2026-10-25T02+01:00', day: '2026-10-25', month: '2026-10' },
  '2026-03-29T00:59:59Z': { hour: '2026-03-29T01+01:00', day: '2026-03-29', month: '2026-03' },
  '2026-03-29T01:00:00Z': { hour: '2026-03-29T03+02:00', day: '2026-03-29', month: '2026-03' },
  '2025-12-31T23:00:00Z': { hour: '2026-01-01T00+01:00', day: '2026-01-01', month: '2026-01' },
  '2026-06-30T22:30:00Z': { hour: '2026-07-01T00+02:00', day: '2026-07-01', month: '2026-07' },
};
const windows = (at: unknown, unit: 'hour' | 'day' | 'month'): string => timeWindow(String(at), unit, 'Europe/Berlin');
export const BY_HOUR = {
  ...AGGREGATE,
  name: 'by-hour',
  into: { container: 'Groups', type: 'hour' },
  groupBy: (_row: unknown, { tenant, at }: Doc) => ({
    tenant,
    hour: windows(at, 'hour'),
    day: windows(at, 'day'),
    month: windows(at, 'month'),
  }),
} satisfies AggregateSpec;
/** The same by a table. */
export const BY_HOUR_TABLE = {
  ...BY_HOUR,
  groupBy: (_row: unknown, { tenant, at }: Doc) => ({ tenant, hour: '', day: '', month: '', ...MOMENTS[String(at)] }),
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
    total: { kind: 'sum', of: (row) => number(row, 'total') },
    best: { kind: 'top', n: 1, by: (row) => number(row, 'total'), keep: (row) => ({ state: (row as Doc)['state'] }) },
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
/** A joined document that is waited for. */
function there(joined: Doc | null | undefined): Doc {
  if (!joined) throw new TypeError('It is there whenever map is called');
  return joined;
}

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
    payer: there(payer)['name'],
    cents: doc['cents'],
  }),
} satisfies CopySpec;

/** The sink's key, the id and the joined documents all change. */
export const BOTH = {
  ...JOINED,
  name: 'both',
  into: { container: 'Copies', type: 'both' },
  stable: false,
  map: (doc: Doc, joined: Readonly<Record<string, Doc | null>>) => ({
    ...JOINED.map(doc, joined),
    id: `b|${String(doc['id'])}|${String(doc['customer'])}`,
    place: `${String(doc['tenant'])}-${String(doc['state'])}`,
  }),
} satisfies CopySpec;

/** The joined document determines key and id, so the copy moves at one version of its source, and comes back. */
export const FOLLOWING = {
  ...JOINED,
  name: 'following',
  into: { container: 'Copies', type: 'following' },
  map: (doc: Doc, joined: Readonly<Record<string, Doc | null>>) => {
    const of = Number(String(there(joined['payer'])['name']).slice(1)) % 3;
    return {
      ...JOINED.map(doc, joined),
      id: `f|${String(doc['id'])}|${of % 2}`,
      place: `${String(doc['tenant'])}-${of}`,
    };
  },
} satisfies CopySpec;

interface Way {
  /** What the oracle goes by. Default: the projection itself. */
  readonly oracle?: ProjectionSpec;
  /** Which feed the sources are read by. */
  readonly feed?: ReadBy;
  /** How many histories a test has without MILLRACE_HISTORIES. */
  readonly usual?: number;
  /** Somebody else writes into the documents as well, and each feed has a lease. */
  readonly enriched?: boolean;
}

/**
 * Returns what runs random histories of a projection and compares what they leave with the oracle. A test file calls it
 * once, itself (useHistories).
 */
export function useExact() {
  const each = useHistories({ Orders: '/tenant', Customers: '/tenant', Groups: '/tenant', Copies: '/place' });
  return (spec: ProjectionSpec, runner: () => Runner, { usual = 12, ...way }: Way = {}) =>
    each(historiesOr(usual), exact(spec, runner, way));
}

const exact =
  (spec: ProjectionSpec, runner: () => Runner, { oracle = spec, feed, enriched = false }: Way) =>
  async (world: World, seed: number): Promise<Judge> => {
    const tenant = `t${seed}`;
    const joined = spec.kind === 'copy' && spec.joins.length > 0;
    const write = (random: Random, to: World): Promise<void> =>
      joined && random.chance(0.4) ? writeCustomer(random, tenant, to) : writeOrder(random, tenant, to);
    const random = new Random(seed);
    const options = {
      random,
      tenant,
      hosts: world.hosts,
      feed: world.feed,
      runners: world.hosts.map(runner),
      readLagMs: READ_LAG_MS,
      sources: sourcesOf(spec),
      leased: enriched,
    };
    await runHistoryBy(feed, options, write, enriched ? withEnricher(world, random) : world);
    return () => compare(oracle, tenant, world);
  };

const sourcesOf = (spec: ProjectionSpec): SourceContainer[] => {
  if (spec.from.container === GROUPS.container) return [source(ORDERS), source(GROUPS)];
  return spec.kind === 'copy' && spec.joins.length > 0 ? [source(ORDERS), source(CUSTOMERS)] : [source(ORDERS)];
};

async function writeOrder(random: Random, tenant: string, world: World): Promise<void> {
  const id = `d${random.int(3)}`;
  const line = () => ({ product: `p${random.int(3)}`, cents: 1 + random.int(50) });
  const order = {
    id,
    tenant,
    type: 'order',
    state: random.pick(['draft', 'open', 'paid', 'sent']),
    fixed: `f${Number(id.slice(1)) % 2}`,
    at: random.pick(Object.keys(MOMENTS)),
    cents: random.int(100),
    customer: `c${random.int(2)}`,
    payer: `c${random.int(2)}`,
    lines: Array.from({ length: random.int(4) }, line),
    ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
  };
  // Two documents of one transaction share an lsn, and their order inside it is open.
  const twin = { ...order, id: `d${random.int(3)}`, fixed: 'f9' };
  await world.write(
    'Orders',
    tenant,
    random.chance(0.2) && twin.id !== id ? [order, { ...twin, fixed: `f${Number(twin.id.slice(1)) % 2}` }] : [order],
  );
}

const writeCustomer = (random: Random, tenant: string, world: World): Promise<void> =>
  world.write('Customers', tenant, [
    {
      id: `c${random.int(2)}`,
      tenant,
      type: 'customer',
      name: `n${random.int(100)}`,
      ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
    },
  ]);

async function compare(spec: ProjectionSpec, tenant: string, world: World): Promise<void> {
  const found = await (spec.into.container === 'Copies'
    ? world.documents('Copies', `c.place = '${tenant}' OR STARTSWITH(c.place, '${tenant}-')`)
    : world.documents(spec.into.container, 'true', tenant));
  const present = new Map<string, Doc[]>();
  for (const of of sourcesOf(spec).flatMap(({ name, types }) => [...types.keys()].map((type) => ({ name, type }))))
    present.set(of.type, await world.documents(of.name, `c.type = '${of.type}'`, tenant));
  const expected = recompute(spec, (of) => present.get(of.type) ?? [], RULES);
  const shown = (documents: Iterable<Doc>) => [...documents].map((document) => canonical(visible(document))).toSorted();
  const own = found.filter((document) => document['type'] === spec.into.type && !isEmptied(document));
  expect(shown(own)).toEqual(shown(expected.values()));
}
