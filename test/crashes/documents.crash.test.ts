// Every crash point of the procedures on documents: redrive, repair, verifications that are due, migrate and its rollback, backfill, erase, recover.
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { copy, definePipeline } from 'millrace';
import { expect } from 'vitest';
import type { Doc } from '../../src/pipeline/specs.ts';
import { readVerified } from '../../src/procedures/verify/verified.ts';
import { openWriteGate } from '../../src/shards/gate/write-gate.ts';
import { m } from '../fixtures/erase/model.ts';
import { SHOP } from '../support/stage.ts';
import { VERSIONS } from '../verbs/projections/versions.ts';
import { crash } from './report.ts';
import { ERASE, type Shop, type ShopScenario, customer, order, orderOf, shopScenario, unlessDone } from './stand.ts';

const TENANTS = join(import.meta.dirname, '../fixtures/tenants');
const HOUR = 3_600_000;

let fixed = false;

/** Writes an order of the migrated container wherever its gate says. */
const throughGate = (shop: Shop, doc: Doc) => async (): Promise<void> => {
  await using gate = await openWriteGate(shop.services.place.state, 'Orders', { pollMs: 500 });
  using pass = await gate.enter();
  await shop.put(pass.target.container, doc);
};
const contents = async (shop: Shop, container: string): Promise<string[]> => {
  const { resources } = await shop.container(container).items.query<Doc>('SELECT * FROM c').fetchAll();
  return resources.map(({ id, cents }) => `${String(id)} ${String(cents)}`).toSorted();
};
const migrates = (name: string, rollback: boolean): ShopScenario => ({
  name,
  folder: SHOP,
  steps: async (shop) => {
    await shop.services.place.database.containers.create({
      id: 'ByCustomer',
      partitionKey: { paths: ['/customerId'] },
      defaultTtl: -1,
    });
    await shop.put('Orders', orderOf('a'), orderOf('b'));
    const input = { name: 'Orders', into: 'ByCustomer' };
    if (rollback) await shop.plainly('migrate', input);
    shop.writes(
      throughGate(shop, orderOf('a', { cents: 20 })),
      throughGate(shop, orderOf('c')),
      throughGate(shop, orderOf('a', { cents: 30 })),
      throughGate(shop, orderOf('b', { cents: 40 })),
    );
    return {
      derives: false,
      steps: [
        unlessDone(
          (process) => shop.run(process, 'migrate', { ...input, rollback }),
          rollback ? 'not-found' : 'wrong-state',
        ),
      ],
      judge: async () => {
        expect(await contents(shop, rollback ? 'Orders' : 'ByCustomer')).toEqual(['a 30', 'b 40', 'c 10']);
      },
    };
  },
});

const SCENARIOS: readonly ShopScenario[] = [
  {
    name: 'redrive',
    folder: ERASE,
    pipeline: (whole) => ({
      ...definePipeline({
        name: 'crashes',
        model: m,
        tenant: 'storeId',
        sources: [],
        projections: [
          copy('summaries', {
            from: m.Orders.order,
            into: m.Summaries.summary,
            with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
            map: ({ id, storeId, customerId, cents }, { customer: joined }) => {
              if (cents > 600 && !fixed) throw new Error('refused');
              return { id, storeId, customerId, customerName: joined?.name ?? '', cents };
            },
          }),
        ],
      }),
      sources: whole.sources,
    }),
    steps: async (shop) => {
      fixed = false;
      await shop.live();
      await shop.put('Customers', customer('c1', 'Ann'));
      await shop.put('Orders', order('a', 'c1', { cents: 666 }), order('b', 'c1', { cents: 667 }), order('c', 'c1'));
      await shop.live();
      fixed = true;
      shop.writes(() => shop.put('Orders', order('b', 'c1', { cents: 668 })));
      return { steps: [(process) => shop.run(process, 'dead-letters redrive')] };
    },
  },
  {
    name: 'verify --repair',
    folder: VERSIONS,
    steps: async (shop) => {
      await shop.live();
      await shop.put('Orders', orderOf('a'), orderOf('b'), orderOf('c', { placedAt: '2026-01-02T10:00:00.000Z' }));
      await shop.live();
      const damaged = shop.container('Summaries').item('a', 's1');
      await shop.put('Summaries', { ...(await damaged.read<Doc>()).resource, cents: 11 });
      await shop.put('Summaries', { id: 'stray', type: 'summary', storeId: 's1', customerName: null, cents: 1 });
      const { resources } = await shop
        .container('Days')
        .items.query<Doc>("SELECT * FROM c WHERE c.type = 'day'")
        .fetchAll();
      await shop.container('Days').item(String(resources[0]?.['id']), 's1').delete();
      shop.writes(() => shop.put('Orders', orderOf('b', { cents: 20 })));
      return { steps: [(process) => shop.run(process, 'projections verify', { repair: true })] };
    },
  },
  {
    name: 'verify --due',
    folder: VERSIONS,
    settings: { verify: { sample: '0 * * * *', whole: '0 * * * *' } },
    steps: async (shop) => {
      await shop.put('Orders', orderOf('a'), orderOf('b'));
      await shop.derived();
      const due = { due: true };
      // Stores that nothing was due before.
      await shop.plainly('projections verify', due);
      await delay(HOUR);
      return {
        steps: [(process) => shop.run(process, 'projections verify', due)],
        // As hosts do. The lock of one that died stays until something is due again.
        after: async () => {
          await delay(HOUR);
          await shop.plainly('projections verify', due);
        },
        judge: async () => {
          for (const kind of ['sample', 'whole'] as const)
            expect(await readVerified(shop.services.global.state, 'versions', kind)).toMatchObject({ different: 0 });
        },
      };
    },
  },
  migrates('migrate', false),
  migrates('migrate --rollback', true),
  {
    name: 'backfill',
    folder: TENANTS,
    steps: async (shop) => {
      await shop.put('Customers', { id: 'c1', type: 'customer', storeId: 's1', name: 'Ann' });
      const { storeId: _, ...lacking } = orderOf('a');
      await shop.put('Orders', lacking, { ...lacking, id: 'b', ttl: 100_000 });
      await shop.derived();
      shop.writes(() => shop.put('Orders', { ...lacking, cents: 20, storeId: 's1' }));
      const input = { container: 'Orders', from: 'Customers.storeId', by: 'customerId' };
      return {
        steps: [(process) => shop.run(process, 'tenants backfill', input)],
        after: () => shop.derived(),
        judge: async () => {
          const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
          expect(
            resources.map(({ id, storeId, cents }) => `${String(id)} ${String(storeId)} ${String(cents)}`).toSorted(),
          ).toEqual(['a s1 20', 'b s1 10']);
        },
      };
    },
  },
  {
    name: 'erase',
    folder: ERASE,
    // Totals of all tenants keep their figures of an erased one until they are built again.
    pipeline: ({ projections, ...whole }) => ({
      ...whole,
      archives: [],
      projections: projections.filter(({ name }) => name !== 'totals'),
    }),
    steps: async (shop) => {
      await shop.put('Countries', { id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
      for (const storeId of ['s1', 'gone-store']) {
        await shop.put('Stores', { id: storeId, type: 'store', storeId, name: storeId });
        await shop.put('Customers', { ...customer('c1', `Ann of ${storeId}`), storeId });
        await shop.put('Orders', order(`${storeId}-a`, 'c1', { storeId }), order(`${storeId}-b`, 'c2', { storeId }));
      }
      await shop.live();
      shop.writes(() => shop.put('Orders', order('s1-a', 'c1', { cents: 20 })));
      return {
        steps: [
          unlessDone((process) => shop.run(process, 'tenants erase', { tenant: 'gone-store', yes: true }), 'not-found'),
        ],
        judge: async () => {
          const left: string[] = [];
          for (const { name } of shop.loaded.model.containers) {
            const { resources } = await shop.container(name).items.query<Doc>('SELECT * FROM c').fetchAll();
            left.push(...resources.map((doc) => JSON.stringify(doc)).filter((text) => text.includes('gone-store')));
          }
          expect(left).toEqual([]);
          const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
          expect(resources).toHaveLength(2);
        },
      };
    },
  },
  ...(['state', 'sources', 'sinks'] as const).map((lost): ShopScenario => ({
    name: `recover, ${lost} from a backup`,
    folder: VERSIONS,
    steps: async (shop) => {
      await shop.put('Customers', customer('c1', 'Ann'));
      await shop.put('Orders', orderOf('a'), orderOf('b'));
      await shop.derived();
      await delay(HOUR / 2);
      await shop.put('Orders', orderOf('a', { placedAt: '2026-01-02T10:00:00.000Z' }), orderOf('c'));
      await shop.put('Customers', customer('c1', 'Bea'));
      await shop.derived();
      const names = { state: ['millrace', 'leases'], sources: ['Orders', 'Customers'], sinks: ['Summaries', 'Days'] };
      for (const name of names[lost]) shop.emulator.restore(`${shop.settings.database}/${name}`, HOUR / 4);
      return {
        steps: [(process) => shop.run(process, 'recover')],
        after: async () => {
          await shop.live();
          await shop.put('Orders', orderOf('b', { cents: 50 }));
        },
      };
    },
  })),
];

for (const scenario of SCENARIOS) crash(shopScenario(scenario));
