// The move that `dev --shards --once` makes, without hosts.
import { type TestContext, expect, it } from 'vitest';
import type { WhileMoving } from '../../../src/pipeline/workload.ts';
import { type MovingOptions, formatMoves, isWholeShard, moveThereAndBack } from '../../../src/host/dev/moves.ts';
import { openShardMap } from '../../../src/runtime/shard-map.ts';
import { given } from '../../runtime/spread-world.ts';

const dearer: WhileMoving = {
  container: 'Orders',
  change: (order) => ({ ...order, cents: Number(order['cents']) + 1 }),
};

async function shop(context: Pick<TestContext, 'onTestFinished'>, shards = ['north', 'west']) {
  const { stage, application } = await given(context, shards);
  const map = await openShardMap(stage);
  const all = await map.shards();
  for (const [at, shard] of shards.entries())
    await map.createMapping({ shard: all.find(({ location }) => location.database === shard)!, key: `s${at}` });
  for (let n = 0; n < 5; n++) await application.order('s0', shards[0]!, `o${n}`, n);
  const stop = new AbortController();
  const lines: string[] = [];
  const run = (more: Partial<MovingOptions> = {}) =>
    moveThereAndBack({
      ...stage,
      rules: dearer,
      readLagMs: 0,
      signal: stop.signal,
      say: () => undefined,
      line: (text) => void lines.push(text),
      ...more,
    });
  return { stage, map, stop, lines, run };
}

it('the move of `dev` leaves the tenant where it was, with each write in its place', async (context) => {
  const { stage, run, map } = await shop(context);
  const moved = await run();
  expect(moved).toMatchObject({ keys: '"s0"', lost: [], moves: [{ to: 'west' }, { to: 'north' }] });
  expect(isWholeShard(moved!)).toBe(true);
  expect(formatMoves(moved!)).toMatch(
    /^"s0" moved to west \(\d+ documents copied, .*\), and back to north .*\nMeanwhile \d+ changes of its Orders were written through a router: none is lost\.$/,
  );
  expect(await map.lockOwner(await map.mapping('s0'))).toBeUndefined();
  for (const [shard, count] of [
    ['north', 5],
    ['west', 0],
  ] as const)
    expect((await stage.at(shard, 'Orders').items.readAll({ partitionKey: 's0' }).fetchAll()).resources).toHaveLength(
      count,
    );
});

it('the move of `dev` ends a move first that an earlier run has left', async (context) => {
  const { run, stop, lines } = await shop(context);
  const ended = run({
    say: (text) => {
      if (text.includes(': copying')) stop.abort(new Error('ended by the test'));
    },
  });
  await expect(ended).rejects.toThrow('ended by the test');
  const moved = await run({ signal: new AbortController().signal });
  expect(moved).toMatchObject({
    lost: [],
    moves: [
      { from: 'west', parked: [] },
      { from: 'north', parked: [] },
    ],
  });
  expect(lines[1]).toBe('The move of "s0" to west goes on where an earlier run left it.');
});

it('the move of `dev` names what is not as it was written, and what it can’t write', async (context) => {
  const { run } = await shop(context);
  // The store sets this field itself.
  const other = await run({ rules: { ...dearer, change: (order) => ({ ...order, _ts: 1 }) } });
  expect(other?.lost).toHaveLength(5);
  expect(isWholeShard(other!)).toBe(false);
  expect(formatMoves(other!)).toContain('lost are the last ones of o');
  await expect(run({ rules: { ...dearer, change: () => undefined } })).rejects.toMatchObject({
    code: 'unloadable',
  });
});

it('the move of `dev` does nothing with one shard', async (context) => {
  const { run, lines } = await shop(context, ['north']);
  expect([await run(), lines]).toEqual([undefined, []]);
});
