import { afterAll, beforeAll, expect, it } from 'vitest';
import { MoveRecord } from '../../../src/procedures/move/record.ts';
import { spanOf } from '../../../src/procedures/move/spans.ts';
import { ShardMapManager } from '../../../src/shards/index.ts';
import { clientInside } from '../../emulator/emulate.ts';
import { VerbStage } from '../../verbs/shards/shards-stage.ts';

/** A JSON number would be rounded: it is above 2^53. */
const LARGE = '9007199254740993';
const HALF = '4503599627370496';

let stage: VerbStage;
beforeAll(async () => {
  stage = await VerbStage.open();
  await told('init');
  await told('map create tenants --kind range --key-type int64 --sharded Orders=/tenantId');
  for (const shard of ['west', 'east']) {
    await told(`init --shard ${shard}`);
    await told(`add tenants --shard ${shard}`);
  }
  await told(`keys map tenants --shard west --low 1 --high ${LARGE}`);
  await told(`keys map tenants --shard east --low ${LARGE}1`);
  const client = clientInside(stage.emulator);
  await client.database('west').container('Orders').items.create({ id: 'o1', tenantId: HALF });
  await client.database('east').container('Orders').items.create({ id: 'o2', tenantId: '42' });
  client.dispose();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** What a command prints, its errors too. */
async function told(line: string, exit = 0): Promise<string> {
  const { code, stdout, stderr } = await stage.run(line);
  expect([code, exit === 0 ? stderr : '']).toEqual([exit, '']);
  return stdout + stderr;
}

it('int64 keys are numbers for people, and exact text in JSON', async () => {
  const shown = await told('show tenants');
  expect(shown).toContain(`[1, ${LARGE})`);
  expect(shown).toContain(`[${LARGE}, ${LARGE}1)`);
  expect(shown).not.toContain('"');
  expect((await stage.json('show tenants')).value).toMatchObject({
    mappings: [
      { keys: `[1, ${LARGE})`, low: '1', high: LARGE },
      { keys: `[${LARGE}1, …)`, low: `${LARGE}1` },
    ],
    gaps: ['[…, 1)', `[${LARGE}, ${LARGE}1)`],
  });
  expect(await told(`keys map tenants --shard east --low 5 --high 6`, 1)).toContain(
    `[5, 6) meets the mapping [1, ${LARGE})`,
  );
});

it('int64 keys move, are listed and are named in errors without quotes', async () => {
  const move = `move tenants --low ${HALF} --high ${LARGE} --to east`;
  expect(await told(`${move} --dry-run`)).toContain(`[${HALF}, ${LARGE})`);
  const moved = await told(`${move} --grace 0`);
  expect(moved).toContain(`[${HALF}, ${LARGE})`);
  const moves = await told('moves tenants');
  for (const text of [moved, moves]) expect(text).not.toContain('"');
  expect(await told(`move tenants --low 1 --high 1 --to east`, 2)).not.toContain('"');
});

it('a move whose record has quotes, from an earlier version, is resumed', async () => {
  const client = clientInside(stage.emulator);
  const database = client.database('maps');
  const connect = ({ database: id }: { readonly database: string }) => client.database(id);
  const map = await (await ShardMapManager.get({ database, connect })).getMap('tenants');
  const { shard: from, ...keys } = await map.mapping(BigInt(`${LARGE}2`));
  const { id: to } = await map.shard({ database: 'west' });
  const record = await MoveRecord.begin(database.container('shardmaps'), {
    ...spanOf(map, keys),
    map: map.name,
    keys: `["${LARGE}1", …)`,
    from,
    to,
    containers: { Orders: { positions: [], epoch: 0, renews: [] } },
  });
  await told(`move tenants --low ${LARGE}1 --to west --grace 0 --take-over`);
  const moves = (await stage.json('moves tenants')).value as { readonly id: string; readonly step: string }[];
  expect(moves.find(({ id }) => id === record.now.id)).toMatchObject({
    step: 'done',
  });
  expect((await map.mapping(BigInt(`${LARGE}2`))).shard).toBe(to);
  client.dispose();
});

it('check names a container that was dropped since its shard is in the map', async () => {
  expect(await told('check tenants')).toBe('tenants: no differences.\n');
  const client = clientInside(stage.emulator);
  await client.database('east').container('Orders').delete();
  const { code, value } = await stage.json('check tenants');
  expect({ code, value }).toMatchObject({
    code: 1,
    value: [{ map: 'tenants', unfit: [{ shard: 'east', what: expect.stringContaining('no container Orders') }] }],
  });
  expect((await stage.run('check tenants')).stdout).toContain('millrace shards init --shard');
  // With another key it is another container.
  await client.database('east').containers.create({ id: 'Orders', partitionKey: '/other' });
  expect((await stage.run('check tenants')).stdout).toContain('begins with /other, not with /tenantId');
  client.dispose();
});
