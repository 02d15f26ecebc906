// Every crash point of tables, and of what fills and switches them, in both feed modes.
import assert from 'node:assert/strict';
import { definePipeline, table } from 'millrace';
import type { Doc } from '../../src/pipeline/specs.ts';
import { layoutsOf, withTables } from '../../src/runtime/tables.ts';
import { type Tables, openTables } from '../../src/testing/tables.ts';
import { m } from '../fixtures/erase/model.ts';
import { boundary } from '../support/crashes.ts';
import { crash } from './report.ts';
import { ERASE, type Shop, type Step, inPages, order, shopScenario, unlessDone } from './stand.ts';

type Feed = 'latest' | 'all-versions';

interface Scenario {
  readonly name: string;
  readonly steps: (shop: Shop, feed: Feed) => Step[];
  readonly after?: (shop: Shop) => Promise<unknown>;
}

const NAME = { name: 'orders' };
const rebuilt = (shop: Shop): Promise<unknown> => shop.plainly('projections rebuild', NAME);
const promoted = (shop: Shop): Promise<unknown> => shop.plainly('projections promote', NAME);

const first = (shop: Shop) => (): Promise<unknown> => shop.put('Orders', order('a', 'c1'), order('b', 'c1'));
const bad = order('bad', 'c1', { cents: 'many' });
/** A host has what was there before, and lives beside what follows. */
const beside = (shop: Shop, before: (shop: Shop) => Promise<unknown>, step: Step): Step[] => {
  const written: Step = () => shop.put('Orders', order('a', 'c1', { cents: 20 }), bad);
  return [...inPages(shop, [first(shop)]), () => before(shop), written, step, (process) => shop.derive(process)];
};

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'table',
    steps: (shop, feed) =>
      inPages(shop, [
        first(shop),
        () => shop.put('Orders', order('a', 'c1', { cents: 20 }), bad),
        () => shop.put('Orders', order('a', 'c1', { cents: 30 })),
        ...(feed === 'latest' ? [] : [() => shop.container('Orders').item('b', 'c1').delete()]),
      ]),
  },
  {
    name: 'rebuild of a table',
    steps: (shop) =>
      beside(
        shop,
        async () => undefined,
        (process) => shop.run(process, 'projections rebuild', NAME),
      ),
    after: promoted,
  },
  {
    name: 'promote of a table',
    steps: (shop) =>
      beside(
        shop,
        rebuilt,
        unlessDone((process) => shop.run(process, 'projections promote', { ...NAME, evenParked: true }), 'not-staged'),
      ),
  },
  {
    name: 'drop of a table’s rebuild',
    steps: (shop) =>
      beside(
        shop,
        rebuilt,
        unlessDone((process) => shop.run(process, 'projections drop', { ...NAME, yes: true }), 'not-staged'),
      ),
  },
];

for (const { name, steps, after } of SCENARIOS)
  for (const feed of ['latest', 'all-versions'] as const)
    crash(
      shopScenario({
        name: `${name}, ${feed}`,
        folder: ERASE,
        pipeline: () =>
          definePipeline({
            name: 'crashes',
            model: m,
            tenant: 'storeId',
            sources: [{ ...m.Orders.order, ...(feed === 'all-versions' && { feed }) }],
            projections: [table('orders', { from: m.Orders.order, into: 'orders' })],
          }),
        bind: async (loaded) => {
          const tables: Tables = await openTables();
          // A transaction takes effect at once, so it is one request.
          const transaction: Tables['database']['transaction'] = (work, options) =>
            boundary('transaction', true, () => tables.database.transaction(work, options));
          return { loaded: withTables(loaded, { ...tables.database, transaction }), tables };
        },
        steps: async (shop) => {
          await shop.tables?.prepare(layoutsOf(shop.loaded));
          await shop.derived();
          return {
            steps: steps(shop, feed),
            ...(after && { after: () => after(shop) }),
            derives: false,
            letters: ['orders@1: Orders/bad'],
            judge: async () => {
              const rows = (await shop.tables?.rows('orders')) ?? [];
              const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
              const shown = (of: readonly Doc[]): string[] =>
                of.map(({ id, cents }) => `${String(id)} ${String(cents)}`).toSorted();
              assert.deepEqual(shown(rows), shown(resources.filter(({ id }) => id !== 'bad')));
            },
          };
        },
      }),
    );
