import { z } from 'zod';
import { named } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { agoText, textTable } from '../../procedures/table.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { mapInput } from './inputs.ts';
import { type Moved, cancelMove } from '../../procedures/move/move.ts';
import type { MoveOptions } from '../../procedures/move/options.ts';
import { cancelRange } from '../../procedures/move/range/move-range.ts';
import { type RangeDocument, isOpen, progressOfRange, rangesOf } from '../../procedures/move/range/range-record.ts';
import { type MoveDocument, isSilentSince, isUnfinished, movesOf } from '../../procedures/move/record.ts';
import { cancelInput, moveOptions, sumOf } from './moving-verbs.ts';
import { healMap, leftIn } from '../../procedures/shards/open.ts';

interface Found {
  readonly move?: MoveDocument;
  /** The range of this id, or the one of which the move is a batch. */
  readonly range?: RangeDocument | undefined;
}

/** @throws UsageError `not-found` */
async function findMove({ map, maps, signal }: MoveOptions, id: string): Promise<Found> {
  const [moves, ranges] = await Promise.all([movesOf(maps, map.name, signal), rangesOf(maps, map.name, signal)]);
  const move = moves.find((one) => one.id === id);
  const range = ranges.find((one) => one.id === (move?.range?.id ?? id));
  if (move) return { move, range };
  if (range) return { range };
  // A batch is shown, and cancelled, as its range.
  const open = [
    ...new Set([
      ...moves.filter(isUnfinished).map((one) => one.range?.id ?? one.id),
      ...ranges.filter(isOpen).map((one) => one.id),
    ]),
  ];
  throw sharedError('not-found', `There is no move ${id} of ${map.name}`, {
    hint: `${open.length === 0 ? 'None is under way.' : `Under way: ${open.join(', ')}.`} Run \`millrace shards moves ${map.name}\` to see all.`,
  });
}

interface Cancelled extends Moved {
  /** Of a range: keys that the map had given to the target. They stay there. */
  readonly stay: readonly string[];
}

async function stepsToCancel(options: MoveOptions, id: string): Promise<string[]> {
  const { move, range } = await findMove(options, id);
  if (range && isOpen(range))
    return [
      `begin no batch of ${range.keys} any more`,
      `remove the copies of the batch that the map has not given to its target, and finish those that it has`,
    ];
  if (move && isUnfinished(move)) return [`remove the copies of ${move.keys}, and unlock it where it is`];
  return [];
}

async function endMove(options: MoveOptions, id: string): Promise<Cancelled> {
  const { range } = await findMove(options, id);
  if (!range) return { ...(await cancelMove(options, id)), stay: [] };
  const { moves, stay } = await cancelRange(options, range);
  const where = await shardNames(options);
  const from = range.from.map(where).join(', ');
  return { ...sumOf(moves), id: range.id, keys: range.keys, from, to: where(range.to), stay };
}

const sayCancelled = (map: string, { keys, from, to, removed, stay }: Cancelled): string =>
  [
    `The move is cancelled. ${stay.length === 0 ? keys : `The rest of ${keys}`} stays on ${from}; documents removed: ${removed.toLocaleString('en-US')}.`,
    ...stay.map(
      (one) => `  ${one} is on ${to} already, and stays there. \`millrace shards move ${map}\` can move it back.`,
    ),
  ].join('\n');

async function shardNames({ map }: MoveOptions): Promise<(id: string) => string> {
  const shards = new Map((await map.shards()).map(({ id, location }) => [id, shownLocation(location)]));
  return (id) => shards.get(id) ?? id;
}

export const shardsMoves = defineOperation({
  name: 'shards moves',
  summary: 'List the moves of a shard map, or cancel one before the map gives its keys to the target',
  examples: [
    'millrace shards moves tenants',
    'millrace shards moves tenants --cancel 1f0c9a2e',
    'millrace shards moves tenants --cancel 1f0c9a2e --grace 150',
  ],
  effect: 'reads',
  effects: { cancel: 'changes' },
  argument: 'map',
  input: z.object({
    ...mapInput,
    cancel: named('id of a move: it ends, and its copies are removed'),
    ...cancelInput,
  }),
  plan: async ({ map, cancel: id, takeOver }, context) => ({
    steps: id === undefined ? [] : await stepsToCancel(await moveOptions(context, map, { takeOver }), id),
    ru: 0,
  }),
  run: async (given, context) => {
    const options = await moveOptions(context, given.map, given);
    const { cancel: id } = given;
    if (id === undefined) return listed(options, context);
    await healMap(context, options.map);
    return audited(context, 'shards moves', given, () => endMove(options, id));
  },
  ok: (result) => !Array.isArray(result) || !result.some(({ offline }) => offline),
  format: (result, { map }) => (Array.isArray(result) ? sayMoves(map, result) : sayCancelled(map, result)),
});

async function listed(options: MoveOptions, context: Context) {
  const { maps, signal, clock = systemClock } = options;
  const where = await shardNames(options);
  const left = new Map(
    (await leftIn(context, options.map, await options.map.inspect())).map((one) => [one.move.id, one] as const),
  );
  const moves = await movesOf(maps, options.map.name, signal);
  const isOffline = ({ id }: MoveDocument): boolean => left.get(id)?.offline !== undefined;
  const single = moves
    .filter(({ range }) => range === undefined)
    .map((one) => ({
      id: one.id,
      keys: one.keys,
      from: where(one.from),
      to: where(one.to),
      step: one.step as string,
      startedAt: one.startedAt,
      aliveAt: one.aliveAt,
      parked: one.parked,
      /** Its process has stored nothing for a while. */
      silent: left.has(one.id),
      /** Its process has died between two operations of the map, and writes of the keys fail. */
      offline: isOffline(one),
      range: undefined,
    }));
  const ranges = (await rangesOf(maps, options.map.name, signal)).map((one) => {
    const { unfinished, aliveAt, parked, batches, moved } = progressOfRange(one, moves);
    return {
      id: one.id,
      keys: one.keys,
      from: one.from.map(where).join(', '),
      to: where(one.to),
      step: one.step,
      startedAt: one.startedAt,
      aliveAt,
      parked,
      silent: isOpen(one) && isSilentSince(aliveAt, clock.now()),
      offline: unfinished.some(isOffline),
      /** The batches of a range, and how many keys the map has given to the target. */
      range: {
        batches,
        moved,
        total: one.total,
        unfinished: unfinished.map(({ id, keys, step }) => ({ id, keys, step })),
      },
    };
  });
  return [...single, ...ranges].toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

const sayMoves = (map: string, moves: Awaited<ReturnType<typeof listed>>): string =>
  moves.length === 0
    ? 'No move yet.'
    : [
        textTable(
          ['move', 'keys', 'from', 'to', 'step', 'since', 'late writes'],
          moves.map((one) => [
            one.id,
            one.keys,
            one.from,
            one.to,
            one.range ? `${one.step}, ${one.range.moved} of ${one.range.total} keys` : one.step,
            agoText(one.startedAt),
            one.parked.length,
          ]),
        ),
        ...moves.filter(({ silent }) => silent).map((one) => remedyOf(map, one)),
      ].join('\n');

interface Left {
  readonly id: string;
  readonly keys: string;
  readonly step: string;
  readonly aliveAt: string;
  readonly offline: boolean;
  readonly range?: unknown;
}

function remedyOf(map: string, { id, keys, step, aliveAt, offline, range }: Left): string {
  const silent = `The process of the move ${id} has stored nothing since ${aliveAt}`;
  if (offline)
    return `${silent}, and left ${range ? 'a batch of ' : ''}${keys} offline: writes fail. \`millrace shards recover ${map}\` brings it online where it was; the command of the move goes on.`;
  const cancel = ['copying', 'cancelling', 'moving'].includes(step) ? ', or cancel it by its id' : '';
  return `${silent}. If it has died, run its command again${cancel}.`;
}
