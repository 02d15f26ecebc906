import { CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { type ShardGate, type ShardPass, openShardGate } from '../../src/shards/gate/shard-gate.ts';
import { shardGatePartition, shardGateStore } from '../../src/shards/gate/shard-gate-store.ts';
import { ShardGates } from '../../src/shards/gate/shard-gates.ts';
import { ShardMapManager, type ShardMapManagerOptions } from '../../src/shards/index.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { localPartition } from '../../src/shards/map/documents.ts';
import { VirtualProcess, VirtualTime } from '../support/virtual-time.ts';
import { SCHEMA, ShardStage } from './shard-stage.ts';

const CODE = encodeKey('int32', 5);

let stage: ShardStage;
let options: ShardMapManagerOptions;
beforeAll(async () => {
  stage = await ShardStage.open();
  options = await stage.pausingOptions();
  await ShardMapManager.create(options);
});
afterAll(() => stage[Symbol.asyncDispose]());

let names = 0;
/** A map of two shards, of which `a` has the key 5, and the gate of `a` in a router. */
async function open() {
  const manager = await ShardMapManager.get(options);
  const map = await manager.createRangeMap(`g${(names += 1)}`, { keyType: 'int32', schema: SCHEMA });
  const a = await map.createShard({ database: await stage.shardDatabase() });
  const b = await map.createShard({ database: await stage.shardDatabase() });
  const mapping = await map.createMapping({ shard: a, low: 0, high: 10 });
  const of = { map: map.name, shard: a.id };
  const routers = stage.client().database(options.database.id).container('routers');
  const gate = await openShardGate(routers, of, { pollMs: 20, name: 'router 1' });
  onTestFinished(() => gate[Symbol.asyncDispose]());
  const generation = async (): Promise<number> => {
    const local = stage.database(a.location.database).container('shardmap');
    const header = await local.item('header', localPartition(map.name, a.id)).read<{ generation: number }>();
    return header.resource!.generation;
  };
  return { map, a, b, mapping, of, routers, gate, generation };
}

const passed = (gate: ShardGate, generation: number): ShardPass => {
  const pass = gate.enter(CODE, generation);
  if (typeof pass === 'string') throw new Error(`The gate holds: ${pass}`);
  return pass;
};

describe('a router with a write under way', () => {
  it('a router with a write under way keeps its keys from being moved, whichever process moves them, until the write has ended', async () => {
    const { map, b, mapping, gate, generation } = await open();
    const before = await generation();
    const pass = passed(gate, before);
    await expect(map.markOffline(mapping, { withinMs: 200 })).rejects.toMatchObject({
      code: 'routers-not-stopped',
      message: expect.stringContaining('router 1') as string,
    });
    const offline = await map.mapping(5);
    expect(offline.status).toBe('offline');
    expect(gate.enter(CODE, before)).toBe('stale');
    const other = await (await ShardMapManager.get(options)).getMap(map.name);
    const moving = other.updateMapping(offline, { shard: b, status: 'online' });
    // The map still keeps the key offline, however long the write takes.
    await gate.changed();
    await gate.changed();
    expect((await map.mapping(5)).status).toBe('offline');
    pass[Symbol.dispose]();
    expect(await moving).toMatchObject({ status: 'online', shard: b.id });
  });

  it('a router with a write under way does not keep them from being online again on the same shard', async () => {
    const { map, a, mapping, gate, generation } = await open();
    using _ = passed(gate, await generation());
    const offline = await map.markOffline(mapping, { wait: false });
    expect(await map.markOnline(offline)).toMatchObject({ status: 'online', shard: a.id });
    const after = await generation();
    expect(typeof gate.enter(CODE, after)).toBe('object');
  });

  it('a router with a write under way keeps a detached shard from being attached elsewhere', async () => {
    const { map, a, gate, generation } = await open();
    const pass = passed(gate, await generation());
    const detached = await map.detachShard(a, { wait: false });
    const attaching = map.attachShard(detached, a.location);
    await gate.changed();
    await gate.changed();
    expect((await map.shards()).find(({ id }) => id === a.id)?.detached).toBe(true);
    pass[Symbol.dispose]();
    expect((await attaching).detached).toBe(false);
    expect(gate.needs).toBeLessThanOrEqual(await generation());
  });
});

it('markOffline resolves once routers admit nothing by what they had read', async () => {
  const { map, mapping, gate, generation } = await open();
  const before = await generation();
  passed(gate, before)[Symbol.dispose]();
  await map.markOffline(mapping);
  expect(gate.enter(CODE, before)).toBe('stale');
  expect(gate.needs).toBeLessThanOrEqual(await generation());
  // The mark is gone, so nothing has to be drained before the keys are deleted.
  await gate[Symbol.asyncDispose]();
  await map.deleteMapping(await map.mapping(5));
});

it('keys are held for a moment, and others are not', async () => {
  const { of, routers, gate, generation } = await open();
  const gates = new ShardGates(() => shardGateStore(routers, of, systemClock), systemClock);
  const now = await generation();
  const closed = await gates.close(of.shard, [{ low: CODE, high: encodeKey('int32', 6) }]);
  expect(gate.enter(CODE, now)).toBe('closing');
  expect(typeof gate.enter(encodeKey('int32', 6), now)).toBe('object');
  expect(await closed.open()).toBe(true);
  await expect.poll(() => typeof gate.enter(CODE, now)).toBe('object');
  expect(await closed.open()).toBe(false);
});

it('work that takes turns waits for what other work holds, and not for long where that may have died', async () => {
  const { of, routers } = await open();
  // Time passes only where it is waited for.
  let now = 0;
  const clock: Clock = { ...systemClock, monotonic: () => now, sleep: (ms) => Promise.resolve(void (now += ms)) };
  const gates = new ShardGates(() => shardGateStore(routers, of, systemClock), clock);
  const keys = [{ low: CODE, high: encodeKey('int32', 6) }];
  let waits = 0;
  const inTurn = () => Promise.resolve(void (waits += 1));
  const died = await gates.close(of.shard, keys, { work: 'one' });
  await gates.close(of.shard, keys, { work: 'one', inTurn });
  expect(waits).toBe(0);
  await gates.close(of.shard, keys, { work: 'two', inTurn });
  expect(waits).toBe(5_000 / 50);
  await gates.letGo(of.shard, 'one');
  expect(await died.open()).toBe(false);
});

describe('held keys that go offline', () => {
  async function offline() {
    const opened = await open();
    const { map, of, routers, mapping, gate, generation } = opened;
    passed(gate, await generation())[Symbol.dispose]();
    const gates = new ShardGates(() => shardGateStore(routers, of, systemClock), systemClock);
    const held = await gates.close(of.shard, [{ low: encodeKey('int32', 0), high: encodeKey('int32', 10) }]);
    const header = options.database.container('shardmaps').item('header', `map|${map.name.toLowerCase()}`);
    const commitsOf = async (): Promise<number> => (await header.read<{ generation: number }>()).resource!.generation;
    const before = await commitsOf();
    const now = await map.updateMapping(mapping, { status: 'offline' });
    const drained = await map.untilStopped(now, { held, markStays: true });
    return { ...opened, now, drained, commits: async () => (await commitsOf()) - before };
  }

  it('held keys that go offline come online elsewhere by the next operation, which takes the mark away', async () => {
    const { map, b, now, drained, commits } = await offline();
    expect(drained).toBeDefined();
    expect(await map.updateMapping(now, { shard: b, status: 'online' }, { drained })).toMatchObject({ shard: b.id });
    // Each operation is begun and shown.
    expect(await commits()).toBe(2 + 2);
    await map.deleteMapping(await map.markOffline(await map.mapping(5)));
  });

  it('held keys that go offline are drained by any other operation, if the one that knows it has died', async () => {
    const { map, b, now, commits } = await offline();
    const other = await (await ShardMapManager.get(options)).getMap(map.name);
    expect(await other.updateMapping(now, { shard: b, status: 'online' })).toMatchObject({ shard: b.id });
    expect(await commits(), 'the mark goes by an operation of its own').toBeGreaterThan(2 + 2);
  });

  it('held keys that go offline are not taken for drained by another mark', async () => {
    const { map, b, now, drained, commits } = await offline();
    const another = { ...drained!, below: drained!.below - 1 };
    await map.updateMapping(now, { shard: b, status: 'online' }, { drained: another });
    expect(await commits()).toBeGreaterThan(2 + 2);
  });
});

describe('an identity that may write routers and read the rest', () => {
  let client: CosmosClient;
  beforeEach(() => (client = stage.client(undefined, { aadCredentials: stage.emulator.credential('router') })));

  it('an identity that may write routers and read the rest opens the gate, and changes no map', async () => {
    const { map, a, of, mapping } = await open();
    const gate = await openShardGate(client.database(options.database.id).container('routers'), of, { pollMs: 20 });
    await gate[Symbol.asyncDispose]();
    const connect = ({ database }: { readonly database: string }) => client.database(database);
    const database = client.database(options.database.id);
    const reader = await (await ShardMapManager.get({ ...options, database, connect })).getMap(map.name);
    await expect(reader.markOffline(mapping)).rejects.toMatchObject({ code: 'denied' });
    const local = client.database(a.location.database).container('shardmap');
    await expect(local.item('header', localPartition(map.name, a.id)).delete()).rejects.toMatchObject({ code: 403 });
  });

  it('an identity that may write routers and read the rest stops or hinders others by what it writes there, and the map stays right', async () => {
    const { map, b, of, mapping, gate } = await open();
    const routers = client.database(options.database.id).container('routers');
    const pk = shardGatePartition(of);
    await routers.items.upsert({ id: 'router|x', pk, type: 'millrace.router', name: 'forged', ttl: 600 });
    await expect(map.markOffline(mapping, { withinMs: 100 })).rejects.toThrow('forged');
    await routers.item('router|x', pk).delete();
    await routers.items.upsert({ id: 'gate', pk, type: 'millrace.shardgate', generation: 1e6, needs: 'none' });
    const offline = await map.mapping(5);
    const move = () => map.updateMapping(offline, { shard: b, status: 'online' });
    await expect(move()).rejects.toMatchObject({ code: 'shard-map-damaged' });
    await routers.item('gate', pk).delete();
    expect(await move()).toMatchObject({ shard: b.id, status: 'online' });
    expect(await map.check()).toEqual([]);
    await expect.poll(() => typeof gate.enter(CODE, 1e6)).toBe('object');
  });
});

it('a gate of a later version is not entered', async () => {
  const { routers, of, gate } = await open();
  await routers.item('gate', shardGatePartition(of)).patch([{ op: 'set', path: '/format', value: 99 }]);
  const entered = (): string => {
    try {
      return typeof gate.enter(CODE, 1e6);
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  await expect.poll(entered).toBe('format-too-new');
});

it('a router that does nothing costs less than 10 RU a second', async () => {
  const emulator = await startEmulator({ seed: 1 });
  onTestFinished(() => emulator.close());
  const time = new VirtualTime(emulator);
  let charged = 0;
  const httpClient = time.transport(async (_, send) => {
    const answer = await send();
    charged += Number(answer.headers.get('x-ms-request-charge') ?? 0);
    return answer;
  });
  const client = new CosmosClient({ ...emulator.clientOptions, httpClient });
  onTestFinished(() => client.dispose());
  const { database } = await client.databases.create({ id: 'maps' });
  const { container } = await database.containers.create({ id: 'routers', partitionKey: '/pk', defaultTtl: -1 });
  const gate = await time.run(
    openShardGate(container, { map: 'm', shard: 's' }, { clock: new VirtualProcess(time), name: 'idle' }),
  );
  await time.run(time.sleep(10_000));
  charged = 0;
  await time.run(time.sleep(60_000));
  const idle = charged / 60;
  await time.run(Promise.resolve(gate[Symbol.asyncDispose]()));
  expect(idle).toBeLessThan(10);
  console.log(`an idle router costs ${idle.toFixed(1)} RU/s a shard`);
});
