// Every crash point of the archive: of its procedures, beside a host that lives and an application that writes; and of the
// host, for documents that leave, come back and expire.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { archive } from 'millrace';
import type { Doc, Pipeline } from '../../src/pipeline/specs.ts';
import { m } from '../fixtures/shop/model.ts';
import { COLD } from '../support/stage.ts';
import { crash } from './report.ts';
import { type Shop, type Step, inPages, orderOf, shopScenario } from './stand.ts';

const COLD_VERSIONS = join(import.meta.dirname, '../fixtures/cold-versions');
const WARM = { placedAt: '2026-11-01T10:00:00.000Z' };
/** An order is older than it says below by so much that its archived copy is over. */
const LONG_AGO = { placedAt: '2015-01-01T10:00:00.000Z' };

interface Procedure {
  readonly name: string;
  readonly before?: (shop: Shop) => Promise<unknown>;
  readonly run: (shop: Shop) => Step;
  /** Ids of orders that neither the container nor the archive may have in the end. */
  readonly over?: readonly string[];
}

/** Hosts have stored by then that everything is applied. */
const STORED_MS = 10_000;
const swept = async (shop: Shop): Promise<void> => {
  await delay(STORED_MS);
  await shop.plainly('archive sweep');
};
const PROCEDURES: readonly Procedure[] = [
  { name: 'sweep', run: (shop) => (process) => shop.run(process, 'archive sweep') },
  {
    name: 'restore',
    before: swept,
    run: (shop) => (process) => shop.run(process, 'archive restore', { tenant: 's1' }),
  },
  {
    name: 'compact',
    before: async (shop) => {
      await swept(shop);
      await shop.put('Orders', orderOf('d'));
      await shop.live();
      await swept(shop);
    },
    run: (shop) => (process) => shop.run(process, 'archive compact'),
  },
  {
    name: 'expire',
    before: async (shop) => {
      await shop.put('Orders', orderOf('old', LONG_AGO));
      await shop.live();
      await swept(shop);
    },
    run: (shop) => (process) => shop.run(process, 'archive expire'),
    over: ['old'],
  },
];

const FEEDS = [
  ['latest', COLD],
  ['all-versions', COLD_VERSIONS],
] as const;
const archived = (whole: Pipeline): Pipeline => ({
  ...whole,
  archives: [
    archive('orders-cold', { from: m.Orders.order, date: 'placedAt', tenant: 'storeId', after: '200d', keep: '3650d' }),
  ],
});

for (const { name, before, run, over = [] } of PROCEDURES)
  for (const [feed, folder] of FEEDS)
    crash(
      shopScenario({
        name: `${name}, ${feed}`,
        folder,
        pipeline: archived,
        steps: async (shop) => {
          await shop.live();
          await shop.put('Orders', orderOf('a'), orderOf('b'), orderOf('c', WARM));
          await shop.live();
          await delay(STORED_MS);
          await before?.(shop);
          shop.writes(
            () => shop.put('Orders', orderOf('c', { ...WARM, cents: 20 })),
            () => shop.put('Orders', orderOf('e', { cents: 30 })),
          );
          return {
            derives: over.length === 0,
            steps: [run(shop)],
            judge: async () => {
              await delay(3_600_000);
              const { ok, text } = await shop.plainly('archive verify');
              assert.ok(ok, text);
              const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
              assert.ok(shop.blobs.blobs.size > 0, 'otherwise nothing was archived');
              // Of all versions, a document leaves a day later.
              if (feed === 'latest')
                assert.deepEqual(
                  over.filter((id) => resources.some((doc) => doc['id'] === id)),
                  [],
                );
            },
          };
        },
      }),
    );

for (const [feed, folder] of FEEDS)
  crash(
    shopScenario({
      name: `archive, ${feed}`,
      folder,
      pipeline: archived,
      steps: async (shop) => {
        // The feeds of all versions begin where they are first read.
        await shop.derived();
        const item = (id: string) => shop.container('Orders').item(id, 's1');
        /** As an application does that read it before: with the archive's mark and time to live. */
        const writeBack = async (id: string): Promise<unknown> =>
          shop.put('Orders', { ...(await item(id).read<Doc>()).resource, ...orderOf(id, { cents: 20 }) });
        const gone = (id: string): Promise<unknown> =>
          feed === 'latest' ? shop.put('Orders', orderOf(id, { cancelled: true })) : item(id).delete();
        return {
          steps: inPages(shop, [
            () => shop.put('Orders', ...['a', 'b', 'c', 'd'].map((id) => orderOf(id))),
            () => swept(shop),
            async () => {
              await writeBack('a');
              await shop.put('Orders', orderOf('b', { cents: 30 }));
              await gone('c');
            },
            ...(feed === 'latest' ? [] : [async () => shop.emulator.expire(`${shop.settings.database}/Orders`, 'd')]),
          ]),
          judge: async () => {
            const { ok, text } = await shop.plainly('archive verify');
            assert.ok(ok, text);
            const { resources } = await shop.container('Orders').items.query<Doc>('SELECT * FROM c').fetchAll();
            const left = resources.filter(({ cancelled }) => cancelled !== true);
            // What was written back stays.
            assert.deepEqual(
              left.map(({ id, cents, ttl }) => [id, cents, ttl]),
              [
                ['a', 20, undefined],
                ['b', 30, undefined],
              ],
            );
          },
        };
      },
    }),
  );
