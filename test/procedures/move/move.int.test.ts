import { PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { moveMapping, cancelMove } from '../../../src/procedures/move/move.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { type Keep, lateWrites, resolveLate } from '../../../src/procedures/move/late-writes.ts';
import { Random } from '../../support/random.ts';
import { startProxy } from '../../support/proxy.ts';
import { suiteSeed } from '../../support/seed.ts';
import type { Shard } from '../../../src/shards/index.ts';
import { MoveStage, type Order, TenantWriters } from './move-stage.ts';

const SEED = suiteSeed();
/** There and back, so many times. */
const MOVES = 2 * Math.ceil(Number(process.env['MILLRACE_HISTORIES'] ?? 2) / 2);
const { signal } = new AbortController();
let stage: MoveStage;
beforeEach(async () => {
  stage = await MoveStage.open(SEED);
});
afterEach(() => stage[Symbol.asyncDispose]());

const order = (id: string, tenantId = 1, n = 0): Order => ({ id, type: 'order', tenantId, n });

describe(`a tenant moves (seed ${SEED})`, () => {
  it(
    'a tenant moves while its orders are written, there and back: nothing is lost, and nothing is on both sides',
    async () => {
      const writers = new TenantWriters(stage);
      const began = performance.now();
      await writers.start({ tenants: [1, 2] });
      await writers.more(200);
      const moves: Awaited<ReturnType<MoveStage['move']>>[] = [];
      while (moves.length < MOVES) {
        moves.push(await stage.move(1, moves.length % 2 === 0 ? stage.east : stage.west));
        await writers.more(MOVES > 2 ? 10 : 100);
      }
      const rate = Math.round((1_000 * writers.count) / (performance.now() - began));
      await writers.stop();
      const sorted = moves.toSorted((one, other) => one.pausedMs! - other.pausedMs!);
      const pauses = sorted.map(({ pausedMs }) => pausedMs);
      console.log(
        `in ${MOVES} moves writes of the tenant were held for ${pauses[0]} ms at least, ${pauses[MOVES >> 1]} in the median, ` +
          `${pauses.slice(-3).join(', ')} at most; the longest wait of a write was ${Math.round(writers.longestMs)} ms, ` +
          `${writers.count} writes, ${rate} a second; ${moves.filter(({ tries }) => tries !== 1).length} moves took ` +
          `several tries; parts of the longest: ${JSON.stringify(sorted.at(-1)?.pause)}`,
      );
      for (const { pausedMs = NaN, pause, tries } of moves) {
        const sum = Object.values(pause!).reduce((all, part) => all + part);
        expect(tries === 1 ? sum <= pausedMs + Object.keys(pause!).length : true).toBe(true);
      }
      expect(moves.flatMap(({ parked }) => parked)).toEqual([]);
      expect(await stage.stored(stage.west, 1)).toEqual(writers.expected(1));
      expect(await stage.stored(stage.west, 2)).toEqual(writers.expected(2));
      expect(await stage.everything(stage.east, 1)).toEqual([]);
      expect(await stage.map.strays(stage.east)).toEqual([]);
      expect((await stage.map.inspect()).mappings.every(({ owner }) => owner === undefined)).toBe(true);
    },
    60_000 + 30_000 * MOVES,
  );

  it('a tenant moves with documents that lack a level of their key, beside those where it is null', async () => {
    for (const shard of [stage.west, stage.east]) {
      const { database } = stage.orders(shard);
      await stage.orders(shard).delete();
      await database.containers.create({
        id: 'Orders',
        partitionKey: {
          paths: ['/tenantId', '/area'],
          kind: PartitionKeyKind.MultiHash,
          version: PartitionKeyDefinitionVersion.V2,
        },
        defaultTtl: -1,
      });
    }
    for (const [n, area] of [{}, { area: null }, { area: 'a' }].entries())
      await stage.orders(stage.west).items.create({ ...order('same', 1, n), ...area });
    expect(await stage.move(1, stage.east)).toMatchObject({ parked: [] });
    const read = async (shard: Shard) =>
      Promise.all(
        [{}, null, 'a'].map(
          async (level) => (await stage.orders(shard).item('same', [1, level]).read<Order>()).resource?.n,
        ),
      );
    expect(await read(stage.east)).toEqual([0, 1, 2]);
    expect(await read(stage.west)).toEqual([undefined, undefined, undefined]);
  });

  it('writers go on, whichever process dies on the way, and the next one finishes', async () => {
    const random = new Random(SEED);
    const writers = new TenantWriters(stage);
    await writers.start({ tenants: [1] });
    await writers.more(100);
    let deaths = 0;
    while (deaths < 15 && (await dies(20 + random.int(120)))) deaths += 1;
    await stage.move(1, stage.east, { takeOver: true }).catch((error: unknown) => {
      // One finished it that died after its last request.
      if ((error as { code?: string }).code !== 'wrong-state') throw error;
    });
    await writers.more(50);
    await writers.stop();
    const moves = await movesOf(stage.database('maps').container('shardmaps'), 'tenants', signal);
    console.log(`${deaths} movers died; the longest wait of a write was ${Math.round(writers.longestMs)} ms`);
    expect(moves.map(({ step, parked }) => [step, parked])).toEqual([['done', []]]);
    expect(await stage.stored(stage.east, 1)).toEqual(writers.expected(1));
    expect(await stage.everything(stage.west, 1)).toEqual([]);
    expect(deaths).toBeGreaterThan(0);
  });
});

/** A mover that is cut off from everything after so many pieces sent; false: it had ended before. */
async function dies(after: number): Promise<boolean> {
  let sent = 0;
  const { promise: dead, resolve: die } = Promise.withResolvers<true>();
  const proxy = await startProxy(Number(new URL(stage.emulator.endpoint).port), () => {
    if (++sent > after) die(true);
    return sent <= after;
  });
  const ending = new AbortController();
  const client = stage.clientAt(proxy.port);
  const moving = stage
    .optionsOfProcess(client, { signal: ending.signal, takeOver: true })
    .then(async (options) => moveMapping(options, await options.map.mapping(1), stage.east))
    .then(
      () => false as const,
      () => true as const,
    );
  const died = await Promise.race([moving, dead]);
  await proxy[Symbol.asyncDispose]();
  ending.abort();
  return died;
}

describe('late writes on the source', () => {
  it('late writes on the source that landed before the switch are carried over before the copies are renewed', async () => {
    await stage.orders(stage.west).items.create(order('a'));
    let landed = false;
    const written: { n: number; _mr: { moved: { ahead?: true } } }[] = [];
    const client = stage.clientAround(async ({ path = '', body }, send) => {
      // The last thing that is done before the map gives the keys to the target: what was copied last is behind it.
      if (!landed && path.includes('east/colls/shardmap/') && String(body).includes('resourceBody')) {
        landed = true;
        await stage.orders(stage.west).items.upsert(order('a', 1, 5));
      }
      if (landed && path.includes('east/colls/Orders') && String(body).includes('resourceBody'))
        written.push(
          ...(JSON.parse(String(body)) as { resourceBody: (typeof written)[0] }[]).map((one) => one.resourceBody),
        );
      return send();
    });
    const options = await stage.optionsOfProcess(client, { holdMs: 60_000 });
    const moved = await moveMapping(options, await options.map.mapping(1), stage.east);
    expect([moved.tries, moved.parked]).toEqual([1, []]);
    // A host of the source may have shown it in a sink of all shards: the target never has an older one as its own version.
    expect(written.map(({ n, _mr }) => [n, _mr.moved.ahead])).toEqual([
      [5, true],
      [5, undefined],
    ]);
    expect(await stage.stored(stage.east, 1)).toEqual([order('a', 1, 5)]);
  });

  it('late writes on the source are carried over while the target has the copy, and named where it was written since', async () => {
    for (const id of ['a', 'b', 'c']) await stage.orders(stage.west).items.create(order(id));
    const { promise: switched, resolve } = Promise.withResolvers<void>();
    const moving = stage.move(1, stage.east, {
      graceMs: 3_000,
      say: (text) => (text.startsWith('late writes') ? resolve() : undefined),
    });
    await switched;
    // Processes that slept between their check and their write.
    await stage.orders(stage.east).items.upsert(order('b', 1, 7));
    for (const id of ['a', 'b', 'd']) await stage.orders(stage.west).items.upsert(order(id, 1, 5));
    const moved = await moving;
    expect(moved.parked).toEqual(['b', 'd'].map((id) => ({ container: 'Orders', key: [1], id })));
    expect(await stage.stored(stage.east, 1)).toEqual([order('a', 1, 5), order('b', 1, 7), order('c')]);
    // What was named stays where it is, and out of queries over all shards.
    expect(await stage.stored(stage.west, 1)).toEqual([order('b', 1, 5), order('d', 1, 5)]);
    expect(await stage.map.strays(stage.west)).toEqual([{ key: 1 }]);

    const options = await stage.optionsOfProcess();
    expect(await lateWrites(options, moved.id)).toMatchObject([
      { id: 'b', source: { n: 5 }, target: { n: 7 } },
      { id: 'd', source: { n: 5 } },
    ]);
    const resolveOne = (keep: Keep, which: string) => resolveLate(options, moved.id, keep, ({ id }) => id === which);
    expect(await resolveOne('target', 'b')).toMatchObject([{ id: 'b' }]);
    expect(await stage.stored(stage.east, 1)).toEqual([order('a', 1, 5), order('b', 1, 7), order('c')]);
    expect(await stage.map.strays(stage.west)).toEqual([{ key: 1 }]);
    // The target lacks the document: it is created, and is no event.
    expect(await resolveOne('source', 'd')).toMatchObject([{ id: 'd' }]);
    expect((await stage.everything(stage.east, 1)).at(-1)).toMatchObject({ id: 'd', n: 5, _mr: { moved: {} } });
    expect(await stage.everything(stage.west, 1)).toEqual([]);
    expect(await stage.map.strays(stage.west)).toEqual([]);
    expect(await lateWrites(options, moved.id)).toEqual([]);
  });
});

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error as { code: string }).code,
  );

/** A move of tenant 1 whose process ends when it says this. */
async function endWithin(step: string): Promise<void> {
  const stopping = new AbortController();
  const say = (text: string): void => {
    if (text === step) stopping.abort();
  };
  await expect(stage.move(1, stage.east, { say, signal: stopping.signal })).rejects.toBeDefined();
}

describe('a move is refused', () => {
  it('a move is refused into a shard that has documents of the keys, or has the keys, and of an offline mapping', async () => {
    await stage.orders(stage.east).items.create(order('x'));
    expect(await refusal(stage.move(1, stage.east))).toBe('move-target-full');
    expect(await refusal(stage.move(5, stage.east))).toBe('wrong-state');
    await stage.map.markOffline(await stage.mapping(2));
    expect(await refusal(stage.move(2, stage.east))).toBe('wrong-state');
    expect(await refusal(stage.move(99, stage.east))).toBe('mapping-missing');
    await stage.map.lockMapping(await stage.mapping(3), 'someone');
    expect(await refusal(stage.move(3, stage.east))).toBe('mapping-locked');
  });

  it('a move is refused into a shard without the container, or with another key, or without the state container', async () => {
    const database = stage.database('east');
    await database.container('millrace').delete();
    expect(await refusal(stage.move(1, stage.east))).toBe('missing');
    await database.container('Orders').delete();
    await database.containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
    expect(await refusal(stage.move(1, stage.east))).toBe('container-missing');
    await database.containers.create({
      id: 'Orders',
      partitionKey: {
        paths: ['/tenantId', '/id'],
        kind: PartitionKeyKind.MultiHash,
        version: PartitionKeyDefinitionVersion.V2,
      },
    });
    expect(await refusal(stage.move(1, stage.east))).toBe('container-unfit');
  });

  it('a move of documents that the archive has, or will let expire, is refused, and nothing of it is left', async () => {
    await stage.orders(stage.west).items.create({ ...order('a', 2), _mr: { archived: {} } });
    expect(await refusal(stage.move(2, stage.east))).toBe('move-leaving');
    await stage
      .database('west')
      .container('millrace')
      .items.create({
        id: 'e',
        pk: 'e',
        type: 'millrace.archived',
        state: 'archived',
        source: { container: 'Orders', key: [4] },
      });
    expect(await refusal(stage.move(4, stage.east))).toBe('move-archived');
    expect(await movesOf(stage.database('maps').container('shardmaps'), 'tenants', signal)).toEqual([]);
  });

  it('a move is refused while another one of the keys is under way, or copies the other way', async () => {
    await stage.orders(stage.west).items.create(order('a'));
    await endWithin('copying');
    expect(await refusal(stage.move(1, stage.east))).toBe('under-way');
    expect(await refusal(stage.move(5, stage.west))).toBe('under-way');
    expect(await refusal(stage.map.markOffline(await stage.mapping(1)))).toBe('mapping-locked');
    const options = await stage.optionsOfProcess(stage.client, { takeOver: true });
    const [move] = await movesOf(options.maps, 'tenants', signal);
    await cancelMove(options, move!.id);
    expect(await refusal(stage.move(5, stage.west))).toBe('no refusal');
    expect(await refusal(cancelMove(options, move!.id))).toBe('move-switched');
    expect(await refusal(cancelMove(options, 'nothing'))).toBe('not-found');
  });
});

it('a cancelled move leaves nothing, and the next one copies everything', async () => {
  for (const id of ['a', 'b']) await stage.orders(stage.west).items.create(order(id));
  await endWithin('waiting for the hosts of the target');
  expect(await stage.stored(stage.east, 1)).toHaveLength(2);
  const options = await stage.optionsOfProcess(stage.client, { takeOver: true });
  const [move] = await movesOf(options.maps, 'tenants', signal);
  await cancelMove(options, move!.id);
  expect(await stage.everything(stage.east, 1)).toEqual([]);
  expect(await stage.map.strays(stage.east)).toEqual([]);
  await stage.move(1, stage.east);
  expect(await stage.stored(stage.east, 1)).toEqual([order('a'), order('b')]);
});

it('a document that is deleted while it moves is deleted in the target', async () => {
  for (const id of ['a', 'b']) await stage.orders(stage.west).items.create(order(id));
  const say = async (text: string): Promise<void> => {
    if (text === 'changing over') await stage.orders(stage.west).item('a', 1).delete();
  };
  await stage.move(1, stage.east, { say });
  expect(await stage.everything(stage.east, 1)).toEqual([expect.objectContaining({ id: 'b' })]);
});

it('a document that is deleted after both sides were compared does not come to life', async () => {
  for (const id of ['a', 'b']) await stage.orders(stage.west).items.create(order(id));
  let deleted = 0;
  // When routers are told that keys are about to be held, nothing is compared any more before the pause.
  const client = stage.clientBefore({ path: 'routers/docs/gate', body: 'closing","value":[{' }, async () => {
    await stage.orders(stage.west).item('a', 1).delete();
    deleted += 1;
  });
  // So long that no try is given up.
  const options = await stage.optionsOfProcess(client, { holdMs: 60_000 });
  const moved = await moveMapping(options, await options.map.mapping(1), stage.east);
  expect([deleted, moved.tries]).toEqual([1, 1]);
  expect(await stage.everything(stage.east, 1)).toEqual([expect.objectContaining({ id: 'b' })]);
});

it('a router that says nothing makes the move open again, and not wait closed', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  const router = await stage.router();
  // Its write doesn't end.
  const pass = await router.enter(1);
  const waits: string[] = [];
  const { promise: again, resolve } = Promise.withResolvers<void>();
  const moving = stage.move(1, stage.east, {
    say: (text) => {
      waits.push(text);
      if (text.includes('trying again')) resolve();
    },
  });
  await again;
  // Other processes write meanwhile.
  await using other = await stage.router();
  (await other.enter(1))[Symbol.dispose]();
  pass[Symbol.dispose]();
  expect((await moving).tries).toBeGreaterThan(1);
  await router[Symbol.asyncDispose]();
  expect(await stage.stored(stage.east, 1)).toEqual([order('a')]);
});
