// Versions of projections on a pipeline over shards: SPREAD-V1 to SPREAD-V5.
import { type TestContext, expect, it, vi } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { MoveRecord } from '../../../src/procedures/move/record.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { encodeKey } from '../../../src/shards/keys/key-type.ts';
import { cli } from '../../cli/cli.ts';
import { rows } from '../../runtime/application.ts';
import { given } from '../../runtime/spread-world.ts';
import {
  SPREAD_VERSIONS,
  optionsOver,
  ordersOf,
  ownLeases,
  summariesOf,
  totalsOf,
  without,
} from '../../verbs/projections/spread-versions.ts';
import { fast } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
const SHARDS = ['north', 'west', 'east'];

async function world(context: Pick<TestContext, 'onTestFinished'>, shards = SHARDS) {
  const made = await given(context, shards, { folder: SPREAD_VERSIONS });
  const { stage, application } = made;
  for (const [at, shard] of shards.entries())
    for (let n = 0; n < 5; n++)
      await application.order(`s${at}`, shard, `o${n}`, 10 * at + n, { placedAt: `2026-01-0${1 + (n % 2)}T10:00:00Z` });
  const views = new Views(stage.services.global.state, stage.loaded.pipeline.name);
  return { ...made, at: (id: string) => optionsOver(stage, id, signal), views };
}

it('a projection that is declared later is filled from all shards and promoted once', async (context) => {
  const { stage, application, host, at, views } = await world(context);
  const before = await compose({ ...stage, ...fast, loaded: without(stage, ['all-orders@1']), host: 'before' });
  await before.start();
  await before.drained(signal);
  await before.stop();
  const app = await host();
  await application.order('s1', 'west', 'later', 7);
  await app.drained(signal);
  // It was never built, so no host applies it.
  expect(await rows(stage.container('AllOrders'), 'c.id')).toEqual([]);
  expect(await rebuild(at('all-orders@1'))).toMatchObject({ changes: 16, parked: 0, resumed: false });
  await application.order('s2', 'east', 'meanwhile', 7);
  expect(await promote(at('all-orders@1'))).toMatchObject({ projection: 'all-orders@1', previous: null });
  await application.order('s0', 'north', 'afterwards', 7);
  await app.drained(signal);
  const found = await rows<{ id: string }>(stage.container('AllOrders'), 'c.id');
  expect(found.map(({ id }) => id).toSorted()).toEqual(application.listed());
  expect((await views.read())?.['all-orders']).toMatchObject({ current: { version: 1 }, staged: null, promotions: 1 });
  expect(await ownLeases(stage, 'all-orders')).toEqual([]);
});

it('a new version is built in each shard, is current everywhere at once, and goes back', async (context) => {
  const { stage, application, host, at } = await world(context);
  const app = await host();
  await app.drained(signal);
  for (const id of ['summaries@2', 'totals@2', 'shard-countries@2']) {
    await rebuild(at(id));
    await promote({ ...at(id), keepMs: 3_600_000 });
  }
  await application.order('s0', 'north', 'kept', 99);
  await app.drained(signal);
  for (const [n, shard] of SHARDS.entries()) {
    for (const container of ['Summaries', 'SummariesNext'])
      expect(await summariesOf(stage, shard, container)).toEqual(ordersOf(application, `s${n}`));
    expect(await rows(stage.at(shard, 'ShardCountriesNext'), 'c.name')).toEqual([
      { name: 'AUSTRIA' },
      { name: 'GERMANY' },
    ]);
  }
  for (const container of ['Totals', 'TotalsNext'])
    expect(await totalsOf(stage, container)).toEqual(application.totals());
  for (const id of ['summaries@1', 'totals@1']) await promoteBack(at(id));
  await application.order('s2', 'east', 'back', 98);
  await app.drained(signal);
  expect(await summariesOf(stage, 'east', 'Summaries')).toEqual(ordersOf(application, 's2'));
  expect(await totalsOf(stage, 'Totals')).toEqual(application.totals());
  // The other version was not kept.
  expect(await totalsOf(stage, 'TotalsNext')).not.toEqual(application.totals());
  expect(await ownLeases(stage, '@')).toEqual([]);
});

it('a shard that is added after the filling, or while hosts stand still, has the version too', async (context) => {
  const { stage, application, at, views, host } = await world(context, ['north', 'west']);
  const fastHost = await host();
  await fastHost.drained(signal);
  await rebuild(at('summaries@2'));
  await rebuild(at('totals@2'));
  await stage.addShard('east');
  await application.open('s2', 'east');
  await application.order('s2', 'east', 'first', 5);
  await fastHost.drained(signal);
  await promote(at('summaries@2'));
  await fastHost.stop();
  // It sees a freeze late, and so reads the last shard before.
  const app = await compose({ ...stage, ...fast, shardsRefreshMs: 20, viewsRefreshMs: 4_000, host: 'late' });
  context.onTestFinished(() => app.stop());
  await app.start();
  await application.order('s2', 'east', 'second', 7);
  await app.drained(signal);
  const promoting = promote({ ...at('totals@2'), viewsRefreshMs: 4_000 });
  await vi.waitFor(async () => expect((await views.read())?.['totals']?.staged?.phase).toBe('frozen'), {
    timeout: 10_000,
    interval: 5,
  });
  await stage.addShard('south');
  await application.open('s3', 'south');
  await application.order('s3', 'south', 'first', 6);
  await promoting;
  await app.drained(signal);
  expect(await summariesOf(stage, 'east', 'SummariesNext')).toEqual(ordersOf(application, 's2'));
  expect(await summariesOf(stage, 'south', 'SummariesNext')).toEqual(ordersOf(application, 's3'));
  expect(await totalsOf(stage, 'TotalsNext')).toEqual(application.totals());
});

it('a version that is dropped leaves nothing in any place', async (context) => {
  const { stage, at, host } = await world(context);
  const app = await host();
  await app.drained(signal);
  for (const [name, version, container] of [
    ['summaries', 2, 'SummariesNext'],
    ['totals', 2, 'TotalsNext'],
  ] as const) {
    const options = at(`${name}@${version}`);
    await rebuild(options);
    const dropped = await drop({ ...options, name, version });
    expect(dropped.documents).toBeGreaterThan(0);
    const places = name === 'totals' ? [stage.container(container)] : SHARDS.map((shard) => stage.at(shard, container));
    for (const place of places) expect((await place.items.query('SELECT * FROM c').fetchAll()).resources).toEqual([]);
    const own = {
      query: 'SELECT * FROM c WHERE c.projection = @id',
      parameters: [{ name: '@id', value: `${name}@2` }],
    };
    for (const state of [stage.container('millrace'), ...SHARDS.map((shard) => stage.at(shard, 'millrace'))])
      expect((await state.items.query(own).fetchAll()).resources).toEqual([]);
    expect(await ownLeases(stage, `${name}@2`)).toEqual([]);
  }
});

it('the verbs work on the whole pipeline, and say what they will do', async (context) => {
  const { stage, application, host } = await world(context);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const millrace = (...args: string[]) => cli([...args, '--pipeline', SPREAD_VERSIONS]);
  const app = await host();
  await app.drained(signal);
  expect((await millrace('projections', 'rebuild', 'totals', '--dry-run')).stdout).toContain('read 15 documents');
  expect(await millrace('projections', 'rebuild', 'totals')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('15 changes into TotalsNext'),
  });
  expect((await millrace('projections', 'drop', 'totals@2', '--dry-run')).stdout).toContain(
    'documents of totals@2 from TotalsNext',
  );
  expect((await millrace('projections', 'list')).stdout).toMatch(/── shard west\n(.*\n)*?totals@2 .* filled/);
  expect(await totalsOf(stage, 'TotalsNext')).toEqual(application.totals());
  expect(await millrace('projections', 'drop', 'totals@2', '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('totals@2 is dropped'),
  });
});

it('a replay reads all shards, and that of a tenant only the shard that has it', async (context) => {
  const { stage, application, host } = await world(context);
  const app = await host();
  await app.drained(signal);
  await app.stop();
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const replayed = async (...args: string[]) => {
    const { stdout } = await cli(['projections', 'replay', ...args, '--json', '--pipeline', SPREAD_VERSIONS]);
    return (JSON.parse(stdout) as { changes: number }).changes;
  };
  const [north, west] = await stage.map.shards();
  if (!north || !west) throw new Error('There are no shards');
  await stage.map.createMapping({ key: 's0', shard: north });
  await stage.map.createMapping({ key: 's1', shard: west });
  expect(
    (await cli(['projections', 'replay', 'summaries', '--tenant', 's1', '--dry-run', '--pipeline', SPREAD_VERSIONS]))
      .stdout,
  ).toContain('6 changes');
  expect(await replayed('summaries', '--tenant', 's1')).toBe(6);
  expect(await replayed('summaries')).toBe(18);
  expect(await replayed('totals', '--from', '2020-01-01')).toBe(15);
  // It has no mapping, so any shard may have it.
  expect(await replayed('totals', '--tenant', 's2')).toBe(5);
  expect(await totalsOf(stage, 'Totals')).toEqual(application.totals());
  expect(await ownLeases(stage, 'replay')).toEqual([]);

  // While its key moves, the shard that is read may lack a part of it.
  const [from, to] = [west.id, north.id];
  const code = encodeKey(stage.map.keyType, 's1');
  const move = { map: stage.map.name, keys: '"s1"', low: code, high: code, from, to, containers: {} };
  const record = await MoveRecord.begin(stage.at('maps', 'shardmaps'), move);
  expect(
    await cli(['projections', 'replay', 'summaries', '--tenant', 's1', '--pipeline', SPREAD_VERSIONS]),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is under way: copying') as string,
  });
  expect(await replayed('summaries', '--tenant', 's0')).toBe(6);
  await record.save({ step: 'done' });
  expect(await replayed('summaries', '--tenant', 's1')).toBe(6);
});
