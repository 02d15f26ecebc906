import { AsyncLocalStorage } from 'node:async_hooks';
import { fileURLToPath } from 'node:url';
import { type Context as SpanContext, ROOT_CONTEXT, context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { CosmosClient } from '@azure/cosmos';
import { Rates } from '../src/feed/processor/rates.ts';
import { startProbes } from '../src/host/run/probes.ts';
import { readScale } from '../src/host/run/scale.ts';
import { startSignals } from '../src/host/run/signals.ts';
import { planModel } from '../src/operations/model/apply.ts';
import { openWorkspace } from '../src/runtime/open-workspace.ts';
import { type App, compose } from '../src/runtime/processor-host.ts';
import type { Screen } from '../src/operations/screen.ts';
import type { LoadedPipeline, Services, Workspace } from '../src/runtime/workspace.ts';
import { type Benchmark, type Figure, atMost, plain } from './support/measure.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const PIPELINE = fileURLToPath(new URL('../test/fixtures/shop', import.meta.url));
const ORDERS = 1_500;
const ROUNDS = Number(process.env['MILLRACE_BENCH_ROUNDS'] ?? 15);
const SCRAPES = 100;
const MODES = ['none', 'default', 'sampled', 'traced'] as const;
type Mode = (typeof MODES)[number];

/** What a host pays for its metrics, its endpoints and its spans, in processor time of its process. */
export const b25: Benchmark = {
  id: 'B25',
  title: 'metrics, endpoints and spans: processor time of a host ÷ that of a host without them',
  run: async () => {
    await using stage = await openStage();
    const used = new Map<Mode, number[]>(MODES.map((mode) => [mode, []]));
    for (let round = 0; round <= ROUNDS; round++) {
      // Each mode is first as often as the others, because what runs first has a smaller server.
      const order = MODES.map((_, at) => MODES[(at + round) % MODES.length] ?? 'none');
      for (const mode of order) {
        const cpu = await derive(stage, mode, `r${round}-${mode}`);
        // The first round compiles.
        if (round > 0) used.get(mode)?.push(cpu);
      }
    }
    const of = (mode: Mode): number => lowest(used.get(mode) ?? []);
    const ratio = (mode: Mode): number => of(mode) / of('none');
    const scrape = await scraping(stage);
    const figures: Figure[] = [
      plain('without signals: processor time a change', (of('none') / ORDERS) * 1_000_000, 'µs'),
      atMost('metrics and spans without an SDK ÷ none', ratio('default'), 1.03, '×'),
      plain('a scrape of /metrics, /readyz and /scale', scrape * 1_000, 'ms'),
      atMost('of a core that is used whole, each second', scrape * 100, 3, '%'),
      plain('an SDK that samples 5 % of pages ÷ none', ratio('sampled'), '×'),
      plain('an SDK that records all ÷ none', ratio('traced'), '×'),
    ];
    return figures;
  },
};

/** The quarter that was disturbed least: other work on the machine only adds. */
const lowest = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 2] ?? Number.NaN;

const cpuSeconds = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000_000;
};

/** Derives all orders in a database of their own, by a new host. Returns the processor time of it, seconds. */
async function derive(stage: Stage, mode: Mode, database: string): Promise<number> {
  const endSdk = mode === 'sampled' ? startSdk(0.05) : mode === 'traced' ? startSdk(1) : undefined;
  try {
    let used = 0;
    await host(stage, database, async ({ app, services, loaded, signal }) => {
      if (mode === 'none') withoutSpans(services.place.database.client);
      const endSignals = mode === 'none' ? undefined : startSignals(app, new Rates(), { services, loaded, signal });
      const before = process.cpuUsage();
      await app.start();
      await app.drained(signal);
      used = cpuSeconds(before);
      endSignals?.();
    });
    return used;
  } finally {
    await endSdk?.();
  }
}

/** The processor time of a scrape of a host that has all, seconds: what answers, and what asks in this process too. */
async function scraping(stage: Stage): Promise<number> {
  let each = 0;
  await host(stage, 'scraped', async ({ app, services, loaded, workspace, signal }) => {
    const scale = () => readScale({ workspace, actor: 'bench', signal, screen: SILENT }, 60_000);
    await using probes = await startProbes({ screen: SILENT, port: 0, scale });
    const endSignals = startSignals(app, new Rates(), { services, loaded, signal });
    await app.start();
    await app.drained(signal);
    const ask = async (): Promise<void> => {
      for (const path of ['metrics', 'readyz']) await (await fetch(new URL(path, probes.url))).text();
    };
    const costs = async (times: number, work: () => Promise<unknown>): Promise<number> => {
      await work();
      const before = process.cpuUsage();
      for (let n = 0; n < times; n++) await work();
      return cpuSeconds(before) / times;
    };
    // `/scale` is kept for ten seconds.
    each = (await costs(SCRAPES, ask)) + (await costs(SCRAPES / 10, scale)) / 10;
    endSignals();
  });
  return each;
}

const SILENT: Screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

interface Parts {
  readonly app: App;
  readonly services: Services;
  readonly loaded: LoadedPipeline;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

/** A host of the shop, not started, over a database with all orders. */
async function host(stage: Stage, database: string, work: (parts: Parts) => Promise<void>): Promise<void> {
  await stage.database.client.databases.create({ id: database });
  const account = `AccountEndpoint=${stage.endpoint};AccountKey=${stage.key};`;
  Object.assign(process.env, {
    COSMOS: account,
    COSMOS_DATABASE: database,
    LEASES: account,
    LEASES_DATABASE: database,
  });
  process.env['LEASES_CONTAINER'] = 'leases';
  const workspace = openWorkspace({ directory: PIPELINE, pipeline: PIPELINE });
  const { signal } = new AbortController();
  try {
    const [services, loaded, settings] = [await workspace.services(), await workspace.pipeline(), workspace.settings()];
    for (const step of await planModel(loaded, services)) await step.apply();
    await fillOrders(services.place.database.container('Orders'));
    const app = await compose({ settings, services, loaded, host: 'bench', readLagMs: 0, timings: { pollMs: 20 } });
    await work({ app, services, loaded, workspace, signal });
    await app.stop();
    if (app.stats().some(({ changes }) => changes !== ORDERS)) throw new Error('A projection missed changes');
  } finally {
    await workspace.close();
  }
}

async function fillOrders(container: Parameters<typeof fill>[0]): Promise<void> {
  const orders = Array.from({ length: ORDERS }, (_, n) => ({
    id: `o${n}`,
    type: 'order',
    storeId: `s${n % 40}`,
    customerId: `c${n % 200}`,
    placedAt: `2026-01-${String(1 + (n % 28)).padStart(2, '0')}T10:00:00.000Z`,
    cents: n,
  }));
  await fill(container, orders, ({ storeId }) => String(storeId));
}

/** As the client would be if requests had no spans. */
function withoutSpans(client: CosmosClient): void {
  const inner = client as unknown as { clientContext: { cosmosClientOptions: { plugins?: unknown } } };
  delete inner.clientContext.cosmosClientOptions.plugins;
}

class Dropping extends InMemorySpanExporter {
  override export(...given: Parameters<InMemorySpanExporter['export']>): void {
    super.export(...given);
    this.reset();
  }
}

/** Spans are made and put into batches; what takes the batches drops them, so sending isn't measured. */
function startSdk(share: number): () => Promise<void> {
  const store = new AsyncLocalStorage<SpanContext>();
  context.setGlobalContextManager({
    active: () => store.getStore() ?? ROOT_CONTEXT,
    with: (of, work, self, ...given) => store.run(of, () => work.call(self as never, ...given)),
    bind: (_of, target) => target,
    enable: () => context as never,
    disable: () => context as never,
  });
  const provider = new BasicTracerProvider({
    sampler: new TraceIdRatioBasedSampler(share),
    spanProcessors: [new BatchSpanProcessor(new Dropping())],
  });
  trace.setGlobalTracerProvider(provider);
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  };
}
