// A recovery of a shard and moves of its keys exclude one another. SPREAD-H17.
import { type TestContext, expect, it, vi } from 'vitest';
import { currentEpoch } from '../../../src/feed/reading/epochs.ts';
import { ridOf } from '../../../src/cosmos/rid.ts';
import { recoveriesUnderWay } from '../../../src/procedures/journal/lock.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { MoveRecord, movesOf } from '../../../src/procedures/move/record.ts';
import { encodeKey } from '../../../src/shards/keys/key-type.ts';
import { cli } from '../../cli/cli.ts';
import { given } from '../../runtime/spread-world.ts';
import { SPREAD } from '../../support/spread-stage.ts';

const { signal } = new AbortController();
/** A recovery waits for two of these before it changes anything. */
const EXPIRATION_MS = '2000';

/** Three shards with a store each, which hosts have derived. No host runs. */
async function world(context: Pick<TestContext, 'onTestFinished'>) {
  const { stage, application, host } = await given(context);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  for (const [at, shard] of ['north', 'west', 'east'].entries()) {
    await stage.map.createMapping({ key: `s${at}`, shard: await stage.map.shard({ database: shard }) });
    await application.order(`s${at}`, shard, 'o1', 10 + at);
  }
  const app = await host();
  await app.drained(signal);
  await app.stop();
  const maps = stage.at('maps', 'shardmaps');
  const code = encodeKey(stage.map.keyType, 's1');
  const [from, to] = [await stage.map.shard({ database: 'west' }), await stage.map.shard({ database: 'north' })];
  const facts = { map: stage.map.name, keys: '"s1"', low: code, high: code, from: from.id, to: to.id, containers: {} };
  const recover = (shard: string) =>
    cli(['recover', '--shard', shard, '--lease-expiration', EXPIRATION_MS, '--yes', '--pipeline', SPREAD]);
  const isUnderWay = () =>
    vi.waitFor(
      async () => expect(await recoveriesUnderWay(stage.services.global.state, Date.now(), signal)).toHaveLength(1),
      20_000,
    );
  const epoch = async () => {
    const orders = stage.at('west', 'Orders');
    return currentEpoch(stage.at('west', 'millrace'), 'Orders', await ridOf(orders));
  };
  return { stage, maps, facts, to, recover, isUnderWay, epoch };
}

it('a shard is not recovered while a key of it moves, and another one is', async (context) => {
  const { maps, facts, recover, epoch } = await world(context);
  const before = await epoch();
  const record = await MoveRecord.begin(maps, facts);
  const why = `The move ${record.now.id} of "s1" has not ended: copying`;
  for (const shard of ['west', 'north'])
    expect(await recover(shard)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) as string });
  expect(await epoch()).toBe(before);
  expect(await recover('east')).toMatchObject({ code: 0 });
  await record.save({ step: 'cancelled' });
  expect(await recover('west')).toMatchObject({ code: 0 });
  expect(await epoch()).toBeGreaterThan(before);
});

it('a move that has begun unseen is seen before the recovery changes anything', async (context) => {
  const { maps, facts, recover, isUnderWay, epoch } = await world(context);
  const before = await epoch();
  const recovering = recover('west');
  await isUnderWay();
  const record = await MoveRecord.begin(maps, facts);
  expect(await recovering).toMatchObject({ code: 2, stderr: expect.stringContaining(record.now.id) as string });
  expect(await epoch()).toBe(before);
});

it('no key moves while a shard is recovered, and a move that was refused leaves nothing', async (context) => {
  const { stage, maps, to, recover, isUnderWay } = await world(context);
  const recovering = recover('west');
  await isUnderWay();
  const move = await cli(['shards', 'move', 'tenants', '--key', 's1', '--to', 'north', '--pipeline', SPREAD]);
  expect(move).toMatchObject({ code: 1, stderr: expect.stringContaining('recovers a shard') as string });
  // It began before it could see the lock, and looks again after its record is stored.
  const { client } = stage.services.place.database;
  let looks = 0;
  const moved = moveMapping(
    {
      map: stage.map,
      maps,
      connect: ({ database }) => client.database(database),
      endpointOf: () => stage.emulator.endpoint,
      stateContainer: 'millrace',
      recoveries: async () =>
        (looks += 1) === 1
          ? []
          : (await recoveriesUnderWay(stage.services.global.state, Date.now(), signal)).map(({ actor }) => actor),
      signal,
    },
    await stage.map.mapping('s1'),
    to,
  );
  await expect(moved).rejects.toMatchObject({ code: 'under-way' });
  expect((await movesOf(maps, stage.map.name, signal)).map(({ step }) => step)).toEqual(['cancelled']);
  expect(await stage.map.lockOwner(await stage.map.mapping('s1'))).toBeUndefined();
  expect(await recovering).toMatchObject({ code: 0 });
});
