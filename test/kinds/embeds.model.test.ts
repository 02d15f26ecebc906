// Embeds under random histories against their oracle: parents change, are deleted and come back; children are born,
// move, are written back as they once were, expire; hosts crash, sleep and read stale replicas.
// EMB-M1, EMB-M2 and EMB-M4.
import { expect, it } from 'vitest';
import { canonical } from '../../src/base/json.ts';
import { mapSettled } from '../../src/base/map-settled.ts';
import type { Doc, EmbedSpec, SourceRef, SourceRules } from '../../src/pipeline/specs.ts';
import { recomputeEmbeds } from '../../src/pipeline/oracle/recompute-embeds.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { embedRunner } from '../../src/kinds/embed/embed-runner.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { Random } from '../support/random.ts';
import { runHistoryBy } from './all-versions.ts';
import { READ_LAG_MS, SEED, type World, historiesOr, untilAnswered, useHistories } from './world.ts';

const PRODUCTS: SourceRef = { container: 'Products', type: 'product' };
const BRANDS: SourceRef = { container: 'Products', type: 'brand' };
const ORDERS: SourceRef = { container: 'Orders', type: 'order' };
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
const RULES: SourceRules[] = [PRODUCTS, BRANDS, ORDERS].map((of) => ({ ...of, deleted }));
const source = (container: string): SourceContainer => ({
  name: container,
  keyPaths: [['tenant']],
  types: new Map(RULES.filter((rule) => rule.container === container).map((rule) => [rule.type, rule])),
});
const SOURCES = new Map(['Products', 'Orders'].map((name) => [name, source(name)]));

const NAME: EmbedSpec = {
  kind: 'embed',
  name: 'name',
  version: 1,
  from: PRODUCTS,
  into: ORDERS,
  on: { tenant: 'tenant', id: 'product' },
  onDelete: 'keep',
  set: {
    productName: ({ name }) => name,
    label: ({ name, price }, child) => ({ text: `${String(name)} × ${String(child['count'])}`, price }),
  },
};
const LINES: EmbedSpec = {
  ...NAME,
  name: 'lines',
  on: { tenant: 'tenant' },
  each: { field: 'lines', on: { id: 'product' } },
  onDelete: 'remove',
  when: (item) => item['locked'] !== true,
  set: { name: ({ name }) => name, price: ({ price }) => price },
};
/** Another parent of the same children, and one that is the child of a third in turn. */
const BRAND: EmbedSpec = {
  ...NAME,
  name: 'brand',
  from: BRANDS,
  on: { tenant: 'tenant', id: 'brand' },
  onDelete: 'remove',
  set: { brandName: ({ name }) => name },
};
const BRAND_OF_LINES: EmbedSpec = {
  ...LINES,
  name: 'line-brands',
  from: BRANDS,
  each: { field: 'lines', on: { id: 'brand' } },
  set: { brandName: ({ name }) => name },
};

const each = useHistories({ Products: '/tenant', Orders: '/tenant' });

const runnerOf = (spec: EmbedSpec): Runner =>
  embedRunner(spec, { stateContainer: 'millrace', sources: SOURCES, readLagMs: READ_LAG_MS });

/** Several embeds at once, as an engine runs them. */
function together(specs: readonly EmbedSpec[]): Runner {
  const runners = specs.map(runnerOf);
  const [first] = runners;
  if (!first) throw new Error('No embed');
  return {
    ...first,
    sources: runners.flatMap(({ sources }) => sources),
    apply: async (changes, access) => {
      const wanted = ({ sources }: Runner) =>
        changes.filter(({ container, type }) => sources.some((of) => of.container === container && of.type === type));
      await mapSettled(runners, (runner) => runner.apply(wanted(runner), access), { concurrency: runners.length });
    },
    resume: async (access) => {
      const outcomes = await mapSettled(runners, (runner) => runner.resume?.(access), { concurrency: runners.length });
      return {
        idle: outcomes.every((outcome) => outcome?.idle),
        refusals: outcomes.flatMap((one) => one?.refusals ?? []),
      };
    },
  };
}

it.each([
  ['after any history', 'of a field', [NAME], 'latest'],
  ['after any history', 'of the elements of a list', [LINES], 'latest'],
  ['after any history', 'of several parents in one child', [NAME, BRAND, LINES, BRAND_OF_LINES], 'latest'],
  ['read by all versions', 'of several parents', [BRAND, BRAND_OF_LINES], 'all-versions'],
  ['filled beside all versions', 'of several parents', [BRAND, BRAND_OF_LINES], 'filled'],
] as const)(`%s an embed %s is what the oracle says (seed ${SEED})`, async (_when, _what, specs, feed) => {
  await each(historiesOr(12), async (world, seed) => {
    const tenant = `t${seed}`;
    const written = new Map<string, Doc>();
    const write = (random: Random, to: World): Promise<void> =>
      random.chance(0.4) ? writeParent(random, tenant, to) : writeChild(random, tenant, to, written);
    const options = {
      random: new Random(seed),
      tenant,
      hosts: world.hosts,
      feed: world.feed,
      runners: world.hosts.map(() => together(specs)),
      readLagMs: READ_LAG_MS,
      sources: [...SOURCES.values()],
    };
    await runHistoryBy(feed, options, write, world);
    return () => compare(specs, tenant, world, written);
  });
});

async function writeParent(random: Random, tenant: string, world: World): Promise<void> {
  const parents = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => ({
    id: `p${random.int(3)}`,
    tenant,
    type: random.chance(0.6) ? 'product' : 'brand',
    name: `n${random.int(4)}`,
    price: random.int(3),
    note: random.int(100),
    ...(random.chance(0.1) ? { deletedAt: 'now' } : {}),
  })).map((parent) => ({ ...parent, id: parent.type === 'brand' ? `b${parent.id}` : parent.id }));
  const [first, second] = parents;
  await world.write('Products', tenant, second && first?.id !== second.id ? parents : parents.slice(0, 1));
}

/** The application's own fields, which no embed may touch. */
const OWN = ['id', 'tenant', 'type', 'product', 'brand', 'count', 'deletedAt'];

async function writeChild(random: Random, tenant: string, world: World, written: Map<string, Doc>): Promise<void> {
  const id = `o${random.int(4)}`;
  const container = world.database.container('Orders');
  const line = () => ({
    product: `p${random.int(3)}`,
    brand: `bp${random.int(3)}`,
    ...(random.chance(0.3) ? { name: 'old' } : {}),
    ...(random.chance(0.1) ? { locked: true } : {}),
  });
  let order: Doc = {
    id,
    tenant,
    type: 'order',
    product: `p${random.int(3)}`,
    brand: `bp${random.int(3)}`,
    count: random.int(3),
    lines: Array.from({ length: random.int(4) }, line),
    ...(random.chance(0.3) ? { productName: `n${random.int(4)}` } : {}),
    ...(random.chance(0.1) ? { deletedAt: 'now' } : {}),
    ...(random.chance(0.2) ? { ttl: 1_000 } : {}),
  };
  // Written back as it was read some time ago, embedded fields, marks and all; or with one field changed.
  const before = await untilAnswered(async () => (await container.item(id, tenant).read<Doc>()).resource);
  if (before && random.chance(0.4)) order = { ...before, ...(random.chance(0.5) ? { count: random.int(3) } : {}) };
  if (random.chance(0.3)) {
    const memory = written.get(`old ${id}`);
    if (before) written.set(`old ${id}`, before);
    if (memory) order = memory;
  }
  await world.write('Orders', tenant, [order]);
  written.set(id, order);
}

async function compare(
  specs: readonly EmbedSpec[],
  tenant: string,
  world: World,
  written: ReadonlyMap<string, Doc>,
): Promise<void> {
  const present = new Map<string, Doc[]>();
  for (const of of RULES) present.set(of.type, await world.documents(of.container, `c.type = '${of.type}'`, tenant));
  const children = [
    ...recomputeEmbeds(
      specs,
      (of) => present.get(of.type) ?? [],
      RULES,
      (_spec, _child, cause) => {
        throw cause;
      },
    ),
  ];
  const stored = children.map(({ found }) => canonical(found));
  const wanted = children.map(({ expected }) => canonical(expected));
  expect(stored).toEqual(wanted);
  for (const { found } of children) {
    const own = written.get(String(found['id'])) ?? {};
    const ownOf = (doc: Doc): Doc => Object.fromEntries(OWN.map((field) => [field, doc[field]]));
    expect(canonical(ownOf(found)), `the application's own fields`).toBe(canonical(ownOf(own)));
  }
}
