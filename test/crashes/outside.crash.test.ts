// Every crash point of the procedures on what has no versions side by side: a sink with several contents, a custom
// projection with a reset, an embed.
import assert from 'node:assert/strict';
import { definePipeline, embed } from 'millrace';
import { MillraceError } from '../../src/base/errors.ts';
import type { CustomSpec, Doc, Sink, SinkRebuild } from '../../src/pipeline/specs.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { m } from '../fixtures/erase/model.ts';
import { boundary } from '../support/crashes.ts';
import { Shelves, search } from '../verbs/projections/shelves.ts';
import { VERSIONS } from '../verbs/projections/versions.ts';
import { crash } from './report.ts';
import {
  ERASE,
  type Shop,
  type Step,
  VERSIONS_ALL,
  customer,
  order,
  orderOf,
  shopScenario,
  unlessDone,
} from './stand.ts';

let shelves = new Shelves();
const own = (): Sink & { readonly rebuild: SinkRebuild } => shelves.sink();
const sent = <T>(send: () => Promise<T>): Promise<T> =>
  boundary('outside', true, send).catch((cause: unknown) => {
    throw new MillraceError('unavailable', 'The sink does not answer', { cause, retryable: true });
  });
const to: Sink & { readonly rebuild: SinkRebuild } = {
  write: (entries, signal) => sent(() => own().write(entries, signal)),
  rows: (signal) => own().rows?.(signal) ?? (async function* () {})(),
  rebuild: {
    open: async (target, signal) => {
      const content = await sent(() => own().rebuild.open(target, signal));
      return { write: (entries, of) => sent(() => content.write(entries, of)) };
    },
    swap: (target, signal) => sent(() => own().rebuild.swap(target, signal)),
    drop: (target, signal) => sent(() => own().rebuild.drop(target, signal)),
  },
};

/** What the custom projection keeps: the newest version of each order, also of one that is gone. */
const board = new Map<string, Change>();
const boards: CustomSpec = {
  kind: 'custom',
  name: 'boards',
  version: 1,
  sources: [{ container: 'Orders', type: 'order' }],
  apply: (changes) =>
    sent(async () => {
      for (const change of changes as Change[])
        if (!((board.get(change.id)?.version.lsn ?? 0) > change.version.lsn)) board.set(change.id, change);
    }),
  reset: () => sent(async () => board.clear()),
};

interface Procedure {
  readonly name: string;
  readonly before?: (shop: Shop) => Promise<unknown>;
  readonly run: (shop: Shop) => Step;
  readonly after?: (shop: Shop) => Promise<unknown>;
}
const filled = (shop: Shop): Promise<unknown> => shop.plainly('projections rebuild', { name: 'search' });
const swapped = (shop: Shop): Promise<unknown> => shop.plainly('projections promote', { name: 'search' });

const PROCEDURES: readonly Procedure[] = [
  {
    name: 'rebuild of a sink',
    run: (shop) => (process) => shop.run(process, 'projections rebuild', { name: 'search' }),
    after: swapped,
  },
  {
    name: 'promote of a sink',
    before: filled,
    run: (shop) => unlessDone((process) => shop.run(process, 'projections promote', { name: 'search' }), 'not-staged'),
  },
  {
    name: 'drop of a sink’s rebuild',
    before: filled,
    run: (shop) =>
      unlessDone((process) => shop.run(process, 'projections drop', { name: 'search', yes: true }), 'not-staged'),
  },
  {
    name: 'rebuild of a custom projection',
    run: (shop) => (process) => shop.run(process, 'projections rebuild', { name: 'boards' }),
  },
];

for (const { name, before, run, after } of PROCEDURES)
  for (const [feed, folder] of [
    ['latest', VERSIONS],
    ['all-versions', VERSIONS_ALL],
  ] as const)
    crash(
      shopScenario({
        name: `${name}, ${feed}`,
        folder,
        pipeline: (whole) => ({ ...whole, projections: [], effects: [{ ...search(to), to }, boards] }),
        steps: async (shop) => {
          shelves = new Shelves();
          board.clear();
          await shop.live();
          await shop.put('Orders', orderOf('a', { cents: 11 }), orderOf('b', { cents: 12 }));
          await shop.live();
          await before?.(shop);
          shop.writes(
            () => shop.put('Orders', orderOf('a', { cents: 21 })),
            () => shop.put('Orders', orderOf('b', { cancelled: true }), orderOf('c', { cents: 31 })),
          );
          return {
            steps: [run(shop)],
            ...(after && { after: () => after(shop) }),
            judge: async () => {
              const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
              const left = resources.filter((doc) => doc['cancelled'] !== true);
              const shown = (of: readonly Doc[]): string[] =>
                of.map(({ id, cents }) => `${String(id)} ${String(cents)}`);
              const kept = [...board.values()].flatMap(({ op, doc }) => (op === 'upsert' && doc ? [doc as Doc] : []));
              assert.deepEqual(shown(kept).toSorted(), shown(left).toSorted());
              assert.deepEqual(shelves.faults, []);
              assert.deepEqual(
                [...shelves.contents.keys()].filter((of) => of !== 'first' && of !== shelves.current),
                [],
              );
            },
          };
        },
      }),
    );

for (const feed of ['latest', 'all-versions'] as const)
  crash(
    shopScenario({
      name: `rebuild of an embed, ${feed}`,
      folder: ERASE,
      pipeline: () =>
        definePipeline({
          name: 'crashes',
          model: m,
          tenant: 'storeId',
          sources: [m.Customers.customer, m.Orders.order].map((of) => ({ ...of, feed })),
          projections: [
            embed('customer-names', {
              from: m.Customers.customer,
              into: m.Orders.order,
              on: { storeId: 'storeId', id: 'customerId' },
              set: { customerName: ({ name }) => name },
            }),
          ],
        }),
      steps: async (shop) => {
        // No host sees it in a feed of all versions.
        await shop.put('Customers', customer('c1', 'Ann'), customer('c2', 'Cy'));
        await shop.put('Orders', order('a', 'c1'), order('b', 'c2'));
        await shop.live();
        shop.writes(
          () => shop.put('Customers', customer('c1', 'Bea')),
          () => shop.put('Orders', order('c', 'c1'), order('b', 'c1')),
        );
        return { steps: [(process) => shop.run(process, 'projections rebuild', { name: 'customer-names' })] };
      },
    }),
  );
