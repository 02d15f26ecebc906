// Verbs on a pipeline over shards.
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { setImmediate } from 'node:timers/promises';
import { type TestContext, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { startLetterMetrics } from '../../src/host/run/host-metrics.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { defineOperation } from '../../src/verbs/operation.ts';
import { projectionsVerify } from '../../src/verbs/projections/verify.operation.ts';
import { cli } from '../cli/cli.ts';
import { rows } from '../runtime/application.ts';
import { given } from '../runtime/spread-world.ts';
import { SPREAD } from '../support/spread-stage.ts';

const { signal } = new AbortController();
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

async function derived(context: Pick<TestContext, 'onTestFinished'>) {
  const world = await given(context, ['north', 'west']);
  const { stage, application, host } = world;
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  const app = await host();
  await app.drained(signal);
  await app.stop();
  return { ...world, millrace: (...args: string[]) => cli([...args, '--pipeline', SPREAD]) };
}

interface Places {
  readonly places: readonly {
    readonly place: string;
    readonly global: boolean;
    readonly ok: boolean;
    readonly value: Verified;
  }[];
}
interface Verified {
  readonly different: number;
  readonly projections: readonly { readonly id: string; readonly expected: number }[];
  readonly differences: readonly { readonly container: string; readonly kind: string }[];
  readonly repaired: { readonly repaired: number } | null;
}

it('what compares and changes nothing works in all places at once, and what changes them in one after the other', async (context) => {
  const { stage } = await given(context, ['north', 'west']);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const workspace = openWorkspace({ directory: process.cwd(), pipeline: SPREAD });
  context.onTestFinished(() => workspace.close());
  let most = 0;
  const together = async (effect: 'reads' | 'changes', sideBySide?: () => boolean) => {
    let now = 0;
    most = 0;
    const { value } = await defineOperation({
      name: 'try',
      summary: 'Try',
      examples: [],
      shards: 'every',
      effect,
      ...(sideBySide && { sideBySide }),
      input: z.object({}),
      run: async (_, { place }) => {
        most = Math.max(most, (now += 1));
        await setImmediate();
        now -= 1;
        return place;
      },
      format: () => '',
    }).run({}, { workspace, actor: 'me', signal, screen });
    expect((value as Places).places.map((one) => [one.place, one.value])).toEqual([
      ['shop', 'shop'],
      ['north', 'north'],
      ['west', 'west'],
    ]);
    return most;
  };
  expect([await together('reads'), await together('changes'), await together('changes', () => true)]).toEqual([
    3, 1, 3,
  ]);
  const { sideBySide } = projectionsVerify;
  expect([sideBySide?.({ repair: false }), sideBySide?.({ repair: true })]).toEqual([true, false]);
});

it('verify finds what differs in a shard and in the global place, with the documents of all shards', async (context) => {
  const { stage, millrace } = await derived(context);
  const verify = async (...args: string[]) => {
    const { code, stdout } = await millrace('projections', 'verify', ...args, '--json');
    return { code, ...(JSON.parse(stdout) as Places) };
  };
  const right = await verify();
  expect([right.code, right.places.map(({ place, ok }) => [place, ok])]).toEqual([
    0,
    [
      ['shop', true],
      ['north', true],
      ['west', true],
    ],
  ]);
  expect(right.places[0]?.value.projections).toEqual([
    expect.objectContaining({ id: 'years@1', expected: 1 }),
    expect.objectContaining({ id: 'totals@1', expected: 1 }),
    expect.objectContaining({ id: 'all-orders@1', expected: 2 }),
  ]);
  const [{ resource: total }] = [
    await stage.container('Totals').item('total|2026-01-01', '2026-01-01').read<{ cents: number }>(),
  ];
  await stage.container('Totals').items.upsert({ ...total, cents: 1 });
  await stage.at('west', 'Summaries').item('o1', 's1').delete();
  const wrong = await verify();
  expect(wrong.code).toBe(1);
  expect(
    wrong.places.map(({ place, value }) => [
      place,
      value.differences.map(({ container, kind }) => `${kind} ${container}`),
    ]),
  ).toEqual([
    ['shop', ['different Years', 'different Totals']],
    ['north', []],
    ['west', ['missing Summaries']],
  ]);
  const only = (await millrace('projections', 'verify', '--shard', 'west', '--json')).stdout;
  expect((JSON.parse(only) as Verified).different).toBe(1);
});

it('verify --repair corrects each place, the global place from the documents of all shards', async (context) => {
  const { stage, millrace } = await derived(context);
  const totals = stage.container('Totals');
  const { resource: total } = await totals.item('total|2026-01-01', '2026-01-01').read<{ cents: number }>();
  await totals.items.upsert({ ...total, cents: 1 });
  await stage.container('AllOrders').item('s1-o1', '2026-01-01').delete();
  await stage.at('west', 'Summaries').item('o1', 's1').delete();
  await stage.at('north', 'ShardCountries').item('AT', 'AT').delete();
  await stage.at('north', 'StoreCountries').item('AT', 's0').delete();
  const repair = async (...args: string[]) => {
    const { code, stdout } = await millrace('projections', 'verify', '--repair', '--json', ...args);
    return { code, ...(JSON.parse(stdout) as Places) };
  };
  const plan = (await millrace('projections', 'verify', '--repair', '--dry-run')).stdout;
  expect(plan).toMatch(/global place shop: read about \d+ documents[^]*shard north: read about \d+ documents/);
  const { code, places } = await repair();
  expect([code, places.map(({ place, value }) => [place, value.different, value.repaired?.repaired ?? 0])]).toEqual([
    0,
    [
      // With the year that derives from the total.
      ['shop', 0, 3],
      // With the summary that joins the country.
      ['north', 0, 3],
      ['west', 0, 1],
    ],
  ]);
  expect((await rows<{ cents: number }>(totals, 'c.cents'))[0]?.cents).toBe(120);
  expect((await repair()).code).toBe(0);
});

it('verify --sample and --tenant compare in each place, and name what differs', async (context) => {
  const { stage, millrace } = await derived(context);
  const verify = async (...args: string[]) => {
    const { code, stdout } = await millrace('projections', 'verify', '--json', ...args);
    const { places } = JSON.parse(stdout) as Places;
    return [code, ...places.map(({ value }) => value.differences.map(({ container, kind }) => `${kind} ${container}`))];
  };
  expect(await verify('--sample', '100%')).toEqual([0, [], [], []]);
  expect(await verify('--tenant', 's1')).toEqual([0, [], [], []]);
  await stage.container('AllOrders').item('s1-o1', '2026-01-01').delete();
  await stage.at('west', 'Summaries').item('o1', 's1').delete();
  expect(await verify('--sample', '100%')).toEqual([1, ['missing AllOrders'], [], ['missing Summaries']]);
  expect(await verify('--sample', '1000')).toEqual([1, ['missing AllOrders'], [], ['missing Summaries']]);
  expect(await verify('--tenant', 's0')).toEqual([0, [], [], []]);
  expect(await verify('--tenant', 's1')).toEqual([1, ['missing AllOrders'], [], ['missing Summaries']]);
  expect(await verify('summaries', '--tenant', 's1')).toEqual([1, [], [], ['missing Summaries']]);
  const repaired = await millrace('projections', 'verify', '--repair', 'summaries', '--key', '["s1"]');
  expect([repaired.code, repaired.stdout]).toEqual([0, expect.stringContaining('Repaired 1 of 1 difference')]);
  expect(await verify('--tenant', 's1')).toEqual([1, ['missing AllOrders'], [], []]);
});

it('the schedule verifies a sample of each place', async (context) => {
  const { stage, millrace } = await derived(context);
  vi.stubEnv('VERIFY_SAMPLE', '0 3 * * *');
  vi.stubEnv('VERIFY_FULL', 'off');
  const due = async () => JSON.parse((await millrace('projections', 'verify', '--due', '--json')).stdout) as Places;
  // The first look begins the schedule.
  expect((await due()).places.map(({ value }) => value)).toEqual([[], [], []]);
  const documents = { query: "SELECT * FROM c WHERE ENDSWITH(c.id, '~due')" };
  const state = stage.container('millrace');
  for (const one of (await state.items.query(documents).fetchAll()).resources)
    await state.items.upsert({ ...one, since: '2026-01-01T00:00:00.000Z' });
  await stage.at('west', 'Summaries').item('o1', 's1').delete();
  const { places } = await due();
  expect(places.map(({ place, ok, value }) => [place, ok, value])).toEqual([
    ['shop', true, [expect.objectContaining({ kind: 'sample' })]],
    ['north', true, [expect.objectContaining({ kind: 'sample' })]],
    ['west', false, [expect.objectContaining({ result: expect.objectContaining({ different: 1 }) })]],
  ]);
});

it('a verb refuses what would see one place alone, and names the places', async (context) => {
  const { millrace } = await derived(context);
  const { code, stderr } = await millrace('projections', 'rerun', 'x', '--ids', 'o1', '--key', '["s1"]', '--yes');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('`millrace projections rerun` can’t work on a pipeline over shards'),
  ]);
  expect((await millrace('audit')).code).toBe(0);
  expect((await millrace('dead-letters', 'redrive')).stderr).toContain('Name it with --shard');
  expect((await millrace('status', '--shard', 'wset')).stderr).toContain('did you mean west?');
  const flights = await cli(['status', '--shard', 'west', '--pipeline', 'examples/flights']);
  expect([flights.code, flights.stderr]).toEqual([
    2,
    expect.stringMatching(/flights is not over shards\n[^]*--pipeline/),
  ]);
});

it('plan compares with what is deployed in each place, and with --shard in one', async (context) => {
  const { millrace } = await derived(context);
  interface Plan {
    readonly places: readonly {
      readonly place: string;
      readonly global: boolean;
      readonly deployed: readonly { readonly id: string; readonly state: string }[];
    }[];
  }
  const plan = async (...args: string[]) => {
    const { code, stdout } = await millrace('plan', '--against', 'deployed', '--json', ...args);
    return { code, ...(JSON.parse(stdout) as Plan) };
  };
  const { code, places } = await plan();
  expect([code, places.map(({ place, global }) => [place, global])]).toEqual([
    0,
    [
      ['shop', true],
      ['north', false],
      ['west', false],
    ],
  ]);
  const [shop, north] = places.map(({ deployed }) => deployed.map(({ id, state }) => `${id} ${state}`));
  expect(shop).toContain('years@1 unchanged');
  expect(north).toContain('summaries@1 unchanged');
  expect(north).not.toContain('years@1 unchanged');
  expect(new Set(places.flatMap(({ deployed }) => deployed.map(({ state }) => state)))).toEqual(new Set(['unchanged']));
  expect((await plan('--shard', 'west')).places).toEqual([places[2]]);
  expect((await millrace('plan', '--against', 'deployed', '--shard', 'west')).stdout).toContain(
    'Against what is deployed in the shard west:',
  );
  expect(await millrace('plan', '--shard', 'west')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--shard is given without --against deployed'),
  });
  expect(await millrace('plan', '--against', 'deployed', '--shard', 'wst')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean west'),
  });
});

it('shards init prepares a database for the pipeline, so that it can become a shard', async (context) => {
  const { stage, millrace } = await derived(context);
  expect((await millrace('shards', 'add', 'tenants', '--shard', 'south')).code).not.toBe(0);
  const init = ['shards', 'init', '--shard', 'south'];
  expect((await millrace(...init, '--dry-run')).stdout).toMatch(
    /create database south\n[^]*create container Summaries/,
  );
  expect(await millrace(...init)).toMatchObject({ code: 0 });
  expect((await millrace(...init)).stdout).toContain('Everything is there already.');
  expect(await millrace('shards', 'add', 'tenants', '--shard', 'south')).toMatchObject({ code: 0 });
  expect((await stage.map.shards()).map(({ location }) => location.database).toSorted()).toContain('south');
  expect((await millrace('model', 'apply', '--dry-run')).stdout).not.toContain('create');
});

it('`dead-letters` shows and resolves each shard’s dead letters', async (context) => {
  const { stage, application, millrace, host } = await derived(context);
  await application.order('s1', 'west', 'bad', 1, { placedAt: 5 as never });
  const app = await host('again');
  await app.drained(signal);
  await app.stop();
  const status = await millrace('status');
  expect(status.stdout).toMatch(/── shard west\n(.*\n)*?totals@1 +current +[\d.]* +1 /);
  expect((await millrace('dead-letters', 'list')).stdout).toMatch(
    /── shard north\nNo dead letters\.\n\n── shard west\ncode/,
  );
  await stage
    .at('west', 'Orders')
    .items.upsert({ ...application.orders.get('s1-bad'), placedAt: '2026-01-03T10:00:00Z' });
  const { code, stdout } = await millrace('dead-letters', 'redrive', '--shard', 'west');
  expect([code, stdout]).toEqual([0, expect.stringContaining('2 dead letters resolved')]);
  expect((await millrace('doctor')).stdout).not.toContain('BAD');
  expect((await millrace('model', 'apply', '--dry-run')).stdout).toContain('Nothing to do.');
});

it('a checkpoint has the positions of all places, and a shard’s leases go back alone', async (context) => {
  const { stage, application, millrace, host } = await derived(context);
  const saved = await millrace('checkpoints', 'save', 'before', '--json');
  const { sets } = JSON.parse(saved.stdout) as { sets: readonly { container: string; rid: string }[] };
  const orders = sets.filter(({ container }) => container === 'Orders');
  expect([saved.code, orders.length, new Set(orders.map(({ rid }) => rid)).size]).toEqual([0, 2, 2]);
  expect(sets.some(({ container }) => container === 'Totals')).toBe(true);
  expect((await millrace('checkpoints', 'list')).stdout).toContain('before');
  await application.order('s1', 'west', 'o1', 25);
  const app = await host('after');
  await app.drained(signal);
  await app.stop();
  const replayed = ['projections', 'replay', 'all-orders', '--checkpoint', 'before'];
  expect((await millrace(...replayed, '--dry-run')).stdout).toContain('apply 1 change to all-orders@1');
  expect(JSON.parse((await millrace(...replayed, '--json')).stdout)).toMatchObject({ changes: 1 });
  expect((await millrace('leases', 'rewind', '--to', 'beginning')).stderr).toContain('Name it with --shard');
  const rewind = ['leases', 'rewind', '--to', 'checkpoint:before', '--shard', 'west', '--lease-expiration', '100'];
  const plan = (await millrace(...rewind, '--dry-run')).stdout;
  expect(plan).toContain('shard west: raise the epoch');
  const { code, stdout } = await millrace(...rewind, '--json');
  const { moved } = JSON.parse(stdout) as { moved: readonly { text: string }[] };
  expect([code, moved.map(({ text }) => text)]).toEqual([0, [expect.stringContaining('Orders')]]);
  await stage.container('AllOrders').item('s1-o1', '2026-01-01').delete();
  await application.order('s1', 'west', 'o2', 5);
  const again = await host('again');
  await again.drained(signal);
  await again.stop();
  expect((await millrace('projections', 'verify')).code).toBe(0);
  expect((await millrace('checkpoints', 'delete', 'before', '--yes')).code).toBe(0);
});

it('dead letters are reported with the shard that has them', async (context) => {
  const { application, host } = await derived(context);
  await application.order('s1', 'west', 'bad', 1, { placedAt: 5 as never });
  const app = await host('metrics');
  await app.drained(signal);
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 3_600_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const end = startLetterMetrics(() => app.places(), { meterProvider });
  const { resourceMetrics } = await reader.collect();
  const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.flatMap(({ attributes, value }) =>
        descriptor.name === 'millrace.dead_letters' && attributes['projection'] === 'totals@1'
          ? [[attributes['shard'], value] as const]
          : [],
      ),
    ),
  );
  expect(new Map(points)).toEqual(
    new Map([
      ['north', 0],
      ['west', 1],
    ]),
  );
  end();
  await meterProvider.shutdown();
});

it('trace of a document of a shard has what the global place derived from it', async (context) => {
  const { stage, millrace } = await derived(context);
  const states = async () => {
    const { code, stdout, stderr } = await millrace('trace', 'Orders', 's1', 'o1', '--shard', 'west', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { projections } = JSON.parse(stdout) as { projections: readonly { id: string; state: string }[] };
    return Object.fromEntries(projections.map(({ id, state }) => [id, state]));
  };
  const found = await states();
  expect(found).toMatchObject({ 'totals@1': 'applied', 'summaries@1': 'applied' });
  await stage.container('Totals').item('total|2026-01-01', '2026-01-01').delete();
  expect(await states()).toEqual({ ...found, 'totals@1': 'missing' });
});
