import { type Container, CosmosClient, type CosmosClientOptions } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';
import { cli } from '../../cli/cli.ts';
import { clientInside } from '../../emulator/emulate.ts';
import { VerbStage } from '../../verbs/shards/shards-stage.ts';

let stage: VerbStage;
beforeAll(async () => {
  stage = await VerbStage.open();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The lines of a successful command. */
async function told(line: string): Promise<string> {
  const { code, stdout, stderr } = await stage.run(line);
  expect(`${code} ${stderr}`).toBe('0 ');
  return stdout.trimEnd();
}

/** The code of a refusal, with the exit code. */
async function refused(line: string): Promise<string> {
  const { code, value } = await stage.json(line);
  return `${code} ${(value as { error: { code: string } }).error.code}`;
}

it('the store, a map and its shards come to be by verbs, and nothing before it is needed', async () => {
  expect(await refused('list')).toBe('2 not-found');
  expect(await told('init --dry-run')).toContain('create the store of shard maps');
  expect(await told('init')).toContain('changes made');
  expect(await told('init')).toBe('Everything is there already.');
  expect(await told('list')).toContain('No shard map yet');
  const create = 'map create tenants --kind range --key-type int32 --sharded Orders=/tenantId --reference Currencies';
  expect(await told(`${create} --dry-run`)).toContain('create the range map tenants of int32 keys');
  expect(await told(create)).toContain('has no shard yet');
  expect(await refused(create)).toBe('2 exists');
  expect(await refused('map create m --kind list --key-type guid --sharded Orders')).toBe('2 input-invalid');
  expect(await refused('add tenants --shard west')).toBe('2 shard-unfit');
  for (const shard of ['west', 'east']) {
    expect(await told(`init --shard ${shard}`)).toContain('1 change made.');
    expect(await told(`add tenants --shard ${shard} --dry-run`)).toContain(`add the shard ${shard} to tenants`);
    expect(await told(`add tenants --shard ${shard}`)).toContain(`has the shard ${shard} now`);
  }
  expect(await refused('add tenants --shard west --dry-run')).toBe('2 exists');
  expect(await refused('show tenant')).toBe('2 not-found');
});

it('a wrong name is refused with the names that there are', async () => {
  const said = async (line: string): Promise<string> => (await stage.run(line)).stderr;
  expect(await said('show orders')).toMatch(/no shard map orders\n[^]*The maps are: tenants\./);
  expect(await said('move tenants --low 0 --to nowhere')).toMatch(/no shard at nowhere\n[^]*shards are: west, east\./);
  expect(await said('keys online tenants --key 1 --low 0')).toContain('--key is given beside --low or --high');
  expect(await said('moves tenants --cancel 1f0c')).toMatch(/no move 1f0c[^]*None is under way\./);
});

it('a list map may have fenced containers, and shows them', async () => {
  const fenced = 'map create customers --key-type int32 --sharded Orders=/tenantId --fenced Orders';
  expect(await refused(`${fenced} --kind range`)).toBe('2 option-invalid');
  expect(await told(`${fenced} --kind list`)).toContain('has no shard yet');
  expect(await told('show customers')).toContain('Sharded: Orders by /tenantId; fenced Orders');
  for (const line of ['split customers --at 1', 'merge customers --at 1']) {
    const { code, stderr } = await stage.run(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Each of its mappings has one key')]);
  }
  expect((await stage.run('move customers --low 1 --to west')).stderr).toContain('Name one key with --key');
  await told('map delete customers --yes');
});

it('mappings are created, moved, split, merged and deleted, and shown with their gaps', async () => {
  expect(await told('keys map tenants --shard west --low 0 --high 100')).toBe('[0, 100) is mapped to west, online.');
  expect(await told('keys map tenants --shard east --low 200 --offline')).toBe('[200, …) is mapped to east, offline.');
  expect(await refused('keys map tenants --shard east --low 50 --high 150 --dry-run')).toBe('1 keys-mapped');
  expect(await refused('keys map tenants --shard nowhere --low 1000')).toBe('2 not-found');
  expect(await told('split tenants --at 40')).toBe('[0, 100) on west is [0, 40) and [40, 100) now.');
  expect(await told('keys offline tenants --key 50 --dry-run')).toContain('take [40, 100) on west offline');
  expect(await told('keys offline tenants --key 50 --within 5')).toBe('[40, 100) on west is offline.');
  expect(await refused('merge tenants --at 40')).toBe('2 wrong-state');
  expect(await refused('keys online tenants --low 40 --high 90')).toBe('1 mapping-missing');
  expect(await refused('keys online tenants')).toBe('2 input-invalid');
  expect(await told('keys online tenants --low 40 --high 100 --shard east')).toBe(
    '[40, 100) is online on east, not on west any more. It moves no document.',
  );
  expect((await told('show tenants')).split('\n')).toEqual([
    'tenants: a range map of int32 keys. Sharded: Orders by /tenantId; in every shard Currencies',
    expect.stringMatching(/^keys +shard +status +lock$/),
    expect.stringMatching(/^\[…, 0\) +\(no shard\)$/),
    expect.stringMatching(/^\[0, 40\) +west +online$/),
    expect.stringMatching(/^\[40, 100\) +east +online$/),
    expect.stringMatching(/^\[100, 200\) +\(no shard\)$/),
    expect.stringMatching(/^\[200, …\) +east +offline$/),
  ]);
  expect((await stage.json('show tenants --key 7')).value).toMatchObject({
    mappings: [{ low: 0, high: 40, shard: 'west' }],
  });
  expect(await refused('keys unmap tenants --key 7')).toBe('2 wrong-state');
  expect(await told('keys unmap tenants --low 200')).toContain('has no shard any more');
  await told('keys offline tenants --key 50');
  expect(await told('show tenants')).toMatch(/east +offline$/m);
  await told('keys online tenants --key 50 --shard west');
  expect(await told('merge tenants --at 40')).toBe('[0, 100) on west is one mapping.');
  expect(await told('list')).toMatch(/^west +1 +0$/m);
});

it('keys fit the type of the map, or the message says how to write one', async () => {
  const { code, stderr } = await stage.run('show tenants --key 2026-03-01');
  expect(code).toBe(2);
  expect(stderr).toMatch(/--key 2026-03-01 is not a key of type int32[^]*Write digits/);
  await told('map create months --kind range --key-type dateTime --sharded Orders=/tenantId');
  await told('add months --shard west');
  expect(await told('keys map months --shard west --low 2026-03-01 --high 2026-04-01T00:00:00Z')).toContain(
    '2026-03-01T00:00:00.0000000Z',
  );
  await told('keys offline months --key 2026-03-31T23:59:59.9999999Z');
  await told('keys unmap months --low 2026-03-01 --high 2026-04-01');
  expect(await told('remove months --shard west')).toContain('has no shard west any more');
  expect(await refused('map delete months')).toBe('2 not-confirmed');
  expect(await told('map delete months --yes')).toContain('is deleted');
  expect(await refused('map delete tenants --yes')).toBe('2 wrong-state');
  await told('map create names --kind list --key-type text --sharded Orders=/tenantId');
  for (const verb of ['split', 'merge']) expect(await refused(`${verb} names --at a`)).toBe('2 option-invalid');
  await told('map delete names --yes');
});

it('a call under one operation id takes effect once, with exactly its flags', async () => {
  const call = 'split tenants --at 10 --operation-id first';
  const first = await stage.json(call);
  const second = await stage.json(call);
  expect(first.value).toMatchObject({ operationId: 'first', repeated: false });
  expect(second.value).toEqual({ ...(first.value as object), repeated: true });
  expect(await refused('split tenants --at 11 --operation-id first')).toBe('2 option-invalid');
  await told('merge tenants --at 10');
  for (const answer of ['is offline.', 'The first call with this id had done it.'])
    expect(await told('keys offline tenants --key 5 --operation-id second')).toContain(answer);
  await told('keys online tenants --key 5');
  const audit = await cli(['audit', '--json'], { directory: stage.directory });
  const split = JSON.parse(audit.stdout).find(({ verb }: { verb: string }) => verb === 'shards split');
  expect(split).toMatchObject({ arguments: { map: 'tenants' }, outcome: expect.stringMatching(/done|failed/) });
});

it('a lock keeps others from changing a mapping', async () => {
  expect(await told('keys lock tenants --key 7 --owner move-7')).toContain('is locked by move-7');
  expect(await told('show tenants')).toMatch(/west +online +move-7$/m);
  expect(await refused('keys offline tenants --key 7')).toBe('1 mapping-locked');
  expect(await refused('keys unlock tenants --key 7 --owner other')).toBe('1 mapping-locked');
  await told('split tenants --at 50 --owner move-7');
  await told('merge tenants --at 50 --owner move-7');
  expect(await told('keys unlock tenants --key 7 --force --dry-run')).toContain('locked by move-7');
  expect(await told('keys unlock tenants --key 7 --force')).toContain('Its lock was of move-7');
});

it('check fails on differences, and recover makes them go in the direction that it is given', async () => {
  expect(await told('check')).toBe('tenants: no differences.');
  await restoreLocalMap();
  const checked = await stage.json('check tenants');
  expect(checked.code).toBe(1);
  expect(checked.value).toMatchObject([
    {
      differences: [
        { keys: '[0, 100)', shard: 'west', inMap: 'online', inShard: null },
        { keys: '[0, 100)', shard: 'west', inMap: null, inShard: 'offline' },
      ],
    },
  ]);
  const plan = await stage.json('recover tenants --from map --dry-run');
  expect(plan.value).toMatchObject({ steps: [expect.any(String), expect.any(String)] });
  expect(await refused('recover tenants --from map')).toBe('2 not-confirmed');
  expect(await told('recover tenants --from map --low 100 --yes')).toContain('0 differences repaired');
  expect((await stage.run('check tenants')).code).toBe(1);
  expect(await told('recover tenants --from map --key 5 --yes')).toContain('2 differences repaired');
  expect(await told('check tenants')).toBe('tenants: no differences.');
});

it('a lost local map is named, keeps no other shard from its check, and recover makes it again', async () => {
  const client = clientInside(stage.emulator);
  const local = client.database('west').container('shardmap');
  const { resources } = await local.items.query<{ id: string; pk: string }>('SELECT * FROM c').fetchAll();
  for (const { id, pk } of resources) await local.item(id, pk).delete();
  const checked = await stage.run('check tenants');
  expect(checked.code).toBe(1);
  expect(checked.stdout).toMatch(/tenants: The shard west[^]* has no local map\n[^]*shards recover tenants --from map/);
  expect(checked.stdout).not.toContain('--from shard');
  expect((await stage.run('check tenants --shard east')).code).toBe(0);
  expect(await refused('recover tenants --from shard --yes')).toBe('1 local-map-missing');
  await client.database('west').container('Orders').delete();
  expect((await stage.run('check tenants')).stdout).toContain('no container Orders');
  await client.database('west').containers.create({ id: 'Orders', partitionKey: '/tenantId' });
  expect(await told('recover tenants --from map --yes')).toContain('1 difference repaired');
  expect(await told('check tenants')).toBe('tenants: no differences.');
  client.dispose();
});

it('what waits for a shard to be undone is shown, and recover ends it', async () => {
  await using world = unreachable('west');
  const manager = await ShardMapManager.get(world.options);
  const map = await manager.getMap('tenants');
  const [shard] = await map.shards();
  await expect(map.createMapping({ shard: shard!, low: 500, high: 600 })).rejects.toMatchObject({
    code: 'map-operation-undone',
  });
  expect(await told('list')).toContain('not undone in every shard yet: createMapping');
  expect(await told('recover tenants --dry-run')).toContain('finish or undo the pending createMapping');
  expect(await told('recover tenants --yes')).toBe('1 pending operation ended.');
  expect(await told('check tenants')).toBe('tenants: no differences.');
});

it('a lost shard is detached, and attached elsewhere', async () => {
  expect(await told('detach tenants --shard west')).toContain('is detached');
  expect(await told('show tenants')).toContain('west is detached.');
  expect(await told('check tenants')).toContain('was not compared');
  expect(await refused('attach tenants --shard west --to nowhere --dry-run')).toBe('2 shard-unfit');
  expect(await told('attach tenants --shard west --dry-run')).toContain('attach the shard west to tenants');
  expect(await told('attach tenants --shard west')).toContain('is attached');
  expect(await told('check tenants')).toBe('tenants: no differences.');
});

it('shards are scheduled by month, and what is missing is a finding', async () => {
  await told('map create orders --kind range --key-type dateTime --sharded Orders=/tenantId');
  const month = new Date().toISOString().slice(0, 7);
  const schedule = 'schedule orders --every month --ahead 1 --shard orders-{yyyy}-{mm}';
  expect(await refused('schedule orders --every month --ahead 1 --shard orders')).toBe('2 option-invalid');
  expect(await told(`${schedule} --dry-run`)).toContain(`orders-${month}, unless they are mapped`);
  expect(await refused(schedule)).toBe('1 scheduled-shard-missing');
  const client = clientInside(stage.emulator);
  const { database } = await client.databases.create({ id: `orders-${month}` });
  await database.containers.create({ id: 'Orders', partitionKey: '/tenantId' });
  client.dispose();
  await told(`init --shard orders-${month}`);
  const { code, value } = await stage.json(schedule);
  expect(code).toBe(1);
  expect(value).toMatchObject([{ shard: `orders-${month}`, state: 'created' }, { state: 'missing' }]);
});

it('a map that was lost comes back from its shards', async () => {
  const client = clientInside(stage.emulator);
  const before = await stage.json('show tenants');
  const maps = client.database('maps').container('shardmaps');
  const { resources } = await maps.items
    .query<Stored>("SELECT c.id, c.pk FROM c WHERE c.pk = 'map|tenants'")
    .fetchAll();
  for (const { id, pk } of resources) await maps.item(id, pk).delete();
  client.dispose();
  expect(await refused('show tenants')).toBe('2 not-found');
  expect(await told('recover tenants --rebuild west,east --dry-run')).toContain('create the map tenants');
  expect(await told('recover tenants --rebuild west,east --yes')).toContain('tenants has 2 shards and 1 mapping');
  const { mappings } = before.value as { mappings: unknown };
  expect((await stage.json('show tenants')).value).toMatchObject({ mappings });
});

/** Options of a manager whose requests to the documents of one database fail. */
function unreachable(database: string) {
  const { httpClient, ...options } = stage.emulator.clientOptions as Required<CosmosClientOptions>;
  const retryOptions = { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 };
  const client = new CosmosClient({
    ...options,
    connectionPolicy: { retryOptions },
    httpClient: {
      sendRequest: (request) =>
        request.url.includes(`/dbs/${database}/colls/shardmap/docs`)
          ? Promise.reject(new Error('cut off'))
          : httpClient.sendRequest(request),
    },
  });
  const connect = (to: { readonly database: string }) => client.database(to.database);
  return {
    options: {
      database: client.database('maps'),
      connect,
      shardWithinMs: 0,
      clock: { ...systemClock, sleep: async () => {} },
    },
    [Symbol.asyncDispose]: async () => client.dispose(),
  };
}

/** Puts the local map of west back to what it was before the last change. */
async function restoreLocalMap(): Promise<void> {
  const client = clientInside(stage.emulator);
  const local = client.database('west').container('shardmap');
  await told('keys offline tenants --key 5');
  const kept = await localOf(local);
  await told('keys online tenants --key 5');
  for (const document of await localOf(local))
    if (kept.every(({ id }) => id !== document.id)) await local.item(document.id, document.pk).delete();
  for (const document of kept) await local.items.upsert(document);
  client.dispose();
}

type Stored = { readonly id: string; readonly pk: string };

const localOf = async (container: Container): Promise<Stored[]> =>
  (await container.items.query<Stored>("SELECT * FROM c WHERE STARTSWITH(c.pk, 'map|tenants|')").fetchAll()).resources;
