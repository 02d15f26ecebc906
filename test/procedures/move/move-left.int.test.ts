// A mover that dies between the two operations of the switch: how others see it, and what brings its keys back.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ridOf } from '../../../src/cosmos/rid.ts';
import { epochHeldBy, raiseEpoch } from '../../../src/feed/reading/epochs.ts';
import { bringBack, forgetHeld, leftMoves } from '../../../src/procedures/move/heal.ts';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import type { Mapping, ShardMap } from '../../../src/shards/index.ts';
import { MoveStage, type Order } from './move-stage.ts';

const { signal } = new AbortController();
const order = (id: string, n = 0): Order => ({ id, type: 'order', tenantId: 1, n });
/** After the time in which a process that lives has stored something. */
const later = { ...systemClock, now: () => Date.now() + 31_000 };
let stage: MoveStage;
beforeEach(async () => {
  stage = await MoveStage.open(7);
});
afterEach(() => stage[Symbol.asyncDispose]());

/** Moves tenant 1 to the east until it is offline, and dies there. Resolves with the mapping that the dead process knows. */
async function dieInSwitch(): Promise<Mapping> {
  const options = await stage.optionsOfProcess();
  let offline: Mapping | undefined;
  const left = { open: () => Promise.resolve(true) };
  const overrides: Partial<ShardMap> = {
    updateMapping: async (mapping, update, more) => {
      if (update.status === 'online') throw new Error('it has died');
      return (offline = await options.map.updateMapping(mapping, update, more));
    },
    // What a dead process holds stays held.
    hold: async (...given) => ({ ...(await options.map.hold(...given)), ...left }),
    announce: async (...given) => ({ ...(await options.map.announce(...given)), ...left }),
  };
  const dying = new Proxy(options.map, {
    get: (map, name) => {
      const own = overrides[name as keyof ShardMap] ?? map[name as keyof ShardMap];
      return typeof own === 'function' ? (own.bind(map) as unknown) : own;
    },
  });
  await expect(moveMapping({ ...options, map: dying }, await stage.mapping(1), stage.east)).rejects.toThrow(
    'it has died',
  );
  return offline!;
}

const maps = () => stage.database('maps').container('shardmaps');
const heal = (clock = later) => bringBack({ map: stage.map, maps: maps(), signal, clock });

it('its keys are online again where they were, for writes too, and the move goes on', async () => {
  for (const id of ['a', 'b']) await stage.orders(stage.west).items.create(order(id));
  const offline = await dieInSwitch();
  expect((await stage.mapping(1)).status).toBe('offline');
  expect(await heal(systemClock), 'a process that lives isn’t disturbed').toEqual([]);
  const moves = await movesOf(maps(), 'tenants', signal);
  const [left] = leftMoves(moves, await stage.map.inspect(), later.now());
  expect(left).toMatchObject({ move: { keys: '1' }, offline: { text: '1', status: 'offline' } });

  // A router that finds the keys held waits until they are back.
  await using router = await stage.router();
  (await router.enter(2))[Symbol.dispose]();
  const waiting = router.enter(1);
  expect((await heal()).map(({ keys }) => keys)).toEqual(['1']);
  expect(await heal()).toEqual([]);
  using pass = await waiting;
  await pass.container('Orders').items.upsert(order('a', 5));
  pass[Symbol.dispose]();
  expect(leftMoves(await movesOf(maps(), 'tenants', signal), await stage.map.inspect(), later.now())).toEqual([
    expect.objectContaining({ offline: undefined }),
  ]);

  // The dead process was only slow: nothing that it sends now changes the map.
  const owner = `move-${left!.move.id}`;
  const zombie = stage.map.updateMapping(offline, { status: 'online', shard: stage.east }, { owner });
  await expect(zombie).rejects.toMatchObject({ code: 'stale' });
  // The next one doesn't wait for the dead one, whatever the time.
  await stage.move(1, stage.east, { clock: later });
  expect(await stage.stored(stage.east, 1)).toEqual([order('a', 5), order('b')]);
  expect(await stage.everything(stage.west, 1)).toEqual([]);
});

it('no lease of a side goes back until the move has ended, or is lost with the maps', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  await dieInSwitch();
  const sides = [stage.west, stage.east].map(({ location }) => stage.database(location.database));
  for (const database of sides) {
    const rid = await ridOf(database.container('Orders'));
    await expect(raiseEpoch(database.container('millrace'), 'Orders', rid, 99)).rejects.toMatchObject({
      code: 'epoch-held',
    });
  }
  const forget = () =>
    forgetHeld(
      { map: stage.map, maps: maps(), signal, clock: { ...systemClock, sleep: () => Promise.resolve() } },
      ({ database }) => stage.database(database),
      'millrace',
    );
  expect(await forget(), 'the maps know the move').toBe(0);
  await stage.move(1, stage.east, { takeOver: true });
  for (const database of sides) expect(await epochHeldBy(database.container('millrace'), 'Orders')).toEqual([]);

  await dieBack();
  const [, lost] = await movesOf(maps(), 'tenants', signal);
  await maps().item(lost!.id, lost!.pk).delete();
  expect(await forget()).toBe(2);
  for (const database of sides) expect(await epochHeldBy(database.container('millrace'), 'Orders')).toEqual([]);
});

/** A move back that ends before its first copy. */
async function dieBack(): Promise<void> {
  const stopping = new AbortController();
  const say = (text: string): void => {
    if (text === 'copying') stopping.abort();
  };
  await expect(stage.move(1, stage.west, { say, signal: stopping.signal })).rejects.toBeDefined();
}
