// What a mover asks while writes of the keys wait, and what it waits for before. MOVE-V46, MOVE-V47.
import { HTTPMethod, type RequestContext } from '@azure/cosmos';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { moveMapping } from '../../../src/procedures/move/move.ts';
import { NO_KEYS } from '../../../src/shards/keys/spans.ts';
import type { Closing } from '../../../src/shards/gate/shard-gate-store.ts';
import { MoveStage, type Order } from './move-stage.ts';

let stage: MoveStage;
beforeEach(async () => {
  stage = await MoveStage.open();
});
afterEach(() => stage[Symbol.asyncDispose]());

const order = (tenantId: number): Order => ({ id: 'a', type: 'order', tenantId, n: 0 });

/** What a change of a gate leaves held, by the work for which it is held; undefined: the request doesn't change that. */
function heldBy({ path = '', method, body }: RequestContext): { work: string; keys: boolean }[] | undefined {
  if (method !== HTTPMethod.patch || !path.includes('routers/docs/gate')) return undefined;
  const { operations } = JSON.parse(String(body)) as { operations: { path: string; value: unknown }[] };
  const closing = operations.find((one) => one.path === '/closing')?.value as Closing[] | undefined;
  return closing?.map(({ id, low }) => ({ work: id.split('|')[0]!, keys: low !== NO_KEYS.low }));
}

/** The record, and the counts with their plans: what is asked beside the last copying. */
const isBeside = ({ path = '', method }: RequestContext): boolean =>
  /shardmaps\/docs\/./.test(path) || (method === HTTPMethod.post && path.endsWith('Orders/docs'));

it('while writes wait, so many requests are asked, and so many one after the other', async () => {
  await stage.orders(stage.west).items.create(order(1));
  const asked: string[] = [];
  const depths: number[] = [];
  let isHeld = false;
  let answered = 0;
  const client = stage.clientAround(async (request, send) => {
    const held = heldBy(request);
    const opens = held?.every(({ keys }) => !keys) === true && isHeld;
    isHeld ||= held?.some(({ keys }) => keys) === true;
    if (!isHeld) return send();
    asked.push(`${request.method} ${request.path?.replace(/^.dbs.|colls.|docs.?/g, '')}`);
    // One more than the longest chain that has been answered.
    const depth = isBeside(request) ? 0 : answered + 1;
    depths.push(depth);
    const answer = await send();
    answered = Math.max(answered, depth);
    if (opens) isHeld = false;
    return answer;
  });
  const options = await stage.optionsOfProcess(client, { holdMs: 60_000 });
  const { id } = await moveMapping(options, await options.map.mapping(1), stage.east);
  const counted = Object.groupBy(asked, (name) => name.replace(id, 'record'));
  expect(Object.fromEntries(Object.entries(counted).map(([name, all]) => [name, all?.length]))).toEqual({
    // Hold, stop and open; the routers, with the query's plan.
    'PATCH maps/routers/gate': 3,
    'POST maps/routers/': 2,
    // Both operations of the map: begun, made in the shards and shown.
    'POST maps/shardmaps/': 4,
    'GET west/shardmap/header': 2,
    'GET east/shardmap/header': 1,
    'POST west/shardmap/': 2,
    'POST east/shardmap/': 1,
    // Beside going offline, and twice when nothing is written any more.
    'GET west/Orders/': 3,
    'POST west/Orders/': 2,
    'POST east/Orders/': 2,
    'GET maps/shardmaps/record': 1,
    'PUT maps/shardmaps/record': 1,
  });
  expect(Math.max(...depths)).toBe(13);
});

it('moves from one shard take turns: no other one announces, or holds keys, meanwhile', async () => {
  for (const tenant of [1, 2]) await stage.orders(stage.west).items.create(order(tenant));
  const works: string[][] = [];
  const see = (request: RequestContext): void => {
    const held = heldBy(request);
    if (held) works.push([...new Set(held.map(({ work }) => work))]);
  };
  // The first has announced, and the second asks again and again.
  const { promise: waits, resolve: seen } = Promise.withResolvers<void>();
  let looks = 0;
  const second = stage.clientAround(async (request, send) => {
    see(request);
    if (request.method === HTTPMethod.get && request.path?.includes('routers/docs/gate') && (looks += 1) === 5) seen();
    return send();
  });
  const times = { holdMs: 60_000 };
  const moveSecond = async () => {
    const options = await stage.optionsOfProcess(second, times);
    return moveMapping(options, await options.map.mapping(2), stage.east);
  };
  let moving: ReturnType<typeof moveSecond> | undefined;
  const first = stage.clientAround(async (request, send) => {
    see(request);
    if (heldBy(request)?.some(({ keys }) => keys)) {
      moving ??= moveSecond();
      await waits;
    }
    return send();
  });
  const options = await stage.optionsOfProcess(first, times);
  const one = await moveMapping(options, await options.map.mapping(1), stage.east);
  const other = await moving!;
  expect(works).toEqual([[one.id], [one.id], [one.id], [], [other.id], [other.id], [other.id], []]);
});
