import { z } from 'zod';
import { named } from '../flags.ts';
import { messageOf } from '../../base/errors.ts';
import type { Difference as MapDifference, ShardMap, ShardMapManager } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { rowOf, sayDifference } from './compare.ts';
import { pendingOf, sayPending } from './draw.ts';
import { mapInput, shardFilter } from './inputs.ts';
import { movesOf } from '../../procedures/move/record.ts';
import { type Keep, type LateWrite, lateWrites, resolveLate } from '../../procedures/move/late-writes.ts';
import { moveOptions, shownMove } from './moving-verbs.ts';
import { mapNamed, openManager, openMap, openPlaces } from '../../procedures/shards/open.ts';
import { shardNamed } from './select.ts';

const input = z.object({
  map: mapInput.map.optional().describe('name of the shard map (default: all maps)'),
  ...shardFilter,
  repair: z
    .enum(['source', 'target'])
    .optional()
    .describe(
      'resolve late writes of the map first. source: carry them over to the target of their move; target: delete them from its source',
    ),
  container: named('with --repair: only documents of this container'),
  id: named('with --repair: only documents with this id'),
});
type Input = z.output<typeof input>;

export const shardsCheck = defineOperation({
  name: 'shards check',
  summary:
    'Check that shard maps, the local maps and the containers of their shards agree; name late writes that moves have left, and resolve them',
  examples: [
    'millrace shards check',
    'millrace shards check tenants --shard west',
    'millrace shards check tenants --repair target --dry-run',
    'millrace shards check tenants --repair source --container Orders --id 4711 --yes',
  ],
  effect: 'reads',
  effects: { repair: 'destroys' },
  argument: 'map',
  input,
  plan: async (asked, context) => {
    if (asked.repair === undefined) return { steps: [], ru: 0 };
    const what = asked.repair === 'source' ? 'carry over and remove from the source:' : 'delete from the source:';
    const late = await lateOf(await openMap(context, mapToRepair(asked)), context);
    return { steps: late.filter(chosenBy(asked)).map((one) => `${what} ${shownMove(one)}`), ru: 0 };
  },
  run: async (asked, context) => {
    const { signal } = context;
    const resolved = asked.repair === undefined ? [] : await resolveChosen(asked, asked.repair, context);
    const manager = await openManager(context);
    const maps = asked.map === undefined ? await manager.maps() : [await mapNamed(manager, asked.map)];
    const checked = [];
    for (const map of maps) {
      signal.throwIfAborted();
      const late = await lateOf(map, context);
      checked.push({ ...(await checkMap(manager, map, asked, signal)), late, resolved });
    }
    return checked;
  },
  ok: (maps) => maps.every((map) => faults(map) === 0),
  format: (maps) =>
    maps
      .flatMap(({ map, differences, unfit, unchecked, pending, detached, late, resolved }) => [
        ...(resolved.length > 0 ? [`${map}: ${plural(resolved.length, 'late write')} resolved.`] : []),
        ...differences.map((row) => `${map}: ${sayDifference(row)}`),
        ...unfit.map(({ what }) => `${map}: ${what}. Its documents can’t be written or moved.`),
        ...unchecked.map(({ shard, what }) => `${map}: ${shard} was not checked: ${what}`),
        ...pending.map((one) => `${map}: ${sayPending(one)}`),
        ...detached.map((shard) => `${map}: ${shard} is detached, and was not compared.`),
        ...(differences.some(({ lost }) => lost !== null)
          ? [
              `Make a local map again from the map, where the documents of the shard are there: \`millrace shards recover ${map} --from map --shard DATABASE\`.`,
            ]
          : []),
        ...(differences.some(({ lost }) => lost === null)
          ? [
              `${plural(differences.length, 'difference')} of ${map}. Decide which side is right: \`millrace shards recover ${map} --from map\`, or \`--from shard\`.`,
            ]
          : []),
        ...(unfit.length > 0
          ? ['Create what a shard lacks: `millrace shards init --shard DATABASE`. If documents are lost, restore them.']
          : []),
        ...late.flatMap((one) => [
          `${map}: late write of the move ${one.move}: ${shownMove(one)}`,
          ...(one.unread === undefined
            ? (['source', 'target'] as const).map(
                (side) => `  ${side} ${one[side] ? JSON.stringify(one[side]) : 'has nothing'}`,
              )
            : [`  not read: ${one.unread}`]),
        ]),
        ...(late.length > 0
          ? [
              `${plural(late.length, 'late write')} of ${map}. \`millrace shards check ${map} --repair source\` carries them over, \`--repair target\` deletes them.`,
            ]
          : []),
        ...(faults({ differences, unfit, unchecked, pending, late }) === 0 ? [`${map}: no differences.`] : []),
      ])
      .join('\n') || 'No shard map yet.',
});

const FAULTS = ['differences', 'unfit', 'unchecked', 'pending', 'late'] as const;

const faults = (of: Readonly<Record<(typeof FAULTS)[number], readonly unknown[]>>): number =>
  FAULTS.reduce((sum, kind) => sum + of[kind].length, 0);

interface Late extends LateWrite {
  /** Why neither version was read: a shard is away, or the keys have moved on. */
  readonly unread?: string;
}

/** Late writes that moves have named, with both versions. */
async function lateOf(map: ShardMap, context: Context): Promise<Late[]> {
  const { maps } = await openPlaces(context);
  const moves = (await movesOf(maps, map.name, context.signal)).filter(({ parked }) => parked.length > 0);
  const late: Late[] = [];
  for (const { id, parked } of moves)
    try {
      late.push(...(await lateWrites(await moveOptions(context, map.name, { takeOver: false }), id)));
    } catch (error) {
      context.signal.throwIfAborted();
      late.push(...parked.map((one) => ({ ...one, move: id, unread: messageOf(error) })));
    }
  return late;
}

/** @throws UsageError `input-invalid` */
function mapToRepair({ map }: Input): string {
  if (map !== undefined) return map;
  throw operationsError('input-invalid', '--repair needs the name of a map', {
    hint: 'Run `millrace shards check` to see which map has late writes.',
  });
}

const chosenBy =
  ({ container, id }: Input) =>
  (one: Identity): boolean =>
    (container === undefined || one.container === container) && (id === undefined || one.id === id);

async function resolveChosen(asked: Input, keep: Keep, context: Context): Promise<readonly Identity[]> {
  const map = await openMap(context, mapToRepair(asked));
  const chosen = chosenBy(asked);
  return audited(context, 'shards check', asked, async () => {
    const moves = new Set((await lateOf(map, context)).filter(chosen).map(({ move }) => move));
    const options = await moveOptions(context, map.name, { takeOver: false });
    const resolved = [];
    for (const move of moves) resolved.push(...(await resolveLate(options, move, keep, chosen)));
    return resolved;
  });
}

interface Found {
  readonly shard: string;
  readonly what: string;
}

async function checkMap(manager: ShardMapManager, map: ShardMap, { shard, endpoint }: Input, signal: AbortSignal) {
  const before = await map.inspect();
  const only = shard === undefined ? undefined : shardNamed(map, before, { shard, endpoint });
  const differences: MapDifference[] = [];
  const unfit: Found[] = [];
  const unchecked: Found[] = [];
  for (const one of before.shards) {
    if (one.detached || (only && one.id !== only.id)) continue;
    const at = shownLocation(one.location);
    try {
      differences.push(...(await map.check(one)));
      const what = await manager.unfit(map, one);
      if (what !== undefined) unfit.push({ shard: at, what });
    } catch (error) {
      // The other shards are checked all the same.
      signal.throwIfAborted();
      unchecked.push({ shard: at, what: messageOf(error) });
    }
  }
  const now = await map.inspect();
  return {
    map: map.name,
    differences: differences.map((one) => rowOf(one, now.shards)),
    unfit,
    unchecked,
    pending: pendingOf(now),
    detached: now.shards.filter(({ detached }) => detached).map(({ location }) => shownLocation(location)),
  };
}
