import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import type { ModelDocuments } from '../../model/documents.ts';
import type { ShardMap, ShardMapManager } from '../../shards/index.ts';
import { MAP_CONTAINER, shownLocation } from '../../shards/map/documents.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { audited } from '../../procedures/audit/record.ts';
import { operationsError } from '../../procedures/errors.ts';
import { readPair } from '../model/pair.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { rowOf, sayDifference } from './compare.ts';
import { type Drift, mapDriftOf, missingMaps } from '../../procedures/shards/compare-with-document.ts';
import { pendingOf, sayPending } from './draw.ts';
import { mapInput, shardFilter } from './inputs.ts';
import { movesOf } from '../../procedures/move/record.ts';
import { type Keep, type LateWrite, lateWrites, settleLate } from '../../procedures/move/late-writes.ts';
import { moveOptions, shownMove } from './moving-verbs.ts';
import { mapNamed, openManager, openPlaces } from '../../procedures/shards/open.ts';
import { shardNamed } from './select.ts';

const input = z.object({
  map: mapInput.map.optional().describe('name of the shard map (default: all maps)'),
  ...shardFilter,
  document: z
    .boolean()
    .default(false)
    .describe('compare with the section "Shard map" of the data-model document in the pipeline folder too'),
  repair: z
    .enum(['source', 'target'])
    .optional()
    .describe(
      'settle late writes of the map first. source: carry them over to the target of their move; target: delete them from its source',
    ),
  container: z.string().min(1).optional().describe('with --repair: only documents of this container'),
  id: z.string().min(1).optional().describe('with --repair: only documents with this id'),
});
type Input = z.output<typeof input>;

export const shardsCheck = defineOperation({
  noun: 'shards',
  verb: 'check',
  summary:
    'Check that shard maps, the local maps and the containers of their shards agree, and are as the document says; name late writes that moves have left, and settle them',
  examples: [
    'millrace shards check',
    'millrace shards check tenants --shard west',
    'millrace shards check tenants --document --pipeline pipelines/shop',
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
    const late = await lateOf(await mapNamed(await openManager(context), mapToRepair(asked)), context);
    return { steps: late.filter(chosenBy(asked)).map((one) => `${what} ${shownMove(one)}`), ru: 0 };
  },
  run: async (asked, context) => {
    const { workspace, signal } = context;
    const settled = asked.repair === undefined ? [] : await settleChosen(asked, asked.repair, context);
    const documents = asked.document ? (await readPair(workspace, undefined)).documents : undefined;
    const manager = await openManager(context);
    const maps = asked.map === undefined ? await manager.maps() : [await mapNamed(manager, asked.map)];
    const checked = [];
    for (const map of maps) {
      signal.throwIfAborted();
      const late = await lateOf(map, context);
      checked.push({ ...(await checkMap(manager, map, asked, documents)), late, settled });
    }
    for (const { map, ...drift } of asked.map === undefined && documents ? missingMaps(maps, documents) : [])
      checked.push({ map, ...NOTHING, drift: [drift] });
    return checked;
  },
  ok: (maps) => maps.every((map) => faults(map) === 0),
  format: (maps) =>
    maps
      .flatMap(({ map, differences, unfit, drift, pending, detached, late, settled }) => [
        ...(settled.length > 0 ? [`${map}: ${plural(settled.length, 'late write')} settled.`] : []),
        ...differences.map((row) => `${map}: ${sayDifference(row)}`),
        ...unfit.map(({ what }) => `${map}: ${what}. Its documents can’t be written or moved.`),
        ...drift.map(({ line, what }) => `${map}: ${line === null ? '' : `line ${line}: `}${what}`),
        ...pending.map((one) => `${map}: ${sayPending(one)}`),
        ...detached.map((shard) => `${map}: ${shard} is detached, and was not compared.`),
        ...(differences.length > 0
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
        ...(faults({ differences, unfit, drift, pending, late }) === 0 ? [`${map}: no differences.`] : []),
      ])
      .join('\n') || 'No shard map yet.',
});

const NOTHING = { differences: [], unfit: [], drift: [], pending: [], detached: [], late: [], settled: [] };

const faults = (
  of: Readonly<Record<'differences' | 'unfit' | 'drift' | 'pending' | 'late', readonly unknown[]>>,
): number => of.differences.length + of.unfit.length + of.drift.length + of.pending.length + of.late.length;

interface Late extends LateWrite {
  /** Why neither version was read: a shard is away, or the keys have moved on. */
  readonly unread?: string;
}

/** Late writes that moves have named, with both versions. */
async function lateOf(map: ShardMap, context: Context): Promise<Late[]> {
  const { database } = await openPlaces(context);
  const named = (await movesOf(database.container(MAP_CONTAINER), map.name, context.signal)).filter(
    ({ parked }) => parked.length > 0,
  );
  const late: Late[] = [];
  for (const { id, parked } of named)
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

async function settleChosen(asked: Input, keep: Keep, context: Context): Promise<readonly Identity[]> {
  const map = await mapNamed(await openManager(context), mapToRepair(asked));
  const chosen = chosenBy(asked);
  return audited(context, 'shards check', asked, async () => {
    const moves = new Set((await lateOf(map, context)).filter(chosen).map(({ move }) => move));
    const options = await moveOptions(context, map.name, { takeOver: false });
    const settled = [];
    for (const move of moves) settled.push(...(await settleLate(options, move, keep, chosen)));
    return settled;
  });
}

async function checkMap(
  manager: ShardMapManager,
  map: ShardMap,
  { shard, endpoint }: Input,
  documents: ModelDocuments | undefined,
) {
  const before = await map.inspect();
  const only = shard === undefined ? undefined : shardNamed(map, before, { shard, endpoint });
  const differences = await map.check(only);
  const now = await map.inspect();
  const unfit: { readonly shard: string; readonly what: string }[] = [];
  for (const one of now.shards) {
    const what = one.detached || (only && one.id !== only.id) ? undefined : await manager.unfit(map, one);
    if (what !== undefined) unfit.push({ shard: shownLocation(one.location), what });
  }
  const drift: Drift[] = documents ? mapDriftOf(map, now, documents) : [];
  return {
    map: map.name,
    differences: differences.map((one) => rowOf(one, now.shards)),
    unfit,
    drift,
    pending: pendingOf(now),
    detached: now.shards.filter(({ detached }) => detached).map(({ location }) => shownLocation(location)),
  };
}
