import { AsyncLocalStorage } from 'node:async_hooks';
import { fileURLToPath } from 'node:url';
import { type Context as SpanContext, ROOT_CONTEXT, context, metrics, trace } from '@opentelemetry/api';
import { BasicTracerProvider, BatchSpanProcessor, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import type { CosmosClient } from '@azure/cosmos';
import { Rates } from '../src/feed/processor/rates.ts';
import { startProbes } from '../src/host/run/probes.ts';
import { readScale } from '../src/host/run/scale.ts';
import { startSignals } from '../src/host/run/signals.ts';
import { planModel } from '../src/operations/model/apply.ts';
import { openWorkspace } from '../src/runtime/open-workspace.ts';
import { compose } from '../src/runtime/processor-host.ts';
import type { Workspace } from '../src/runtime/workspace.ts';
import { type Benchmark, type Figure, atMost, median, plain } from './support/measure.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const PIPELINE = fileURLToPath(new URL('../test/fixtures/shop', import.meta.url));
const ORDERS = Number(process.env['MILLRACE_BENCH_ORDERS'] ?? 4_000);
const ROUNDS = Number(process.env['MILLRACE_BENCH_ROUNDS'] ?? 9);
const MODES = ['none', 'default', 'scraped', 'sampled', 'traced'] as const;
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
    const of = (mode: Mode): readonly number[] => used.get(mode) ?? [];
    const ratio = (mode: Mode): number => median(of(mode).map((cpu, round) => cpu / (of('none')[round] ?? Number.NaN)));
    const figures: Figure[] = [
      plain('without signals: processor time a change', (median(of('none')) / ORDERS) * 1_000_000, 'µs'),
      plain('the same in another run: spread', spread(of('none')), '%'),
      atMost('metrics and spans without an SDK ÷ none', ratio('default'), 1.03, '×'),
      atMost('/metrics, /readyz, /scale each second ÷ none', ratio('scraped'), 1.03, '×'),
      plain('an SDK that samples 5 % of pages ÷ none', ratio('sampled'), '×'),
      plain('an SDK that records all ÷ none', ratio('traced'), '×'),
    ];
    return figures;
  },
};

/** Half of the runs are within so many per cent of the median. */
function spread(values: readonly number[]): number {
  const middle = median(values);
  return median(values.map((value) => Math.abs(value / middle - 1))) * 100;
}

/** Derives all orders in a database of their own, by a new host. Returns the processor time of it, seconds. */
async function derive(stage: Stage, mode: Mode, database: string): Promise<number> {
  await prepare(stage, database);
  const account = `AccountEndpoint=${stage.endpoint};AccountKey=${stage.key};`;
  Object.assign(process.env, {
    COSMOS: account,
    COSMOS_DATABASE: database,
    LEASES: account,
    LEASES_DATABASE: database,
  });
  process.env['LEASES_CONTAINER'] = 'leases';
  const workspace = openWorkspace({ directory: PIPELINE, pipeline: PIPELINE });
  const endSdk = mode === 'sampled' ? startSdk(0.05) : mode === 'traced' ? startSdk(1) : undefined;
  const { signal } = new AbortController();
  try {
    const [services, loaded, settings] = [await workspace.services(), await workspace.pipeline(), workspace.settings()];
    for (const step of await planModel(loaded, services)) await step.apply();
    await fillOrders(services.place.database.container('Orders'));
    if (mode === 'none') withoutSpans(services.place.database.client);
    const app = await compose({ settings, services, loaded, host: mode, readLagMs: 0, timings: { pollMs: 20 } });
    await using _scraped = mode === 'scraped' ? await scraped(workspace, signal) : undefined;
    const endSignals = mode === 'none' ? undefined : startSignals(app, new Rates(), { services, loaded, signal });
    const before = process.cpuUsage();
    await app.start();
    await app.drained(signal);
    const { user, system } = process.cpuUsage(before);
    await app.stop();
    endSignals?.();
    if (app.stats().some(({ changes }) => changes !== ORDERS)) throw new Error('A projection missed changes');
    return (user + system) / 1_000_000;
  } finally {
    await endSdk?.();
    await workspace.close();
  }
}

async function prepare({ database }: Stage, id: string): Promise<void> {
  await database.client.databases.create({ id });
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
    spanProcessors: [
      new BatchSpanProcessor({ export: (_, done) => done({ code: 0 }), shutdown: async () => undefined }),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  };
}

/** The probes of a host, and what asks them each second, in this process too. */
async function scraped(workspace: Workspace, signal: AbortSignal): Promise<AsyncDisposable> {
  const screen = { live: false, line: () => {}, draw: () => {}, progress: () => {} };
  const probes = await startProbes({
    screen,
    port: 0,
    scale: () => readScale({ workspace, actor: 'bench', signal, screen }, 60_000),
  });
  const ask = async (): Promise<void> => {
    for (const path of ['metrics', 'readyz', 'scale']) await (await fetch(new URL(path, probes.url))).text();
  };
  const asking = setInterval(() => void ask().catch(() => undefined), 1_000);
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(asking);
      await probes[Symbol.asyncDispose]();
      metrics.disable();
    },
  };
}
