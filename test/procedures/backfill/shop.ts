import { react } from 'millrace';
import { join } from 'node:path';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { type Backfilled, type BackfillOptions } from '../../../src/procedures/backfill/options.ts';
import { planModel } from '../../../src/procedures/apply/apply.ts';
import { backfill } from '../../../src/procedures/backfill/backfill.ts';
import { type App, compose } from '../../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import type { EmulatorOptions } from '../../../src/emulator/index.ts';
import { fast } from '../../verbs/projections/versions.ts';
import { namesOf } from '../../support/names-of.ts';

/** A shop whose orders may lack their tenant, `storeId`. */
export const TENANTS = join(import.meta.dirname, '../../fixtures/tenants');

const m = namesOf<{ Orders: { order: Doc } }>();

/** A stage whose pipeline also reacts to orders. */
export interface Shop extends Stage {
  /** What the reaction got, in its order. */
  readonly reactions: Doc[];
  /** Starts a host. `pollMs`: how often it reads the end of the feed. */
  host(pollMs?: number): Promise<App>;
}

/** `refused`: the reaction throws for these documents. `feed`: by which the pipeline reads Orders. */
export async function openShop(
  options: EmulatorOptions = {},
  refused: (doc: Doc) => boolean = () => false,
  feed: 'latest' | 'all-versions' = 'latest',
): Promise<Shop> {
  const stage = await openStage(options, TENANTS);
  const reactions: Doc[] = [];
  const calls = react('calls', {
    from: m.Orders.order,
    start: 'beginning',
    attempts: 1,
    run: async (doc) => {
      if (refused(doc)) throw new Error('Not this one');
      reactions.push(doc);
    },
  });
  const { pipeline } = stage.loaded;
  const sources = pipeline.sources.map((rules) => ({ ...rules, feed }));
  const loaded = { ...stage.loaded, pipeline: { ...pipeline, sources, effects: [calls] } };
  const shop = { ...stage, loaded };
  if (feed === 'all-versions') {
    await stage.container('Orders').delete();
    for (const step of await planModel(loaded, stage.services)) await step.apply();
  }
  // As it was before it declared its tenants.
  const { tenant: _, ...before } = loaded.pipeline;
  return {
    ...shop,
    reactions,
    host: async (pollMs = 10) => {
      const timings = { ...fast.timings, pollMs, checkpointMs: 20 };
      const app = await compose({ ...shop, loaded: { ...loaded, pipeline: before }, ...fast, timings, host: 'live' });
      await app.start();
      return app;
    },
  };
}

/** The same without the reaction, so that no host is needed. */
export const quiet = (shop: Shop): Shop => ({
  ...shop,
  loaded: { ...shop.loaded, pipeline: { ...shop.loaded.pipeline, effects: [] } },
});

const NEVER = new AbortController().signal;

/** Backfills Orders, by default from the customers. */
export const run = (shop: Stage, more: Partial<BackfillOptions> = {}): Promise<Backfilled> =>
  backfill({
    ...shop,
    container: 'Orders',
    values: { from: 'Customers.storeId', by: 'customerId' },
    actor: 'tester',
    readLagMs: 0,
    signal: NEVER,
    ...more,
  });

export const order = (id: string, more: Doc = {}): Doc & { id: string } => ({
  id,
  type: 'order',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 100,
  ...more,
});

/** Documents of a container by id, with their system fields. */
export async function stored(stage: Stage, container: string): Promise<Record<string, Doc>> {
  const { resources } = await stage.container(container).items.query<Doc>('SELECT * FROM c').fetchAll();
  return Object.fromEntries(resources.map((doc) => [String(doc['id']), doc]));
}

/** Creates the customers `c0` to `c3`, of the stores `s0` and `s1`. */
export async function addCustomers(stage: Stage): Promise<void> {
  for (let n = 0; n < 4; n++)
    await stage.container('Customers').items.upsert({ id: `c${n}`, type: 'customer', storeId: `s${n % 2}`, name: 'N' });
}
