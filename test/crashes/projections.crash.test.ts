// Every crash point of the procedures on projections, beside a host that lives and an application that writes.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { VERSIONS, specOf } from '../verbs/projections/versions.ts';
import { crash } from './report.ts';
import { type Shop, type Step, VERSIONS_ALL, customer, orderOf, shopScenario } from './stand.ts';

/** A version that was replaced may be dropped after this. */
const READABLE_MS = 11 * 60_000;

/** Two orders and their customer are derived, and others are written from now on. */
async function begin(shop: Shop): Promise<void> {
  await shop.live();
  await shop.put('Customers', customer('c1', 'Ann'));
  await shop.put('Orders', orderOf('a'), orderOf('b'));
  await shop.live();
}
const write = (shop: Shop): void =>
  shop.writes(
    () => shop.put('Orders', orderOf('a', { placedAt: '2026-01-02T10:00:00.000Z' })),
    () => shop.put('Customers', customer('c1', 'Bea')),
    () => shop.put('Orders', orderOf('b', { cancelled: true }), orderOf('c', { cents: 30 })),
  );

interface Procedure {
  readonly name: string;
  readonly before?: (shop: Shop, id: string) => Promise<unknown>;
  readonly run: (shop: Shop, id: string) => Step;
  readonly after?: (shop: Shop, id: string) => Promise<unknown>;
  readonly judge?: (shop: Shop, id: string) => Promise<void>;
}

const rebuilt = (shop: Shop, id: string): Promise<unknown> => shop.plainly('projections rebuild', { name: id });
const promoted = (shop: Shop, id: string): Promise<unknown> =>
  shop.plainly('projections promote', { name: id, keep: '0' });
const one = (id: string): string => id.replace('@2', '@1');

const PROCEDURES: readonly Procedure[] = [
  {
    name: 'rebuild',
    run: (shop, id) => (process) => shop.run(process, 'projections rebuild', { name: id }),
    after: promoted,
  },
  {
    name: 'promote',
    before: rebuilt,
    run: (shop, id) => (process) => shop.run(process, 'projections promote', { name: id, keep: '0' }),
  },
  {
    name: 'back',
    before: async (shop, id) => {
      await rebuilt(shop, id);
      await shop.plainly('projections promote', { name: id, keep: '5h' });
    },
    run: (shop, id) => (process) => shop.run(process, 'projections promote', { name: one(id), back: true, keep: '0' }),
  },
  {
    name: 'drop',
    before: async (shop, id) => {
      await rebuilt(shop, id);
      await promoted(shop, id);
      await shop.rest();
      await delay(READABLE_MS);
      await shop.live();
    },
    run: (shop, id) => (process) => shop.run(process, 'projections drop', { name: one(id), yes: true }),
  },
  {
    name: 'drop of a rebuild',
    before: rebuilt,
    run: (shop, id) => (process) => shop.run(process, 'projections drop', { name: id, yes: true }),
    judge: async (shop, id) => {
      const { container } = specOf(shop, id).into;
      const { resources } = await shop.container(container).items.query('SELECT * FROM c').fetchAll();
      assert.deepEqual(resources, []);
    },
  },
  {
    name: 'replay',
    run: (shop, id) => (process) => shop.run(process, 'projections replay', { name: one(id), from: 'beginning' }),
  },
];

for (const { name, before, run, after, judge } of PROCEDURES)
  for (const id of ['summaries@2', 'days@2'])
    for (const [feed, folder] of [
      ['latest', VERSIONS],
      ['all-versions', VERSIONS_ALL],
    ] as const)
      crash(
        shopScenario({
          name: `${name} of ${id}, ${feed}`,
          folder,
          steps: async (shop) => {
            await begin(shop);
            await before?.(shop, id);
            write(shop);
            return {
              steps: [run(shop, id)],
              ...(after && { after: () => after(shop, id) }),
              ...(judge && { judge: () => judge(shop, id) }),
            };
          },
        }),
      );
