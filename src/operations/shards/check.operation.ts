import { z } from 'zod';
import type { Documents } from '../../model/documents.ts';
import type { ShardMap, ShardMapManager } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { readPair } from '../model/pair.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { rowOf, sayDifference } from './compare.ts';
import { type Drift, driftOf, missingMaps } from './document.ts';
import { pendingOf, sayPending } from './draw.ts';
import { mapInput, shardFilter } from './inputs.ts';
import { mapNamed, openManager } from './open.ts';
import { shardNamed } from './select.ts';

const input = z.object({
  map: mapInput.map.optional().describe('name of the shard map (default: all maps)'),
  ...shardFilter,
  document: z
    .boolean()
    .default(false)
    .describe('compare with the section "Shard map" of the data-model document in the pipeline folder too'),
});
type Input = z.output<typeof input>;

export const shardsCheck = defineOperation({
  noun: 'shards',
  verb: 'check',
  summary:
    'Check that shard maps, the local maps and the containers of their shards agree, and are as the document says',
  examples: [
    'millrace shards check',
    'millrace shards check tenants --shard west',
    'millrace shards check tenants --document --pipeline pipelines/shop',
  ],
  effect: 'reads',
  argument: 'map',
  input,
  run: async (asked, context) => {
    const { workspace, signal } = context;
    const documents = asked.document ? (await readPair(workspace, undefined)).documents : undefined;
    const manager = await openManager(context);
    const maps = asked.map === undefined ? await manager.maps() : [await mapNamed(manager, asked.map)];
    const checked = [];
    for (const map of maps) {
      signal.throwIfAborted();
      checked.push(await checkMap(manager, map, asked, documents));
    }
    for (const { map, ...drift } of asked.map === undefined && documents ? missingMaps(maps, documents) : [])
      checked.push({ map, differences: [], unfit: [], drift: [drift], pending: [], detached: [] });
    return checked;
  },
  ok: (maps) => maps.every((map) => faults(map) === 0),
  format: (maps) =>
    maps
      .flatMap(({ map, differences, unfit, drift, pending, detached }) => [
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
        ...(faults({ differences, unfit, drift, pending }) === 0 ? [`${map}: no differences.`] : []),
      ])
      .join('\n') || 'No shard map yet.',
});

const faults = (of: Readonly<Record<'differences' | 'unfit' | 'drift' | 'pending', readonly unknown[]>>): number =>
  of.differences.length + of.unfit.length + of.drift.length + of.pending.length;

async function checkMap(
  manager: ShardMapManager,
  map: ShardMap,
  { shard, endpoint }: Input,
  documents: Documents | undefined,
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
  const drift: Drift[] = documents ? driftOf(map, now, documents) : [];
  return {
    map: map.name,
    differences: differences.map((one) => rowOf(one, now.shards)),
    unfit,
    drift,
    pending: pendingOf(now),
    detached: now.shards.filter(({ detached }) => detached).map(({ location }) => shownLocation(location)),
  };
}
