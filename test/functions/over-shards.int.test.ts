// A pipeline over shards in function apps, one for each place, with the leases that the hosts of `millrace run` have.
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { ridOf } from '../../src/cosmos/rid.ts';
import { type RunningTrigger, cosmosTriggers, runCosmosTrigger } from '../../src/host/local-host/cosmos-triggers.ts';
import { rows } from '../runtime/application.ts';
import { assertExact, given } from '../runtime/spread-world.ts';
import { SPREAD, type SpreadStage } from '../support/spread-stage.ts';
import { type FunctionsHost, indexApp } from './host.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const PATIENCE = { timeout: 60_000, interval: 50 };
/** Not a form that the host rewrites: such a document is read again, after the lag of reads. */
const DATED = { placedAt: '2026-01-01' };
const HTTP = ['millrace-health', 'millrace-operate', 'millrace-read'];

/** The settings of a place's app. */
async function settingsOf(stage: SpreadStage, database: string): Promise<Record<string, string>> {
  const place = { ...stage.env, MILLRACE_PIPELINE: SPREAD, SHARD_DATABASE: database, SHARD_RID: '' };
  if (database === stage.settings.database) return place;
  return { ...place, SHARD_RID: await ridOf(stage.at(database, 'Orders').database) };
}

interface RunningApp {
  readonly app: FunctionsHost;
  /** How many documents each trigger was given. */
  readonly delivered: ReadonlyMap<string, number>;
}

/** Runs the apps of places side by side, as the Functions host would, until `done` holds. */
async function runApps<const P extends string>(
  stage: SpreadStage,
  places: readonly P[],
  done: (apps: Readonly<Record<P, RunningApp>>) => Promise<void>,
): Promise<void> {
  const apps: [P, RunningApp][] = [];
  const triggers: RunningTrigger[] = [];
  const { signal } = new AbortController();
  try {
    for (const [at, database] of places.entries()) {
      const settings = await settingsOf(stage, database);
      const app = await indexApp(settings, at === 0 ? undefined : database);
      const health = await app.request('millrace-health');
      expect(health).toMatchObject({ status: 200, body: { ready: true } });
      const delivered = new Map<string, number>();
      apps.push([database, { app, delivered }]);
      const deliver = async (name: string, documents: readonly unknown[], retryCount: number): Promise<void> => {
        delivered.set(name, (delivered.get(name) ?? 0) + documents.length);
        await app.deliver(name, documents, { retryCount });
        // The host may deliver any batch twice. Those of other feeds wait for the lag of reads.
        if (['feed-Orders', 'feed-Totals'].includes(name)) await app.deliver(name, documents, { retryCount });
      };
      for (const trigger of cosmosTriggers(app.functions, settings))
        triggers.push(await runCosmosTrigger({ ...trigger, pollMs: 20 }, { deliver, say: () => undefined, signal }));
    }
    await done(Object.fromEntries(apps) as Record<P, RunningApp>);
  } finally {
    for (const trigger of triggers) await trigger[Symbol.asyncDispose]();
    await apps.at(-1)?.[1].app.terminate();
  }
}

const assertDerived = async (stage: SpreadStage, shard: string, orders: readonly string[]): Promise<void> => {
  const summaries = await rows<{ id: string }>(stage.at(shard, 'Summaries'), 'c.id, c.countryName');
  expect(summaries.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
    orders.map((id) => ({ id, countryName: 'Austria' })),
  );
  expect(await rows(stage.at(shard, 'StoreCountries'), 'c.id')).toHaveLength(2);
};

it('an app over shards derives in each place by its own app, exactly once, and goes on after `millrace run` and before it', async (context) => {
  const { stage, application, host } = await given(context, ['north', 'west']);
  await application.order('s0', 'north', 'o1', 100, DATED);
  await application.order('s1', 'west', 'o1', 20, DATED);
  await runApps(stage, ['north', 'west', 'shop'], async (apps) => {
    await vi.waitFor(async () => {
      await assertExact(stage, application);
      await assertDerived(stage, 'north', ['o1']);
      await assertDerived(stage, 'west', ['o1']);
    }, PATIENCE);
    const feeds = ['Countries', 'Customers', 'Orders', 'ShardCountries', 'Stores'].map((name) => `feed-${name}`);
    for (const place of ['north', 'west'] as const) expect([...apps[place].delivered.keys()].toSorted()).toEqual(feeds);
    expect([...apps.shop.delivered.keys()]).toEqual(['feed-Totals']);
    expect(apps.north.delivered.get('feed-Orders')).toBe(1);
  });

  await application.order('s0', 'north', 'o1', 7, DATED);
  await application.order('s1', 'west', 'o2', 3, DATED);
  const app = await host();
  await app.drained(new AbortController().signal);
  await assertExact(stage, application);
  // Nothing is read from the beginning, in no place.
  const read = new Map(app.stats().map(({ id, changes }) => [id, changes]));
  expect([read.get('all-orders@1'), read.get('shard-countries@1'), read.get('store-countries@1')]).toEqual([2, 0, 0]);
  await app.stop();

  await application.order('s1', 'west', 'o2', 4, DATED);
  await runApps(stage, ['west', 'shop'], async ({ west, shop }) => {
    await vi.waitFor(() => assertExact(stage, application), PATIENCE);
    expect(west.delivered).toEqual(new Map([['feed-Orders', 1]]));
    // The timers work in the app's place alone, and find the leases of all its feeds.
    for (const [{ app: functions }, has, lacks] of [
      [west, 'summaries@1', 'years@1'],
      [shop, 'years@1', 'summaries@1'],
    ] as const) {
      for (const timer of ['metrics', 'leases-check']) await functions.fire(timer);
      const lines = functions.logged.flatMap((text) => /\{.*"operation".*/.exec(text) ?? []);
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
        expect.objectContaining({ operation: 'status', ok: true }),
        expect.objectContaining({ operation: 'leases list', ok: true }),
      ]);
      expect(lines[0]).toContain(has);
      expect(lines[0]).not.toContain(lacks);
    }
  });
});

it('an app over shards has the timers of its place, and the workers of jobs in the global place alone', async (context) => {
  const { stage } = await given(context, ['north']);
  const namesOf = async (database: string) => {
    const { functions } = await indexApp({ ...(await settingsOf(stage, database)), JOBS_URL: 'postgres://nowhere' });
    return functions
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('feed-'))
      .toSorted();
  };
  const timers = ['doctor', 'leases-check', 'metrics', 'verify', ...HTTP];
  expect(await namesOf('north')).toEqual(timers.toSorted());
  expect(await namesOf('shop')).toEqual(['jobs', ...timers].toSorted());
});

it('an app over shards names the bindings’ settings: the shard’s database, and its account where that is another one', async (context) => {
  const { stage } = await given(context, ['north']);
  const settings = await settingsOf(stage, 'north');
  const bindingOf = async (more: object) => {
    const { functions } = await indexApp({ ...settings, ...more });
    const found = (name: string) => Object.values(functions.find((of) => of.name === name)?.bindings ?? {})[0];
    return { orders: found('feed-Orders'), countries: found('feed-Countries') };
  };
  expect(await bindingOf({})).toMatchObject({
    orders: { connection: 'COSMOS', databaseName: '%SHARD_DATABASE%', leaseContainerPrefix: 'spread.Orders.' },
    countries: {
      connection: 'COSMOS',
      databaseName: '%COSMOS_DATABASE%',
      leaseContainerPrefix: `spread.Countries.at-${settings['SHARD_RID']}.`,
    },
  });
  expect(await bindingOf({ SHARD_COSMOS: stage.emulator.connectionString })).toMatchObject({
    orders: { connection: 'SHARD_COSMOS', databaseName: '%SHARD_DATABASE%' },
    countries: { connection: 'COSMOS', databaseName: '%COSMOS_DATABASE%' },
  });
});

it.each([
  [
    'an unknown place',
    { SHARD_DATABASE: 'nowhere' },
    'app-place-unknown',
    /north, west, shop \(the global place\)/,
    /^(?!.*north)/,
  ],
  ['no rid', { SHARD_RID: '' }, 'app-place-invalid', /Countries/, /Countries/],
  ['the rid of another database', { SHARD_RID: 'AAAA' }, 'app-place-invalid', /Countries/, /Countries/],
  ['no map', { SHARD_MAPS_DATABASE: '' }, 'setting-missing', /SHARD_MAPS_DATABASE/, /SHARD_MAPS_DATABASE/],
])('an app over shards applies nothing, and says why: %s', async (_, wrong, code, hint, openly) => {
  const { stage, application } = await given({ onTestFinished }, ['north', 'west']);
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await application.order('s0', 'north', 'o1', 100, DATED);
  const app = await indexApp({ ...(await settingsOf(stage, 'north')), ...wrong });
  const batch = (await stage.at('north', 'Orders').items.readAll().fetchAll()).resources;
  await expect(app.deliver('feed-Orders', batch)).rejects.toMatchObject({ code, hint: expect.stringMatching(hint) });
  // Health needs no key.
  expect(await app.request('millrace-health')).toMatchObject({
    status: 503,
    body: { ready: false, problems: [{ code, hint: expect.stringMatching(openly) }] },
  });
  await app.terminate();
  expect(await rows(stage.at('north', 'Summaries'), 'c.id')).toEqual([]);
});

it('an app over shards has no trigger if it names no place, and says so', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  const app = await indexApp({ MILLRACE_PIPELINE: SPREAD, SHARD_DATABASE: '' });
  expect(app.functions.map(({ name }) => name).toSorted()).toEqual(HTTP);
  expect(said).toHaveBeenCalledWith(expect.stringContaining('SHARD_DATABASE names no place'));
  expect(await app.request('millrace-health')).toMatchObject({
    status: 503,
    body: { ready: false, problems: [{ code: 'app-place-invalid', hint: expect.stringContaining('an app for each') }] },
  });
});
