// An archive whose documents are in the shards.
import { join } from 'node:path';
import { type TestContext, afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ArchivePeriod } from '../../../src/verbs/archive/list.operation.ts';
import { compactArchive } from '../../../src/archive/compact.ts';
import { Holds } from '../../../src/archive/holds.ts';
import { partOf } from '../../../src/pipeline/places.ts';
import { openTogether } from '../../../src/procedures/archive/open-together.ts';
import { openArchives } from '../../../src/procedures/archive/open.ts';
import type { ArchiveVerification, CopyResult, RestoreResult, SweepResult } from '../../../src/archive/types.ts';
import { cli } from '../../cli/cli.ts';
import { rows } from '../../runtime/application.ts';
import { assertExact, given } from '../../runtime/spread-world.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/spread-cold');
const SIDE = join(import.meta.dirname, '../../fixtures/spread-side');
const { signal } = new AbortController();

let azurite: Azurite;
let used = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

interface Places<T> {
  readonly code: number;
  readonly places: readonly { readonly place: string; readonly ok: boolean; readonly value: T }[];
}

async function shop(context: Pick<TestContext, 'onTestFinished'>, folder = FOLDER) {
  const STORAGE_CONTAINER = `over-shards-${(used += 1)}`;
  const storage = {
    account: { kind: 'key', connectionString: azurite.connectionString },
    container: STORAGE_CONTAINER,
  } as const;
  const world = await given(context, ['north', 'west'], { folder, storage });
  const { stage, application, host } = world;
  const env = { ...stage.env, STORAGE: azurite.connectionString, STORAGE_CONTAINER };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const millrace = async <T>(...args: string[]): Promise<Places<T>> => {
    const { code, stdout, stderr } = await cli([...args, '--pipeline', folder, '--json']);
    expect(stderr).not.toMatch(/It failed here/);
    return { code, ...(JSON.parse(stdout) as Omit<Places<T>, 'code'>) };
  };
  await cli(['model', 'apply', '--pipeline', folder]);
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s0', 'north', 'o2', 7, { placedAt: '2026-03-01T10:00:00.000Z' });
  await application.order('s1', 'west', 'o1', 20);
  const app = await host();
  await app.drained(signal);
  const hot = async (shard: string) => (await rows<{ id: string }>(stage.at(shard, 'Orders'), 'c.id')).map((o) => o.id);
  return { ...world, app, millrace, hot };
}

it('a sweep takes what is due from every shard, verify reads hot and cold, and a restore goes to the document’s shard', async (context) => {
  const { stage, application, app, millrace, hot } = await shop(context);
  const swept = await millrace<SweepResult[]>('archive', 'sweep');
  expect(swept.places.map(({ place, value }) => [place, value.map(({ archived }) => archived)])).toEqual([
    ['shop', []],
    ['north', [1]],
    ['west', [1]],
  ]);
  expect([await hot('north'), await hot('west')]).toEqual([['o2'], []]);
  await assertExact(stage, application);
  for (const args of [[], ['--sample', '10']]) {
    const verified = await millrace<{ different: number }>('projections', 'verify', ...args);
    expect([verified.code, verified.places.map(({ value }) => value.different)]).toEqual([0, [0, 0, 0]]);
  }
  const listed = await millrace<ArchivePeriod[]>('archive', 'list');
  expect(listed.places.map(({ value }) => value.map(({ tenant, documents }) => [tenant, documents]))).toEqual([
    [],
    [['s0', 1]],
    [['s1', 1]],
  ]);
  const intact = await millrace<ArchiveVerification[]>('archive', 'verify');
  expect(intact.places.map(({ value }) => value.map(({ archived, faults }) => [archived, faults]))).toEqual([
    [],
    [[1, []]],
    [[1, []]],
  ]);
  const restored = await millrace<RestoreResult[]>('archive', 'restore', '--key', '["s1"]', '--id', 'o1');
  expect(restored.places.map(({ value }) => value.map((one) => one.restored))).toEqual([[], [0], [1]]);
  expect([await hot('north'), await hot('west')]).toEqual([['o2'], ['o1']]);
  await app.drained(signal);
  await assertExact(stage, application);
});

it('a recovery of a shard looks at the blobs of its own entries, and keeps what is archived', async (context) => {
  const { app, millrace, hot } = await shop(context);
  await millrace('archive', 'sweep');
  await app.drained(signal);
  await app.stop();
  const recover = ['recover', '--shard', 'west', '--pipeline', FOLDER, '--lease-expiration', '100', '--yes', '--json'];
  const { code, stdout } = await cli(recover);
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { left: [], verification: { different: 0 } }]);
  expect(await hot('west')).toEqual([]);
});

it('a sweep and a restore leave the keys that a move has locked, until it has ended', async (context) => {
  const { stage, millrace, hot } = await shop(context);
  const north = (await stage.map.shards()).find(({ location }) => location.database === 'north')!;
  const mapping = await stage.map.createMapping({ shard: north, key: 's0' });
  await stage.map.lockMapping(mapping, 'move-1');
  const [, locked, free] = (await millrace<SweepResult[]>('archive', 'sweep')).places;
  expect([locked?.value[0], free?.value[0]]).toMatchObject([
    { archived: 0, held: 1 },
    { archived: 1, held: 0 },
  ]);
  await stage.map.unlockMapping(await stage.map.mapping('s0'), 'move-1');
  await millrace('archive', 'sweep', '--shard', 'north');
  expect(await hot('north')).toEqual(['o2']);
  // So does a restore, and says so.
  await stage.map.lockMapping(await stage.map.mapping('s0'), 'move-2');
  const which = ['archive', 'restore', '--key', '["s0"]', '--id', 'o1'];
  const left = await millrace<RestoreResult[]>(...which);
  expect([left.code, left.places[1]?.value]).toMatchObject([1, [{ restored: 0, moving: 1 }]]);
  await stage.map.unlockMapping(await stage.map.mapping('s0'), 'move-2');
  expect((await millrace<RestoreResult[]>(...which)).places[1]?.value).toMatchObject([{ restored: 1, moving: 0 }]);
});

it('a compaction joins blobs of several shards, and leaves those with keys that a move has in hand', async (context) => {
  const { stage, application, app, millrace } = await shop(context);
  // As after a move: the folder of s0 has blobs whose entries are in different shards.
  await application.order('s0', 'west', 'o3', 5);
  await app.drained(signal);
  await millrace('archive', 'sweep');
  const { settings, services, loaded } = stage;
  const compact = async () => {
    const [work] = await openTogether({ settings, services, loaded }, { signal, screen: { line: () => undefined } });
    const { archive, moving } = work!;
    return compactArchive(archive, { signal, moving, grace: async () => undefined });
  };
  const north = (await stage.map.shards()).find(({ location }) => location.database === 'north')!;
  await stage.map.lockMapping(await stage.map.createMapping({ shard: north, key: 's0' }), 'move-1');
  expect(await compact()).toMatchObject({ joined: 0, left: 2 });
  await stage.map.unlockMapping(await stage.map.mapping('s0'), 'move-1');
  expect(await compact()).toMatchObject({ joined: 2, written: 1, removed: 2, left: 0, faults: [] });
  const intact = await millrace<ArchiveVerification[]>('archive', 'verify');
  expect(intact.places.map(({ value }) => value.map(({ archived, faults }) => [archived, faults]))).toEqual([
    [],
    [[1, []]],
    [[2, []]],
  ]);
  // No record is left that a move would wait for.
  const records = "SELECT * FROM c WHERE c.pk = 'sweeping'";
  for (const shard of ['north', 'west'])
    expect((await stage.at(shard, 'millrace').items.query(records).fetchAll()).resources).toEqual([]);
});

it('a hold is one for all places, and each sweep respects it', async (context) => {
  const { stage } = await shop(context);
  await new Holds(stage.services.global.state).add({ tenant: 's0', reason: 'case', actor: 'a', at: '2026' });
  const part = { ...stage.loaded, pipeline: partOf(stage.loaded.pipeline, stage.loaded.model, 'shard') };
  const there = await stage.services.at({ database: 'north' });
  const [archive] = await openArchives(part, there, { signal, screen: { line: () => undefined } });
  expect(await archive?.holds?.of('s0')).toMatchObject({ reason: 'case' });
});

it('a restore copies into a container of each shard, or of all shards into one of the global place', async (context) => {
  const { stage, millrace } = await shop(context, SIDE);
  await millrace('archive', 'sweep');
  const into = async (container: string) => {
    const { places } = await millrace<CopyResult[]>('archive', 'restore', '--into', container);
    return places.map(({ place, value }) => [place, value.map(({ copied }) => copied)]);
  };
  const copied = [
    ['shop', []],
    ['north', [1]],
    ['west', [1]],
  ];
  const ids = async (of: ReturnType<typeof stage.at>) => (await rows<{ id: string }>(of, 'c.storeId')).length;
  expect(await into('OldOrders')).toEqual(copied);
  expect([await ids(stage.at('north', 'OldOrders')), await ids(stage.at('west', 'OldOrders'))]).toEqual([1, 1]);
  expect(await into('OldOrdersOfAll')).toEqual(copied);
  expect(await ids(stage.container('OldOrdersOfAll'))).toBe(2);
});
