import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import type { Doc, ProjectionSpec } from '../../../src/pipeline/specs.ts';
import { projectionId } from '../../../src/pipeline/specs.ts';
import { recompute, rowKey, visible } from '../../../src/pipeline/oracle/recompute.ts';
import { type App, type ComposeOptions, compose } from '../../../src/runtime/hosts/processor-host.ts';
import type { Timings } from '../../../src/feed/sharing/feed-host.ts';
import type { Random } from '../../support/random.ts';
import type { Stage } from '../../support/stage.ts';

/** The shop with a second version of each projection. */
export const VERSIONS = join(import.meta.dirname, '../../fixtures/versions');
/** How soon a test's hosts see a view that changed. */
export const VIEWS_REFRESH_MS = 10;

/** Polls are closer than writes of `keepWriting`: a host is drained only once a read finds nothing. */
export const fast: Pick<ComposeOptions, 'readLagMs' | 'viewsRefreshMs' | 'timings'> = {
  readLagMs: 0,
  viewsRefreshMs: VIEWS_REFRESH_MS,
  timings: { pollMs: 10, acquireMs: 100 },
};

export async function live(stage: Stage, host = 'live', timings: Partial<Timings> = {}): Promise<App> {
  const app = await compose({ ...stage, ...fast, timings: { ...fast.timings, ...timings }, host });
  await app.start();
  return app;
}

export function specOf(stage: Pick<Stage, 'loaded'>, id: string): ProjectionSpec {
  const spec = stage.loaded.pipeline.projections.find((of) => projectionId(of) === id);
  if (!spec) throw new Error(`No ${id}`);
  return spec;
}

export const options = (stage: Pick<Stage, 'settings' | 'services' | 'loaded'>, id: string, signal: AbortSignal) => ({
  settings: stage.settings,
  services: stage.services,
  loaded: stage.loaded,
  spec: specOf(stage, id),
  readLagMs: 0,
  viewsRefreshMs: VIEWS_REFRESH_MS,
  timings: { pollMs: 10, acquireMs: 100, stopMs: 300 },
  signal,
});

const all = async (container: Container): Promise<Doc[]> =>
  (await container.items.query<Doc>('SELECT * FROM c').fetchAll()).resources;

/** What a version must be by the documents there are, and what it is: `rowKey` → document. */
export async function compare(
  stage: Stage,
  id: string,
): Promise<{ expected: Map<string, Doc>; found: Map<string, Doc> }> {
  const spec = specOf(stage, id);
  const keyPaths = ['/storeId'];
  const documents = new Map<string, Doc[]>();
  for (const name of ['Orders', 'Customers']) documents.set(name, await all(stage.container(name)));
  const expected = recompute(
    spec,
    ({ container, type }) => (documents.get(container) ?? []).filter((doc) => doc['type'] === type),
    stage.loaded.pipeline.sources,
    { keyPaths },
  );
  const found = (await all(stage.container(spec.into.container)))
    .filter((doc) => doc['type'] === spec.into.type)
    .map((doc) => [rowKey(doc, keyPaths), visible(doc)] as const);
  return { expected, found: new Map(found) };
}

const STORES = 4;

/** A random write to the sources: orders come, change, move to another day, are cancelled; customers are renamed. */
export async function writeAny(stage: Stage, random: Random, orders = 60): Promise<void> {
  const store = `s${random.int(STORES)}`;
  if (random.chance(0.15)) {
    const id = `c${random.int(6)}`;
    await stage
      .container('Customers')
      .items.upsert({ id, type: 'customer', storeId: store, name: `N${random.int(1_000)}` });
    return;
  }
  const n = random.int(orders);
  await stage.container('Orders').items.upsert({
    id: `o${n}`,
    type: 'order',
    storeId: store,
    customerId: `c${random.int(6)}`,
    placedAt: `2026-01-0${1 + random.int(5)}T10:00:00.000Z`,
    cents: random.int(10_000),
    ...(random.chance(0.1) ? { cancelled: true } : {}),
  });
}

/** Writes until it is told to stop; resolves with how many there were. */
export function keepWriting(stage: Stage, random: Random, pauseMs = 1): { stop(): Promise<number> } {
  const stopping = new AbortController();
  const running = (async () => {
    let count = 0;
    for (; !stopping.signal.aborted; count++) {
      await writeAny(stage, random);
      await delay(pauseMs);
    }
    return count;
  })();
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}
