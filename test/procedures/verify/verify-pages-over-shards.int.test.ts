// A verification of all documents by pages, of a pipeline over shards: in each place the same is found as at once.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { type TestContext, expect, it, vi } from 'vitest';
import { startVerificationMetrics } from '../../../src/host/run/host-metrics.ts';
import { startVerifying } from '../../../src/host/run/verifying.ts';
import { operationPlaces } from '../../../src/verbs/at-places.ts';
import { verifyDue } from '../../../src/procedures/verify/verify-due.ts';
import { type Pages, NO_PAGES, verifyPages } from '../../../src/procedures/verify/verify-pages.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { movedOwn } from '../../../src/kinds/moved.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { inPlaces, placesOf } from '../../../src/runtime/places.ts';
import { cli } from '../../cli/cli.ts';
import { orderOf } from '../../runtime/application.ts';
import { given } from '../../runtime/spread-world.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { SPREAD, type SpreadStage } from '../../support/spread-stage.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
const OPTIONS = { signal, screen, readLagMs: 0 };
const SHARDS = ['north', 'west', 'east'];

/** Each place with its part. */
const opened = async (stage: SpreadStage) =>
  inPlaces(await placesOf(stage).list(), ({ shard = 'global', loaded, services }) => ({
    name: shard,
    loaded,
    services,
  }));

/** What differs in each place, by pages of 7 that end by chance and continue, and at once. */
async function both(stage: SpreadStage, random: Random, of: readonly string[] = ['global', ...SHARDS]) {
  const found: Record<string, { pages: string[]; atOnce: string[] }> = {};
  for (const { name, loaded, services } of await opened(stage)) {
    if (!of.includes(name)) continue;
    let from: Pages = NO_PAGES;
    for (let ended = false; !ended;) {
      const cut = new AbortController();
      let left = 1 + random.int(3);
      const save = (now: Pages): Promise<void> => {
        from = JSON.parse(JSON.stringify(now)) as Pages;
        if (--left === 0) cut.abort();
        return Promise.resolve();
      };
      const options = { ...OPTIONS, signal: cut.signal, from, save, pageSize: 7 };
      ended = await verifyPages(loaded, services, options).then(
        () => true,
        (error: unknown) => {
          if (!cut.signal.aborted) throw error;
          return false;
        },
      );
    }
    const { differences } = await verify(loaded, services, OPTIONS);
    found[name] = {
      pages: Object.keys(from.differences).toSorted(),
      atOnce: differences.map(({ container, document }) => `${container} ${document}`).toSorted(),
    };
  }
  return found;
}

async function derived(context: Pick<TestContext, 'onTestFinished'>) {
  const { stage, application, host } = await given(context, SHARDS, { seed: SEED });
  for (let n = 0; n < 36; n++)
    await application.order(`s${n % 3}`, SHARDS[n % 3] ?? '', `o${n}`, n, {
      placedAt: `2026-01-0${1 + (n % 4)}T10:00:00.000Z`,
    });
  const app = await host();
  await app.drained(signal);
  return { stage, app, host };
}

it(`a verification by pages finds in each place what a comparison of everything finds, wherever it ended between (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  const { stage, app } = await derived(context);
  await app.stop();
  const clean = await both(stage, random);
  expect(clean).toEqual(
    Object.fromEntries(['global', ...SHARDS].map((name) => [name, { pages: [], atOnce: [] }] as const)),
  );
  const pick = async (at: SpreadStage['container'], name: string) => {
    const query = "SELECT * FROM c WHERE NOT STARTSWITH(c.type, 'millrace.')";
    return random.pick((await at(name).items.query<{ id: string }>(query).fetchAll()).resources);
  };
  const whole = (of: string) => stage.container(of);
  for (let n = 0; n < 8; n++) {
    const shard = random.pick(SHARDS);
    const [at, name] = random.pick([
      [whole, 'AllOrders'] as const,
      [whole, 'Totals'] as const,
      [(of: string) => stage.at(shard, of), 'Summaries'] as const,
      [(of: string) => stage.at(shard, of), 'ShardCountries'] as const,
    ]);
    const one = await pick(at, name);
    await at(name).items.upsert({ ...one, cents: -1, name: 'wrong' });
  }
  // Documents that nothing is the source of, and one that is missing.
  await stage
    .container('AllOrders')
    .items.create({ id: 'x', type: 'listed', day: '2026-01-01', storeId: 's9', cents: 1 });
  await stage.at('west', 'Summaries').items.create({ id: 'x', type: 'summary', storeId: 's1', cents: 1 });
  await stage.at('east', 'Summaries').item('o2', 's2').delete();
  const spoilt = await both(stage, random);
  for (const { pages, atOnce } of Object.values(spoilt)) expect(pages).toEqual(atOnce);
  expect(spoilt['global']?.pages).toContain('AllOrders ["2026-01-01","x"]');
  expect(spoilt['west']?.pages).toContain('Summaries ["s1","x"]');
  expect(spoilt['east']?.pages).toContain('Summaries ["s2","o2"]');
});

it('a document counts once while two shards have it, and not where a move has taken it away', async (context) => {
  const random = new Random(SEED);
  const { stage, app } = await derived(context);
  const moving = orderOf('s0', 'o0', 0, { placedAt: '2026-01-01T10:00:00.000Z' });
  const { resource } = await stage.at('north', 'Orders').item('o0', 's0').read<{ _lsn: number }>();
  const mark = { epoch: 1, lsn: resource?._lsn ?? 1 };
  // The copy is on the target, the source still has the document.
  await stage.at('west', 'Orders').items.create({ ...moving, _mr: movedOwn(undefined, mark, { ...moving }) });
  await app.drained(signal);
  const nothing = { pages: [], atOnce: [] };
  expect(await both(stage, random, ['global'])).toEqual({ global: nothing });
  // The application writes it on the target; the source has the older one, then the marker of it.
  await stage.at('west', 'Orders').items.upsert({ ...moving, cents: 700 });
  await app.drained(signal);
  expect(await both(stage, random, ['global'])).toEqual({ global: nothing });
  const gone = { ...moving, _mr: movedOwn(undefined, { ...mark, gone: true }, { ...moving }) };
  await stage.at('north', 'Orders').items.upsert(gone);
  await app.drained(signal);
  await app.stop();
  const found = await both(stage, random);
  expect([found['global'], found['north'], found['west']]).toEqual([nothing, nothing, nothing]);
  expect(
    (await stage.container('AllOrders').item('s0-o0', '2026-01-01').read<{ cents: number }>()).resource?.cents,
  ).toBe(700);
});

/** The schedule has begun long ago. */
async function letWeeksPass(stage: SpreadStage): Promise<void> {
  const state = stage.container('millrace');
  const documents = { query: "SELECT * FROM c WHERE ENDSWITH(c.id, '~due')" };
  for (const one of (await state.items.query(documents).fetchAll()).resources)
    await state.items.upsert({ ...one, since: '2026-01-01T00:00:00.000Z' });
}

it('a place that can’t be verified keeps no other place from its turn', async (context) => {
  const { stage, app } = await derived(context);
  await app.stop();
  const said: string[] = [];
  const settings = { ...stage.settings, verify: { whole: '0 4 * * 0' } };
  const workspace = {
    ...openWorkspace({ directory: import.meta.dirname }),
    settings: () => settings,
    services: () => Promise.resolve(stage.services),
    pipeline: () => Promise.resolve(stage.loaded),
  };
  const of = {
    workspace,
    actor: 'tester',
    signal,
    screen: { ...screen, line: (text: string) => void said.push(text) },
  };
  for (const { workspace: at } of (await operationPlaces(workspace, 'projections verify --due', 'every', undefined)) ??
    [])
    await verifyDue({ ...of, workspace: at });
  await letWeeksPass(stage);
  await stage.at('north', 'Summaries').delete();
  const end = startVerifying(of, 1);
  await vi.waitUntil(() => said.some((line) => line.startsWith('east:')), 30_000);
  await end();
  expect(said.slice(0, 4)).toEqual([
    expect.stringMatching(/^shop: Verified all documents, \d+ sink documents: no difference\.$/),
    expect.stringMatching(/^north: The verification by the schedule failed: /),
    expect.stringMatching(/^west: Verified all documents, \d+ sink documents: no difference\.$/),
    expect.stringMatching(/^east: Verified all documents, \d+ sink documents: no difference\.$/),
  ]);
});

it('the schedule verifies all documents of each place, and status and metrics show each', async (context) => {
  const { stage, app, host } = await derived(context);
  await app.stop();
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  vi.stubEnv('VERIFY_SAMPLE', 'off');
  vi.stubEnv('VERIFY_FULL', '0 4 * * 0');
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const millrace = async (...args: string[]) => {
    const { code, stdout } = await cli([...args, '--json', '--pipeline', SPREAD]);
    return { code, places: (JSON.parse(stdout) as { places: { place: string; value: unknown }[] }).places };
  };
  const due = () => millrace('projections', 'verify', '--due');
  expect((await due()).places.map(({ value }) => value)).toEqual([[], [], [], []]);
  await letWeeksPass(stage);
  const state = stage.container('millrace');
  await stage.container('AllOrders').item('s1-o1', '2026-01-02').delete();
  await stage.at('west', 'Summaries').item('o1', 's1').delete();
  const results = [
    ['shop', { different: 1, examples: ['AllOrders ["2026-01-02","s1-o1"]'] }],
    ['north', { different: 0 }],
    ['west', { different: 1, examples: ['Summaries ["s1","o1"]'] }],
    ['east', { different: 0 }],
  ] as const;
  const first = await due();
  expect([first.code, first.places]).toMatchObject([
    1,
    results.map(([place, result]) => ({ place, value: [{ kind: 'whole', result }] })),
  ]);
  // Nothing is due, but what differs stands.
  const second = await due();
  expect(second.code).toBe(1);
  expect(second.places.map(({ value }) => (value as unknown[]).length)).toEqual([1, 0, 1, 0]);
  expect((await millrace('status')).places).toMatchObject(
    results.map(([place, verified]) => ({ place, value: { verified } })),
  );
  const again = await host('metrics');
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 3_600_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const end = startVerificationMetrics(state, () => again.places(), { meterProvider });
  await vi.waitUntil(() => again.places().length === results.length, 30_000);
  const { resourceMetrics } = await reader.collect();
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      descriptor.name === 'millrace.verification.differences'
        ? dataPoints.map(({ attributes, value }) => [attributes['shard'] ?? 'shop', value] as const)
        : [],
    ),
  );
  expect(Object.fromEntries(points)).toEqual(
    Object.fromEntries(results.map(([place, { different }]) => [place, different])),
  );
  end();
  await meterProvider.shutdown();
});
