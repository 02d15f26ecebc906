import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Context as SpanContext, ROOT_CONTEXT, context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Container, CosmosClient } from '@azure/cosmos';
import { Rates } from '../src/feed/processor/rates.ts';
import { startProbes } from '../src/host/run/probes.ts';
import { readScale } from '../src/host/run/scale.ts';
import { startHostTelemetry } from '../src/host/run/telemetry.ts';
import { planModel } from '../src/procedures/apply/apply.ts';
import { openWorkspace } from '../src/runtime/open-workspace.ts';
import { type App, compose } from '../src/runtime/hosts/processor-host.ts';
import type { Screen } from '../src/procedures/screen.ts';
import type { LoadedPipeline, Services, Workspace } from '../src/runtime/workspace.ts';
import { type Benchmark, type Figure, atMost, median, plain, sized } from './support/measure.ts';
import { pairedRatios } from './support/paired.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const PIPELINE = fileURLToPath(new URL('../test/fixtures/shop', import.meta.url));
const ORDERS = Number(process.env['MILLRACE_BENCH_ORDERS'] ?? sized(500, 50));
const ROUNDS = Number(process.env['MILLRACE_BENCH_ROUNDS'] ?? sized(30, 1));
const SCRAPES = sized(100, 5);
const MODES = (process.env['MILLRACE_ONLY']?.split(',') ?? ['default', 'metrics', 'sampled', 'traced']) as Mode[];
/**
 * `none`: without signals, and without the plug-in of the client. `default`: as `millrace run` has them, without an SDK.
 * `metrics`: the same with `--probes`. `sampled` and `traced`: with an SDK that takes 5 % of pages, or all.
 */
type Mode = 'none' | 'default' | 'metrics' | 'sampled' | 'traced';

/** What a host pays for its metrics, its endpoints and its spans, in processor time of its process. */
export const b25: Benchmark = {
  id: 'B25',
  title: 'metrics, endpoints and spans: processor time of a host ÷ that of a host without them',
  run: async () => {
    await using stage = await openStage({ tls: process.env['MILLRACE_BENCH_TLS'] !== '0' });
    const figures = await host(stage, 'derived', async (parts) => {
      const used: number[] = [];
      let turn = 0;
      const ratios = await pairedRatios<Mode>('none', MODES, ROUNDS, async (mode) => {
        const seconds = await derive(parts, mode, `t${turn++}`);
        if (mode === 'none') used.push(seconds);
        return seconds;
      });
      const of = (mode: Mode, name: string, most?: number): Figure[] => {
        const paired = ratios.get(mode);
        if (!paired) return [];
        const named = `${name} ÷ none (95 %: ${paired.low.toFixed(3)} to ${paired.high.toFixed(3)})`;
        return [most === undefined ? plain(named, paired.ratio, '×') : atMost(named, paired.ratio, most, '×')];
      };
      return [
        plain('without signals: processor time a change', (median(used) / ORDERS) * 1_000_000, 'µs'),
        ...of('default', 'metrics and spans without an SDK', 1.03),
        ...of('metrics', 'the same with /metrics', 1.03),
        ...of('sampled', 'an SDK that samples 5 % of pages'),
        ...of('traced', 'an SDK that records all'),
      ];
    });
    const scrape = await scraping(stage);
    return [
      ...figures,
      plain('a scrape of /metrics, /readyz and /scale', scrape * 1_000, 'ms'),
      atMost('of a core that is used whole, each second', scrape * 100, 3, '%'),
    ];
  },
};

const cpuSeconds = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000_000;
};

/** Derives new orders by a new host. Returns the processor time of its process, seconds. */
async function derive({ services, loaded, settings, container }: Parts, mode: Mode, turn: string): Promise<number> {
  await fillOrders(container, turn);
  const end = await signalsOf(mode, services.place.database.client);
  const app = await composed({ services, loaded, settings });
  const { signal } = new AbortController();
  const endSignals =
    mode === 'none' ? undefined : startHostTelemetry(app, new Rates(), { services, signal, problems: async () => [] });
  collect();
  const before = process.cpuUsage();
  await app.start();
  await derived(app);
  await app.stop();
  const used = cpuSeconds(before);
  endSignals?.();
  await end();
  return used;
}

/** Resolves once each projection has handled all orders of this turn. */
async function derived(app: App): Promise<void> {
  while (app.stats().some(({ changes }) => changes < ORDERS)) await delay(10);
}

/** Polls seldom: how often a host polls depends on how long it takes, so beside other work it would do more. */
const composed = (parts: Pick<Parts, 'services' | 'loaded' | 'settings'>): Promise<App> =>
  compose({ ...parts, host: 'bench', readLagMs: 0, timings: { pollMs: 60_000 } });

/** Registers what the mode has in the process. The returned function takes it back. */
async function signalsOf(mode: Mode, client: CosmosClient): Promise<() => Promise<void>> {
  if (mode === 'sampled') return startSdk(0.05);
  if (mode === 'traced') return startSdk(1);
  if (mode === 'metrics') {
    const probes = await startProbes({ screen: SILENT, port: 0, scale: async () => ({}) });
    return async () => {
      await probes[Symbol.asyncDispose]();
    };
  }
  return mode === 'none' ? withoutSpans(client) : async () => undefined;
}

// What one turn leaves must not be collected in the next.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The processor time of a scrape of a host that has all, seconds: what answers, and what asks in this process too. */
const scraping = (stage: Stage): Promise<number> =>
  host(stage, 'scraped', async ({ services, loaded, settings, workspace, container }) => {
    await fillOrders(container, 'scraped');
    const app = await composed({ services, loaded, settings });
    const { signal } = new AbortController();
    const scale = () => readScale({ workspace, actor: 'bench', signal, screen: SILENT }, 60_000);
    await using probes = await startProbes({ screen: SILENT, port: 0, scale });
    const endSignals = startHostTelemetry(app, new Rates(), { services, signal, problems: async () => [] });
    await app.start();
    await derived(app);
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
    const each = (await costs(SCRAPES, ask)) + (await costs(SCRAPES / 10, scale)) / 10;
    endSignals();
    await app.stop();
    return each;
  });

const SILENT: Screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

interface Parts {
  readonly services: Services;
  readonly loaded: LoadedPipeline;
  readonly settings: ReturnType<Workspace['settings']>;
  readonly workspace: Workspace;
  /** Of orders. */
  readonly container: Container;
}

/** Opens the shop over a database of its own. */
async function host<T>(stage: Stage, database: string, work: (parts: Parts) => Promise<T>): Promise<T> {
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
  try {
    const [services, loaded, settings] = [await workspace.services(), await workspace.pipeline(), workspace.settings()];
    for (const step of await planModel(loaded, services)) await step.apply();
    return await work({
      services,
      loaded,
      settings,
      workspace,
      container: services.place.database.container('Orders'),
    });
  } finally {
    await workspace.close();
  }
}

/** New orders of the same stores, customers and days, so that each turn has the same work. */
async function fillOrders(container: Container, turn: string): Promise<void> {
  const orders = Array.from({ length: ORDERS }, (_, n) => ({
    id: `${turn}-o${n}`,
    type: 'order',
    storeId: `s${n % 40}`,
    customerId: `c${n % 200}`,
    placedAt: `2026-01-${String(1 + (n % 28)).padStart(2, '0')}T10:00:00.000Z`,
    cents: n,
  }));
  await fill(container, orders, ({ storeId }) => String(storeId));
}

/** Makes a client as it would be if requests had no spans. The returned function makes it as it was. */
function withoutSpans(client: CosmosClient): () => Promise<void> {
  const { cosmosClientOptions: options } = (
    client as unknown as { clientContext: { cosmosClientOptions: { plugins?: unknown } } }
  ).clientContext;
  const { plugins } = options;
  delete options.plugins;
  return async () => {
    options.plugins = plugins;
  };
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
