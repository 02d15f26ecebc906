// docs/SPEC-erase.md, ERASE-P60 to ERASE-P64, and docs/SPEC-tenants.md, TEN-T60: tenants of a pipeline over shards.
import { join } from 'node:path';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { BlobServiceClient } from '@azure/storage-blob';
import type { Database, JSONObject } from '@azure/cosmos';
import { type TestContext, afterAll, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { MoveRecord } from '../../../src/procedures/move/record.ts';
import type { Certificate } from '../../../src/procedures/erase/certificate.ts';
import type { ListedTenants } from '../../../src/verbs/tenants/list.operation.ts';
import { encodeKey } from '../../../src/shards/keys/key-type.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { given } from '../../runtime/spread-world.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { fast } from '../../verbs/projections/versions.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/spread-cold');
const { signal } = new AbortController();
/** Unlike every other text. */
const GONE = 'leaving-store';

let azurite: Azurite;
let folder: string;
let used = 0;
beforeAll(async () => {
  azurite = await startAzurite();
  folder = await mkdtemp(join(tmpdir(), 'tenants-'));
});
afterAll(async () => {
  await azurite?.close();
  await rm(folder, { recursive: true });
});

/** The store `leaving-store` is in `west` with an order that is archived and one that isn't; `s0` is in `north`. */
async function shop(context: Pick<TestContext, 'onTestFinished'>) {
  const container = `tenants-${(used += 1)}`;
  const storage = { account: { kind: 'key', connectionString: azurite.connectionString }, container } as const;
  const world = await given(context, ['north', 'west'], { folder: FOLDER, storage });
  const { stage, application, host } = world;
  const env = { ...stage.env, STORAGE: azurite.connectionString, STORAGE_CONTAINER: container };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  let now = 0;
  const clock = {
    ...systemClock,
    monotonic: () => now,
    sleep: async (ms: number): Promise<void> => void (now += ms),
  };
  const millrace = (...args: string[]) => cli([...args, '--pipeline', FOLDER], { clock });
  await millrace('model', 'apply');
  const shards = await stage.map.shards();
  const shardOf = (name: string) => shards.find(({ location }) => location.database === name)!;
  await stage.map.createMapping({ shard: shardOf('north'), key: 's0' });
  await stage.map.createMapping({ shard: shardOf('west'), key: GONE });
  await application.open(GONE, 'west');
  for (const [store, shard] of [
    ['s0', 'north'],
    [GONE, 'west'],
  ] as const) {
    await application.order(store, shard, 'o1', 100);
    await application.order(store, shard, 'o2', 7, { placedAt: '2026-03-01T10:00:00.000Z' });
  }
  const app = await host();
  await app.drained(signal);
  await millrace('archive', 'sweep');
  await app.drained(signal);
  const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient(container);
  const databases = (): Database[] => ['shop', 'north', 'west'].map((name) => stage.at(name, 'Orders').database);
  /** Each document of the pipeline's places by its place, and each blob's name. */
  const everything = async (): Promise<Map<string, string>> => {
    const found = new Map<string, string>();
    for (const database of databases())
      for (const { id } of (await database.containers.readAll().fetchAll()).resources) {
        if (id === 'shardmap' || id === 'leases') continue;
        const { resources } = await database.container(id).items.readAll<JSONObject & { id: string }>().fetchAll();
        for (const { _etag, _ts, _rid, _self, _attachments, ...rest } of resources as (JSONObject & { id: string })[])
          found.set(`${database.id}/${id}/${rest.id}/${JSON.stringify(_rid)}`, JSON.stringify(rest));
      }
    for await (const { name } of blobs.listBlobsFlat()) found.set(`blob ${name}`, '');
    return found;
  };
  const naming = async (): Promise<string[]> =>
    [...(await everything())].filter(([at, text]) => at.includes(GONE) || text.includes(GONE)).map(([at]) => at);
  const erase = async () => {
    const { code, stdout, stderr } = await millrace('tenants', 'erase', GONE, '--yes', '--json');
    return { code, stderr, certificate: (code === 0 ? JSON.parse(stdout) : undefined) as Certificate };
  };
  const moveOptions = (more: Partial<MoveOptions> = {}): MoveOptions => ({
    map: stage.map,
    maps: stage.at('maps', 'shardmaps'),
    connect: ({ database }) => stage.at(database, 'Orders').database,
    endpointOf: () => stage.emulator.endpoint,
    stateContainer: 'millrace',
    signal,
    ...more,
  });
  return { ...world, app, millrace, everything, naming, erase, shardOf, moveOptions };
}

/** A move of the tenant that has stored its record, and whose process has died. */
const deadMove = ({ shardOf }: { shardOf: (name: string) => { readonly id: string } }, stage: Stage) =>
  MoveRecord.begin(stage.at('maps', 'shardmaps'), {
    map: 'tenants',
    keys: GONE,
    low: encodeKey('text', GONE),
    high: encodeKey('text', GONE),
    from: shardOf('west').id,
    to: shardOf('north').id,
    containers: {},
  });
type Stage = Awaited<ReturnType<typeof given>>['stage'];

it('`tenants list` lists the tenants of each place, and of the one that --shard names', async (context) => {
  const { millrace } = await shop(context);
  const { stdout, code } = await millrace('tenants', 'list', '--json');
  const { places } = JSON.parse(stdout) as { places: { place: string; value: ListedTenants }[] };
  const counts = places.map(({ place, value }) => [
    place,
    Object.fromEntries(value.tenants.map(({ tenant, documents }) => [tenant, documents])),
  ]);
  // A store, its customer, an order that isn't archived, two summaries and the countries; s1 has no order.
  expect([code, counts]).toEqual([
    0,
    [
      ['shop', { s0: 2, [GONE]: 2 }],
      ['north', { s0: 7 }],
      ['west', { s1: 4, [GONE]: 7 }],
    ],
  ]);
  const west = JSON.parse((await millrace('tenants', 'list', '--shard', 'west', '--json')).stdout) as ListedTenants;
  expect(west.tenants.map(({ tenant }) => tenant).toSorted()).toEqual([GONE, 's1']);
});

interface Line {
  readonly shard?: string;
  readonly container: string;
  readonly cold?: true;
  readonly document: { readonly id: string };
}

it('`tenants export` exports the documents of all places, hot and cold, each with its shard, and none while the keys move', async (context) => {
  const { stage, millrace, shardOf } = await shop(context);
  const out = join(folder, 'export.jsonl');
  const run = () => millrace('tenants', 'export', GONE, '--out', out, '--force', '--json');
  const { stdout } = await run();
  expect(JSON.parse(stdout)).toMatchObject({ documents: 10, cold: 1, derived: 6 });
  const lines = (await readFile(out, 'utf8')).trim().split('\n').slice(1, -1);
  const parts = lines.map((line) => JSON.parse(line) as Line);
  expect(parts.filter(({ container }) => container === 'Orders' || container === 'AllOrders')).toMatchObject([
    { container: 'AllOrders', document: { id: `${GONE}-o1` } },
    { container: 'AllOrders', document: { id: `${GONE}-o2` } },
    { shard: 'west', container: 'Orders', document: { id: 'o2' } },
    { shard: 'west', container: 'Orders', cold: true, document: { id: 'o1' } },
  ]);
  const record = await deadMove({ shardOf }, stage);
  const refused = await run();
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`The move ${record.now.id} of`)]);
  await record.save({ step: 'cancelled' });
  expect((await run()).code).toBe(0);
});

it('`tenants erase` erases from all places, the archive’s entries included, and leaves what others have', async (context) => {
  const { stage, application, app, everything, naming, erase } = await shop(context);
  await app.stop();
  const before = await everything();
  const { code, certificate } = await erase();
  expect(code).toBe(0);
  expect(certificate).toMatchObject({
    removed: {
      AllOrders: 2,
      'west/Orders': 1,
      'west/Customers': 1,
      'west/Summaries': 2,
      'archived versions': 1,
      'west/archive entries': 1,
    },
    unreadable: [],
    rebuild: ['totals@1', 'years@1'],
  });
  expect(certificate.stays.map(({ what }) => what)).toContainEqual(expect.stringContaining('shard map tenants'));
  expect(await naming()).toEqual([]);
  const after = await everything();
  const ofOthers = [...before].filter(([at, text]) => `${at}${text}`.includes('s0') && !`${at}${text}`.includes(GONE));
  expect(ofOthers.length).toBeGreaterThan(10);
  for (const [at, text] of ofOthers) expect([at, after.get(at)]).toEqual([at, text]);
  // Writes that go on take no effect in any place.
  await application.order(GONE, 'west', 'o3', 1);
  application.orders.delete(`${GONE}-o3`);
  const again = await compose({ ...stage, ...fast, host: 'again' });
  context.onTestFinished(() => again.stop());
  await again.start();
  await again.drained(signal);
  expect((await naming()).filter((at) => !at.startsWith('west/Orders'))).toEqual([]);
});

it('an erasure waits for a move of the tenant, and no move begins beside an erasure', async (context) => {
  const { stage, app, naming, erase, shardOf, moveOptions } = await shop(context);
  await app.stop();
  const record = await deadMove({ shardOf }, stage);
  const records = new ErasureRecords(stage.services.global.state, 'spread-cold');
  expect(await erase()).toMatchObject({ code: 1, stderr: expect.stringContaining(`The move ${record.now.id} of`) });
  // It has not begun, so nothing is dropped meanwhile.
  expect(await records.read()).toEqual([]);
  await record.save({ step: 'cancelled' });
  const { id } = await records.begin(GONE, Date.now());
  const erasures = async () => [id];
  const move = async () => moveMapping(moveOptions({ erasures }), await stage.map.mapping('s0'), shardOf('west'));
  await expect(move()).rejects.toMatchObject({ code: 'under-way' });
  // One that has begun is looked for again after the wait, when every read shows it.
  const late = await deadMove({ shardOf }, stage);
  expect((await erase()).code).toBe(1);
  expect(await records.read()).toMatchObject([{ id, state: 'stopping' }]);
  expect(await naming()).toContainEqual(expect.stringContaining('west/Orders'));
  await late.save({ step: 'cancelled' });
  expect((await erase()).code).toBe(0);
  expect(await naming()).toEqual([]);
});

it('`tenants erase` looks into a shard that was added meanwhile, and names a shard that is detached', async (context) => {
  const { stage, app, naming, erase, shardOf } = await shop(context);
  await app.stop();
  await stage.addShard('east');
  // Written past the router: the map gives the tenant to west.
  const stray = { id: 'o9', type: 'order', storeId: GONE, customerId: 'c1', placedAt: '2026-01-01', cents: 1 };
  await stage.at('east', 'Orders').items.create(stray);
  await stage.map.detachShard(shardOf('north'));
  const { certificate } = await erase();
  expect(certificate.removed).toMatchObject({ 'east/Orders': 1 });
  expect(certificate.stays.map(({ what }) => what)).toContainEqual(
    expect.stringContaining('the detached shard north has'),
  );
  expect(await naming()).toEqual([]);
});
