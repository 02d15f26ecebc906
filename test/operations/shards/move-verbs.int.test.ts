import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { spanOf } from '../../../src/operations/shards/moving/move.ts';
import { MoveRecord, ownerOf } from '../../../src/operations/shards/moving/record.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';
import { cli } from '../../cli/cli.ts';
import { clientInside } from '../../emulator/emulate.ts';
import { VerbStage } from './shards-stage.ts';

let stage: VerbStage;
beforeAll(async () => {
  stage = await VerbStage.open();
  await told('init');
  await told('create-map tenants --kind list --key-type int32 --sharded Orders=/tenantId');
  await told('create-map ranges --kind range --key-type int32 --sharded Orders=/tenantId');
  for (const shard of ['west', 'east']) {
    await told(`init --shard ${shard}`);
    for (const map of ['tenants', 'ranges']) await told(`create ${map} --shard ${shard}`);
  }
  await told('map tenants --shard west --key 7');
  await told('map ranges --shard west --low 0 --high 300');
  const client = clientInside(stage.emulator);
  const orders = client.database('west').container('Orders');
  for (const tenantId of [7, 8, 100, 150, 199, 200]) await orders.items.create({ id: 'o', type: 'order', tenantId });
  client.dispose();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The lines of a successful command. */
async function told(line: string): Promise<string> {
  const { code, stdout, stderr } = await stage.run(line);
  expect(`${code} ${stderr}`).toBe('0 ');
  return stdout.trimEnd();
}

async function tenantsIn(database: string): Promise<number[]> {
  const client = clientInside(stage.emulator);
  const query = 'SELECT VALUE c.tenantId FROM c';
  const { resources } = await client.database(database).container('Orders').items.query<number>(query).fetchAll();
  client.dispose();
  return resources.toSorted((a, b) => a - b);
}

it('a tenant is moved on the command line, after its plan, and the move is listed', async () => {
  expect(await told('moves tenants')).toBe('No move yet.');
  const plan = await told('move tenants --key 7 --to east --dry-run');
  expect(plan).toContain('copy 1 document (1 of Orders) from west to east, then all changes since');
  expect(plan).toContain('RU');
  expect(await tenantsIn('east')).toEqual([]);
  const { code, value } = await stage.json('move tenants --key 7 --to east --grace 0');
  expect([code, value]).toMatchObject([0, { keys: '7', from: 'west', to: 'east', copied: 1, removed: 1, parked: [] }]);
  expect(await tenantsIn('east')).toEqual([7]);
  expect(await tenantsIn('west')).toEqual([8, 100, 150, 199, 200]);
  expect(await told('moves tenants')).toMatch(/7 +west +east +done/);
  const again = await stage.json('move tenants --key 7 --to east');
  expect([again.code, again.value]).toMatchObject([2, { error: { code: 'move-there' } }]);
  const other = await stage.json('cancel-move tenants --move nothing');
  expect([other.code, other.value]).toMatchObject([2, { error: { code: 'move-unknown' } }]);
  const audit = await cli(['audit', 'list'], { directory: stage.directory });
  expect(audit.stdout).toContain('shards move');
});

it('a part of a range is moved in batches, and nothing beside it; what is moved becomes one mapping', async () => {
  const move = 'move ranges --low 100 --high 200 --to east --grace 0 --batch 2';
  expect(await told(`${move} --dry-run`)).toContain('copy 3 documents (3 of Orders) from west to east');
  expect(await told(move)).toMatch(
    /\[100, 200\) is on east now, not on west any more\. 3 documents copied, 3 removed; writes were held for \d/,
  );
  const { value } = await stage.json('show ranges');
  expect(
    (value as { mappings: { keys: string; shard: string }[] }).mappings.map(({ keys, shard }) => [keys, shard]),
  ).toEqual([
    ['[0, 100)', 'west'],
    ['[100, 200)', 'east'],
    ['[200, 300)', 'west'],
  ]);
  expect(((await stage.json('moves ranges')).value as { step: string }[]).map(({ step }) => step)).toEqual([
    'done',
    'done',
  ]);
  expect(await tenantsIn('west')).toEqual([8, 200]);
  expect(await tenantsIn('east')).toEqual([7, 100, 150, 199]);
});

it('a move whose process has died is named with its remedy, and any verb that changes the map brings its keys back', async () => {
  const client = clientInside(stage.emulator);
  const database = client.database('maps');
  const manager = await ShardMapManager.get({ database, connect: (to) => client.database(to.database) });
  const map = (await manager.tryGetMap('tenants'))!;
  const [west, east] = await Promise.all(['west', 'east'].map((name) => map.shard({ database: name })));
  /** As a mover leaves it that dies between the two operations of the flip. */
  const leave = async (key: number): Promise<string> => {
    const mapping = await map.createMapping({ shard: west!, key });
    const facts = { map: map.name, keys: mapping.text, ...spanOf(map, mapping), from: west!.id, to: east!.id };
    const clock = { ...systemClock, now: () => Date.now() - 60_000 };
    const { now } = await MoveRecord.begin(database.container('shardmaps'), { ...facts, containers: {} }, clock);
    await map.lockMapping(mapping, ownerOf(now));
    await map.updateMapping(mapping, { status: 'offline' }, { owner: ownerOf(now) });
    return now.id;
  };
  const status = async (key: number) => (await map.mapping(key)).status;

  const first = await leave(70);
  const listed = await stage.run('moves tenants');
  expect(listed.code).toBe(1);
  expect(listed.stdout).toMatch(new RegExp(`The process of the move ${first} has stored nothing since .* 70 offline`));
  expect(listed.stdout).toContain('`millrace shards recover tenants` brings it online');
  expect((await stage.json('moves tenants')).value).toContainEqual(
    expect.objectContaining({ id: first, silent: true, offline: true }),
  );
  expect(await told('recover tenants --dry-run')).toContain(`bring 70 online, which the move ${first} left offline`);
  expect(await status(70)).toBe('offline');
  expect(await told('recover tenants --yes')).toContain('70 is online again where it was, after its mover died.');
  expect(await status(70)).toBe('online');
  const after = await stage.run('moves tenants');
  expect(after.code).toBe(0);
  expect(after.stdout).toContain('If it has died, run its command again, or cancel it by its id.');

  await leave(71);
  expect((await stage.run('map tenants --shard east --key 72')).code).toBe(0);
  expect(await status(71)).toBe('online');
  client.dispose();
});
