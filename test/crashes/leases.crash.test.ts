// Every crash point of the procedures on leases: rewind, adopt and handback.
import { expect } from 'vitest';
import { leasePrefix } from '../../src/feed/leases/cosmos-lease-store.ts';
import { ForeignHost } from '../support/foreign-host.ts';
import { SHOP } from '../support/stage.ts';
import { crash } from './report.ts';
import { type Shop, type ShopScenario, orderOf, shopScenario, unlessDone } from './stand.ts';

/** A processor of .NET, on the leases of the pipeline. */
async function foreign(shop: Shop) {
  const { database } = shop.services.place;
  const [home, source] = [await database.read(), await shop.container('Orders').read()];
  const rids = [home.resource?._rid ?? '', source.resource?._rid ?? ''] as const;
  const prefix = leasePrefix('billing', shop.services.place.endpoint, ...rids);
  const seen: string[] = [];
  const { leases } = shop.services.global;
  const handle = (documents: readonly Record<string, unknown>[]): void => {
    seen.push(...documents.map(({ id }) => String(id)));
  };
  const open = () => new ForeignHost({ source: shop.container('Orders'), leases, prefix, start: 'beginning', handle });
  const first = open();
  await first.bootstrap();
  await first.acquire();
  return { prefix, seen, first, open };
}
const derivedIds = async (shop: Shop): Promise<string[]> =>
  (
    await shop
      .container('Summaries')
      .items.query<string>("SELECT VALUE c.id FROM c WHERE c.type = 'summary'")
      .fetchAll()
  ).resources.toSorted();

const SCENARIOS: readonly ShopScenario[] = [
  {
    name: 'rewind',
    folder: SHOP,
    steps: async (shop) => {
      await shop.put('Orders', orderOf('a'), orderOf('b'));
      await shop.derived();
      await shop.put('Orders', orderOf('c'));
      return {
        steps: [
          unlessDone((process) => shop.run(process, 'leases rewind', { to: 'beginning' }), 'leases-none'),
          // A host that finds no lease begins at the beginning.
          async () => {
            const { leases } = shop.services.global;
            expect((await leases.items.readAll().fetchAll()).resources).toEqual([]);
          },
        ],
        after: () => shop.derived(),
      };
    },
  },
  {
    name: 'adopt',
    folder: SHOP,
    steps: async (shop) => {
      await shop.put('Orders', orderOf('a'), orderOf('b'));
      const { prefix, seen, first } = await foreign(shop);
      await first.work();
      await first.stop();
      await shop.put('Orders', orderOf('c'));
      return {
        derives: false,
        steps: [(process) => shop.run(process, 'leases adopt', { prefix })],
        after: () => shop.derived(),
        judge: async () => {
          expect(seen).toEqual(['a', 'b']);
          expect(await derivedIds(shop)).toEqual(['c']);
        },
      };
    },
  },
  {
    name: 'handback',
    folder: SHOP,
    steps: async (shop) => {
      await shop.put('Orders', orderOf('a'), orderOf('b'));
      const { prefix, seen, first, open } = await foreign(shop);
      await first.work();
      await first.stop();
      await shop.plainly('leases adopt', { prefix });
      await shop.put('Orders', orderOf('c'));
      await shop.derived();
      await shop.put('Orders', orderOf('d'));
      return {
        derives: false,
        steps: [(process) => shop.run(process, 'leases handback', { prefix })],
        judge: async () => {
          const back = open();
          await back.acquire();
          await back.work();
          expect(await derivedIds(shop)).toEqual(['c']);
          expect(seen).toEqual(['a', 'b', 'd']);
        },
      };
    },
  },
];

for (const scenario of SCENARIOS) crash(shopScenario(scenario));
