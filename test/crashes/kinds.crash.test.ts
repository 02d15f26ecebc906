// Every crash point of each kind of projection, in both feed modes: two documents, three versions, of which one moves to
// another group, a join, and a document that can't be applied.
import { aggregate, copy, custom, definePipeline, embed, ingest, publish, react, reference, send } from 'millrace';
import { expect } from 'vitest';
import { canonical } from '../../src/base/json.ts';
import { SinkRefusal } from '../../src/index.ts';
import type { Doc, Entry } from '../../src/pipeline/specs.ts';
import { type Order, m } from '../fixtures/erase/model.ts';
import { boundary } from '../support/crashes.ts';
import { MemoryHub } from './memory-hub.ts';
import { crash } from './report.ts';
import { ERASE, type Shop, type Step, type Steps, customer, inPages, order, shopScenario } from './stand.ts';

type Declared = Pick<Parameters<typeof definePipeline>[0], 'projections' | 'ingest'>;

interface Kind extends Partial<Declared> {
  readonly name: string;
  readonly history?: (shop: Shop) => Step[];
  readonly letters: readonly string[];
  readonly judge?: (shop: Shop, feed: Feed) => Promise<void>;
  readonly hub?: MemoryHub;
  /** Absent: both. */
  readonly feeds?: readonly Feed[];
  /** Effects of the run before are forgotten. */
  readonly afresh?: () => void;
}

const FEEDS = ['latest', 'all-versions'] as const;
type Feed = (typeof FEEDS)[number];

const DAY_TWO = { placedAt: '2026-01-02T10:00:00.000Z' };
/** No projection can apply it. */
const BAD = 666;
const refuse = (cents: number): void => {
  if (cents === BAD) throw new Error('refused');
};

/** Each page is there once the one before is derived. */
const orders = (shop: Shop): Step[] =>
  inPages(shop, [
    async () => {
      await shop.put('Customers', customer('c1', 'Ann'));
      await shop.put('Orders', order('a', 'c1'), order('b', 'c1'));
    },
    () => shop.put('Orders', order('a', 'c2', DAY_TWO), order('bad', 'c1', { cents: BAD })),
    async () => {
      await shop.put('Customers', customer('c1', 'Bea'));
      await shop.put('Orders', order('a', 'c2', { ...DAY_TWO, cents: 30 }));
    },
  ]);

/** Documents that are deleted, as only one of the feeds shows it. */
const deleting =
  (before: (shop: Shop) => Step[]): ((shop: Shop, feed: Feed) => Step[]) =>
  (shop, feed) => {
    const remove = (): Promise<unknown> =>
      before === countries
        ? shop.container('Countries').item('AT', 'eu').delete()
        : shop.container('Orders').item('b', 'c1').delete();
    return feed === 'latest' ? before(shop) : [...before(shop), ...inPages(shop, [remove])];
  };

const customers = (shop: Shop): Step[] =>
  inPages(shop, [
    async () => {
      await shop.put('Orders', order('a', 'c1'), order('b', 'c1'));
      await shop.put('Customers', customer('c1', 'Ann'), customer('c2', 'Cy'));
    },
    async () => {
      await shop.put('Orders', { ...order('a', 'c1', { cents: 20 }), customerName: 'Ann' });
      await shop.put('Customers', customer('c1', 'Bea'), customer('c2', 'bad'));
    },
    () => shop.put('Customers', customer('c1', 'Dee')),
  ]);

const countries = (shop: Shop): Step[] => {
  const country = (id: string, name: string): Doc => ({ id, type: 'country', region: 'eu', name });
  const store = (id: string): Doc => ({ id, type: 'store', storeId: id, name: id });
  return inPages(shop, [
    async () => {
      await shop.put('Stores', store('s1'));
      await shop.put('Countries', country('AT', 'Austria'));
    },
    async () => {
      await shop.put('Stores', store('s2'));
      await shop.put('Countries', country('AT', 'Österreich'), country('XX', 'bad'));
    },
    () => shop.put('Countries', country('AT', 'Austria again')),
  ]);
};

/** Events: one that comes twice, one that becomes no document, and one that can't become one. */
const events = (shop: Shop): Step[] => {
  const sent =
    (...all: readonly (readonly [string, number])[]) =>
    async (): Promise<void> =>
      void hub.events.push(...all.map(([id, cents]) => ({ id, data: order(id, 'c1', { cents }) })));
  return inPages(shop, [
    sent(['a', 10], ['b', 10], ['a', 10]),
    sent(['b', 10], ['bad', BAD], ['c', 0]),
    sent(['d', 30]),
  ]);
};

/** What is received outside, by its key. */
const received = new Map<string, string>();
const contents = new Map<string, Entry>();
const receive = async (key: string, doc: unknown): Promise<void> =>
  boundary('outside', true, async () => {
    const content = canonical(doc);
    expect(received.get(key) ?? content, `two contents under ${key}`).toBe(content);
    received.set(key, content);
  });
const hub = new MemoryHub();

/** Each document's present version; with all versions, each version. */
async function heard(shop: Shop, feed: Feed, said: readonly string[]): Promise<void> {
  const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
  for (const { id, cents } of resources.filter((doc) => doc['cents'] !== BAD))
    expect(said, 'present versions').toContain(`${String(id)} ${String(cents)}`);
  if (feed === 'all-versions') for (const one of ['a 10', 'a 30', 'b 10']) expect(said, 'versions').toContain(one);
}
const told = (): string[] =>
  [...received.values()]
    .map((text) => JSON.parse(text) as Doc)
    .map(({ id, cents }) => `${String(id)} ${String(cents)}`);

const DAYS = aggregate('days', {
  from: m.Orders.order,
  into: m.Days.day,
  groupBy: ({ storeId, placedAt, cents }) => {
    refuse(cents);
    return { storeId, day: placedAt.slice(0, 10) };
  },
  measures: { orders: (q) => q.count(), customers: (q) => q.distinct(({ customerId }) => customerId) },
});
const KINDS: readonly Kind[] = [
  {
    name: 'copy with a join',
    projections: [
      copy('summaries', {
        from: m.Orders.order,
        into: m.Summaries.summary,
        with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
        map: ({ id, storeId, customerId, cents }, { customer: joined }) => {
          refuse(cents);
          return { id, storeId, customerId, customerName: joined?.name ?? '', cents };
        },
      }),
    ],
    letters: ['summaries@1: Orders/bad'],
  },
  {
    name: 'aggregate',
    projections: [DAYS],
    letters: ['days@1: Orders/bad'],
  },
  {
    name: 'aggregate of an aggregate',
    projections: [
      DAYS,
      aggregate('totals', {
        from: m.Days.day,
        into: m.Totals.total,
        acrossTenants: true,
        groupBy: ({ day }) => ({ day }),
        measures: { orders: (q) => q.sum(({ orders: count }) => count) },
      }),
    ],
    letters: ['days@1: Orders/bad'],
  },
  {
    name: 'embed',
    projections: [
      embed('customer-names', {
        from: m.Customers.customer,
        into: m.Orders.order,
        on: { storeId: 'storeId', id: 'customerId' },
        set: {
          customerName: ({ name }) => {
            if (name === 'bad') throw new Error('refused');
            return name;
          },
        },
      }),
    ],
    history: customers,
    letters: [],
  },
  {
    name: 'reference',
    projections: [
      reference('countries', {
        from: m.Countries.country,
        into: m.StoreCountries.storeCountry,
        tenants: m.Stores.store,
        key: { storeId: 'storeId' },
        map: ({ id, name }) => {
          if (name === 'bad') throw new Error('refused');
          return { id, name };
        },
      }),
    ],
    history: countries,
    letters: ['countries@1: Countries/XX'],
  },
  {
    name: 'send',
    projections: [
      send('rows', {
        from: m.Orders.order,
        to: {
          write: (entries) =>
            boundary('outside', true, async () => {
              const bad = entries.filter(({ row }) => (row as { cents?: number } | null)?.cents === BAD);
              for (const entry of entries)
                if (!bad.includes(entry) && !((contents.get(entry.id)?.version ?? '') >= entry.version))
                  contents.set(entry.id, entry);
              if (bad.length > 0) throw new SinkRefusal(new Map(bad.map(({ id }) => [id, 'refused'])));
            }),
        },
        map: ({ id, cents }) => ({ id, cents }),
      }),
    ],
    letters: ['rows@1: Orders/bad'],
    afresh: () => contents.clear(),
    judge: async (shop) => {
      const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
      const shown = [...contents.values()].flatMap(({ row }) => (row === null ? [] : [canonical(row)]));
      const wanted = resources.filter((doc) => doc['cents'] !== BAD).map(({ id, cents }) => canonical({ id, cents }));
      expect(shown.toSorted()).toEqual(wanted.toSorted());
    },
  },
  {
    name: 'react',
    projections: [
      react('mail', {
        from: m.Orders.order,
        attempts: 3,
        run: async (doc, { key }) => {
          refuse(doc.cents);
          await receive(key, doc);
        },
      }),
    ],
    letters: ['mail@1: Orders/bad'],
    afresh: () => received.clear(),
    judge: (shop, feed) => heard(shop, feed, told()),
  },
  {
    name: 'custom',
    projections: [
      custom('boards', {
        sources: [m.Orders.order],
        apply: async (changes) => {
          for (const { id, doc, version } of changes) if (doc) await receive(`${id} ${version.lsn}`, doc);
        },
      }),
    ],
    letters: [],
    afresh: () => received.clear(),
    judge: (shop, feed) => heard(shop, feed, told()),
  },
  {
    name: 'publish',
    projections: [
      publish('out', {
        from: m.Orders.order,
        to: 'orders',
        order: 'document',
        map: ({ id, cents }) => {
          refuse(cents);
          return { id, cents };
        },
      }),
    ],
    letters: ['out@1: Orders/bad'],
    hub,
    afresh: () => hub.empty(),
    judge: (shop, feed) =>
      heard(
        shop,
        feed,
        hub.events.flatMap(({ data }) => (data ? [`${String(data['id'])} ${String(data['cents'])}`] : [])),
      ),
  },
  {
    name: 'ingest',
    ingest: [
      ingest('arrivals', {
        from: 'arrivals',
        into: m.Orders.order,
        map: ({ body }) => {
          const { cents, ...more } = body as Order;
          refuse(cents);
          return cents === 0 ? null : { ...more, cents };
        },
      }),
    ],
    history: events,
    letters: ['arrivals@1: arrivals/4'],
    hub,
    feeds: ['latest'],
    afresh: () => hub.empty(),
    judge: async (shop) => {
      const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
      const stored = resources.map(({ id, cents }) => `${String(id)} ${String(cents)}`);
      expect(stored.toSorted()).toEqual(['a 10', 'b 10', 'd 30']);
    },
  },
];

for (const {
  name,
  projections = [],
  ingest: arrivals = [],
  history = orders,
  letters,
  judge,
  hub: of,
  feeds = FEEDS,
  afresh,
} of KINDS)
  for (const feed of feeds)
    crash(
      shopScenario({
        name: `${name}, ${feed}`,
        folder: ERASE,
        pipeline: () => {
          const all = [m.Orders.order, m.Customers.customer, m.Countries.country, m.Stores.store];
          const sources = all.map((one) => ({ ...one, ...(feed === 'all-versions' && { feed }) }));
          return definePipeline({
            name: 'crashes',
            model: m,
            tenant: 'storeId',
            sources,
            projections,
            ingest: arrivals,
          });
        },
        ...(of && { hub: of }),
        steps: async (shop): Promise<Steps> => {
          afresh?.();
          // The feeds of all versions begin where they are first read.
          await shop.derived();
          return { steps: deleting(history)(shop, feed), letters, judge: async () => judge?.(shop, feed) };
        },
      }),
    );
