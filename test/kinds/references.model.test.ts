// Reference data in every tenant, under random histories of both sides, against the oracle: COPY-F1,
// COPY-F3 and ECHO-R10.
import { expect, it } from 'vitest';
import { canonical } from '../../src/base/json.ts';
import type { Doc, ReferenceSpec, SourceRef, SourceRules } from '../../src/pipeline/specs.ts';
import { recompute, visible } from '../../src/pipeline/oracle/recompute.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { referenceRunner } from '../../src/kinds/reference/reference-runner.ts';
import { Random } from '../support/random.ts';
import { type ReadBy, runHistoryBy } from './all-versions.ts';
import { leavingOut, withEnricher } from './enricher.ts';
import { READ_LAG_MS, SEED, type World, historiesOr, useHistories } from './world.ts';

const RATES: SourceRef = { container: 'Rates', type: 'rate' };
const STORES: SourceRef = { container: 'Stores', type: 'store' };
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
const RULES: SourceRules[] = [RATES, STORES].map((of) => ({ ...of, deleted }));
const SOURCES: SourceContainer[] = RULES.map((rule) => ({
  name: rule.container,
  keyPaths: [['world']],
  types: new Map([[rule.type, rule]]),
}));

const SPEC: ReferenceSpec = {
  kind: 'reference',
  name: 'rates',
  version: 1,
  from: RATES,
  into: { container: 'StoreRates', type: 'storeRate' },
  tenants: STORES,
  key: { store: 'store' },
  onDelete: 'remove',
  stable: true,
  where: (rate) => rate['draft'] !== true,
  map: (rate) => ({ id: rate['id'], percent: rate['percent'] }),
};

const each = useHistories({ Rates: '/world', Stores: '/world', StoreRates: '/store' });

const holdExact = (feed?: ReadBy, enriched?: (runner: Runner) => Runner): Promise<void> =>
  each(historiesOr(12), async (world, seed) => {
    const tenant = `w${seed}`;
    const random = new Random(seed);
    const options = {
      random,
      tenant,
      hosts: world.hosts,
      feed: world.feed,
      // Each history is a pipeline of its own: the lists are those of a projection.
      runners: world.hosts
        .map(() =>
          referenceRunner(
            { ...SPEC, name: `rates-${seed}` },
            { name: 'StoreRates', keyPaths: [['store']] },
            { stateContainer: 'millrace', readLagMs: READ_LAG_MS },
          ),
        )
        .map((runner) => enriched?.(runner) ?? runner),
      readLagMs: READ_LAG_MS,
      sources: SOURCES,
      leased: enriched !== undefined,
    };
    const writeTo = (of: Random, to: World): Promise<void> => write(of, tenant, to);
    await runHistoryBy(feed, options, writeTo, enriched ? withEnricher(world, random) : world);
    return () => compare(tenant, world);
  });

it(`after any history every tenant has the reference data that the oracle says (seed ${SEED})`, () => holdExact());

it(`read by all versions, hard deletes and expiry on both sides, every tenant has what the oracle says (seed ${SEED})`, () =>
  holdExact('all-versions'));

it(`built beside all versions from what there is, every tenant has what the oracle says (seed ${SEED})`, () =>
  holdExact('filled'));

it.each(['latest', 'all-versions'] as const)(
  `beside an enricher, by %s, every tenant has the reference data that the oracle says (seed ${SEED})`,
  async (feed) => {
    const watched = leavingOut(() => ['/note', '/v']);
    await holdExact(feed, watched.runner);
    watched.expectSome();
  },
);

async function write(random: Random, name: string, world: World): Promise<void> {
  const gone = random.chance(0.2) ? { deletedAt: 'now' } : {};
  const store = `s${random.int(3)}`;
  const [container, doc]: [string, Doc] = random.chance(0.5)
    ? ['Stores', { id: store, world: name, type: 'store', store: `${name}-${store}`, note: random.int(3), ...gone }]
    : [
        'Rates',
        {
          id: `r${random.int(3)}`,
          world: name,
          type: 'rate',
          percent: random.int(3),
          draft: random.chance(0.1),
          ...gone,
        },
      ];
  await world.write(container, name, [doc]);
}

async function compare(name: string, world: World): Promise<void> {
  const rates = await world.documents('Rates', 'true', name);
  const stores = await world.documents('Stores', 'true', name);
  const copies = await world.documents('StoreRates', `STARTSWITH(c.store, '${name}-') AND c.type = 'storeRate'`);
  const expected = recompute(SPEC, ({ type }) => (type === 'rate' ? rates : stores), RULES, { keyPaths: ['/store'] });
  const shown = (docs: Iterable<Doc>): string[] => [...docs].map((doc) => canonical(visible(doc))).toSorted();
  expect(shown(copies)).toEqual(shown(expected.values()));
}
