import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { spanOf } from '../../../src/procedures/move/spans.ts';
import { moveRange } from '../../../src/procedures/move/range/move-range.ts';
import { MoveRecord, movesOf, ownerOf } from '../../../src/procedures/move/record.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';
import { encodeKey } from '../../../src/shards/keys/key-type.ts';
import { cli } from '../../cli/cli.ts';
import { clientInside } from '../../emulator/emulate.ts';
import { VerbStage } from '../../verbs/shards/shards-stage.ts';

let stage: VerbStage;
beforeAll(async () => {
  stage = await VerbStage.open();
  await told('init');
  await told('map create tenants --kind list --key-type int32 --sharded Orders=/tenantId');
  await told('map create ranges --kind range --key-type int32 --sharded Orders=/tenantId');
  for (const shard of ['west', 'east']) {
    await told(`init --shard ${shard}`);
    for (const map of ['tenants', 'ranges']) await told(`add ${map} --shard ${shard}`);
  }
  await told('keys map tenants --shard west --key 7');
  await told('keys map ranges --shard west --low 0 --high 300');
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
  expect([again.code, again.value]).toMatchObject([2, { error: { code: 'wrong-state' } }]);
  const other = await stage.json('moves tenants --cancel nothing');
  expect([other.code, other.value]).toMatchObject([2, { error: { code: 'not-found' } }]);
  const audit = await cli(['audit'], { directory: stage.directory });
  expect(audit.stdout).toContain('shards move');
});

it('a part of a range is moved in batches, and nothing beside it; what is moved becomes one mapping', async () => {
  const move = 'move ranges --low 100 --high 200 --to east --grace 0 --batch 2';
  expect(await told(`${move} --dry-run`)).toContain('copy 3 documents (3 of Orders) from west to east');
  expect(await told(move)).toMatch(
    /\[100, 200\) is on east now, not on west any more\. 3 documents copied, 3 removed; writes were held for \d.* at most\.\n.*in ms: routers hold \d+, .*routers go on \d/,
  );
  const { value } = await stage.json('show ranges');
  expect(
    (value as { mappings: { keys: string; shard: string }[] }).mappings.map(({ keys, shard }) => [keys, shard]),
  ).toEqual([
    ['[0, 100)', 'west'],
    ['[100, 200)', 'east'],
    ['[200, 300)', 'west'],
  ]);
  expect((await stage.json('moves ranges')).value).toMatchObject([
    { keys: '[100, 200)', step: 'done', range: { batches: 2, moved: 3, total: 3, unfinished: [] } },
  ]);
  expect(await told('moves ranges')).toMatch(/\[100, 200\) +west +east +done, 3 of 3 keys/);
  expect(await tenantsIn('west')).toEqual([8, 200]);
  expect(await tenantsIn('east')).toEqual([7, 100, 150, 199]);
});

/** The mappings of the range map, with their shards. */
async function mappings(): Promise<string[]> {
  const { value } = await stage.json('show ranges');
  return (value as { mappings: { keys: string; shard: string }[] }).mappings.map(
    ({ keys, shard }) => `${keys} ${shard}`,
  );
}

it('a split moves the upper half with its documents, and a merge brings it back', async () => {
  const split = 'split ranges --at 250 --to east --grace 0';
  const both = await stage.json(`${split} --operation-id once`);
  expect([both.code, both.value]).toMatchObject([2, { error: { code: 'input-invalid' } }]);
  expect(await told(`${split} --dry-run`)).toContain('copy 0 documents (0 of Orders) from west to east');
  expect(await told(split)).toContain('[250, 300) is on east now, not on west any more.');
  expect(await mappings()).toEqual(['[0, 100) west', '[100, 200) east', '[200, 250) west', '[250, 300) east']);
  expect(await told('merge ranges --at 200 --to west --grace 0 --dry-run')).toContain('copy 3 documents');
  expect(await told('merge ranges --at 200 --to west --grace 0')).toContain(
    '[100, 250) is on west now, not on east any more. 3 documents copied, 3 removed',
  );
  expect(await mappings()).toEqual(['[0, 100) west', '[100, 250) west', '[250, 300) east']);
  expect(await tenantsIn('west')).toEqual([8, 100, 150, 199, 200]);
  expect(await told('merge ranges --at 100')).toBe('[0, 250) on west is one mapping.');
});

it('what makes no sense of a range is refused, and leaves the map as it was', async () => {
  const before = await mappings();
  const refusal = async (line: string): Promise<unknown> => {
    const { value } = await stage.json(line);
    return (value as { error: { code: string; message: string; hint: string } }).error;
  };
  for (const line of ['move ranges --low 200 --high 100 --to east', 'move ranges --low 100 --high 100 --to east'])
    for (const more of ['', ' --dry-run'])
      expect(await refusal(`${line}${more}`)).toMatchObject({
        code: 'input-invalid',
        message: expect.stringMatching(/^--low \d+ is not below --high 100$/),
      });
  expect(await refusal('merge ranges --at 250')).toMatchObject({
    code: 'wrong-state',
    message: '[0, 250) and [250, 300) are on two shards',
    hint: expect.stringContaining('`millrace shards merge ranges --at 250 --to SHARD`'),
  });
  expect(await refusal('split ranges --at soon')).toMatchObject({
    code: 'shard-key-invalid',
    message: expect.stringContaining('--at soon'),
  });
  expect(await refusal('keys unlock ranges --low 0 --high 250')).toMatchObject({
    code: 'mapping-locked',
    message: 'The mapping [0, 250) is not locked',
    hint: expect.stringContaining('nothing to unlock'),
  });
  expect(await mappings()).toEqual(before);
});

it('a range whose mover has died is one move: its command goes on, and cancel-move ends it where it is', async () => {
  const { emulator } = stage;
  const client = clientInside(emulator);
  const services = await given(client);
  // It dies when the second batch is about to be copied. That begins at the first one's switch, so the first may be unfinished.
  let batches = 0;
  const dying = new AbortController();
  const first = async () => (await movesOf(services.options.maps, 'ranges', dying.signal)).at(-2);
  const say = async (text: string): Promise<void> => {
    if (text !== 'preparing' || (batches += 1) < 2) return;
    await vi.waitFor(async () => expect(await first()).toMatchObject({ keys: '[8, 150)', step: 'done' }), 20_000);
    dying.abort(new Error('it has died'));
  };
  const span = { low: encodeKey('int32', 8), high: encodeKey('int32', 250) };
  const die = moveRange({ ...services.options, say, signal: dying.signal }, span, services.east, { keys: 2 });
  await expect(die).rejects.toThrow('it has died');
  const { value } = await stage.json('moves ranges');
  expect((value as unknown[]).at(-1)).toMatchObject({
    keys: '[8, 250)',
    step: 'moving',
    range: { batches: 2, moved: 2, total: 5, unfinished: [{ step: 'copying' }] },
  });
  const id = (value as { id: string }[]).at(-1)!.id;
  const other = await stage.json('move ranges --low 8 --high 100 --to east');
  expect([other.code, other.value]).toMatchObject([1, { error: { code: 'under-way' } }]);
  // A batch goes by the id of its range.
  const unknown = await stage.json('moves ranges --cancel nothing');
  expect(unknown.value).toMatchObject({ error: { hint: expect.stringContaining(`Under way: ${id}. `) } });
  expect(await told(`moves ranges --cancel ${id} --dry-run`)).toContain('begin no batch of [8, 250) any more');
  const cancelled = await told(`moves ranges --cancel ${id} --take-over`);
  expect(cancelled).toContain('The rest of [8, 250) stays on west');
  expect(cancelled).toContain('[8, 150) is on east already');
  expect(await mappings()).toEqual(['[0, 8) west', '[8, 150) east', '[150, 250) west', '[250, 300) east']);
  expect(await tenantsIn('east')).toEqual([7, 8, 100]);
  expect(await tenantsIn('west')).toEqual([150, 199, 200]);
  const again = await stage.json(`moves ranges --cancel ${id}`);
  expect([again.code, again.value]).toMatchObject([2, { error: { code: 'move-switched' } }]);
  // The same command moves the rest, as another range.
  const rest = await moveRange(services.options, span, services.east, { keys: 2 });
  expect(rest?.moves.map(({ copied, removed }) => [copied, removed])).toEqual([
    [2, 2],
    [1, 1],
  ]);
  expect(await mappings()).toEqual(['[0, 8) west', '[8, 250) east', '[250, 300) east']);
  client.dispose();
});

/** The services of a mover in this process. */
async function given(client: ReturnType<typeof clientInside>) {
  const database = client.database('maps');
  const connect = (to: { readonly database: string }) => client.database(to.database);
  const map = (await (await ShardMapManager.get({ database, connect })).tryGetMap('ranges'))!;
  const options: MoveOptions = {
    map,
    maps: database.container('shardmaps'),
    connect,
    endpointOf: () => stage.emulator.endpoint,
    stateContainer: 'millrace',
    signal: new AbortController().signal,
    readLagMs: 0,
    graceMs: 0,
  };
  return { options, east: await map.shard({ database: 'east' }) };
}

it('a move whose process has died is named with its remedy, and any verb that changes the map brings its keys back', async () => {
  const client = clientInside(stage.emulator);
  const database = client.database('maps');
  const manager = await ShardMapManager.get({ database, connect: (to) => client.database(to.database) });
  const map = (await manager.tryGetMap('tenants'))!;
  const [west, east] = await Promise.all(['west', 'east'].map((name) => map.shard({ database: name })));
  /** As a mover leaves it that dies between the two operations of the switch. */
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
  expect((await stage.run('keys map tenants --shard east --key 72')).code).toBe(0);
  expect(await status(71)).toBe('online');
  client.dispose();
});
