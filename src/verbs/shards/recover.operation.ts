import { z } from 'zod';
import { optional } from '../flags.ts';
import type { RepairChoice, RepairProgress, Shard, ShardLocation, ShardMap } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { choiceOf, rowOf, sayDifference } from './compare.ts';
import { pendingOf, sayPending } from './draw.ts';
import { keysInput, listOf, mapInput, shardFilter } from './inputs.ts';
import { forgetHeld } from '../../procedures/move/heal.ts';
import { healMap, leftIn, mapNamed, openManager, openPlaces } from '../../procedures/shards/open.ts';
import { shardNamed } from './select.ts';

const input = z.object({
  ...mapInput,
  from: z
    .enum(['map', 'shard'])
    .optional()
    .describe('repair what differs too. map: the map is right; shard: the local map of the shard is right'),
  ...shardFilter,
  ...keysInput,
  rebuild: optional(
    'of a map that was lost: make it again before, without locks, from the local maps of all its shards: DATABASE or DATABASE@ENDPOINT, several with commas',
  ),
});
type Input = z.output<typeof input>;

export const shardsRecover = defineOperation({
  name: 'shards recover',
  summary:
    'Recover a shard map: finish or undo pending operations, bring keys online that a dead mover left, repair differences, rebuild it',
  examples: [
    'millrace shards recover tenants --yes',
    'millrace shards recover tenants --from map --dry-run',
    'millrace shards recover tenants --from shard --shard west --low 0 --high 1000 --yes',
    'millrace shards recover tenants --rebuild west,east@https://east.documents.azure.com --yes',
  ],
  effect: 'destroys',
  argument: 'map',
  input,
  plan: async (asked, context) => {
    const manager = await openManager(context);
    if (asked.rebuild !== undefined) {
      const known = (await manager.tryGetMap(asked.map)) ? 'complete' : 'create';
      const from = locationsOf(asked.rebuild).map((at) => `take the mappings of ${shownLocation(at)} into the map`);
      return { steps: [`${known} the map ${asked.map}`, ...from], ru: 0 };
    }
    const map = await mapNamed(manager, asked.map);
    const now = await map.inspect();
    const pending = [
      ...pendingOf(now).map(({ verb }) => `finish or undo the pending ${verb}`),
      ...(await leftIn(context, map, now)).flatMap(({ move, offline }) =>
        offline ? [`bring ${move.keys} online, which the move ${move.id} left offline`] : [],
      ),
    ];
    if (asked.from === undefined) return { steps: pending, ru: 0 };
    // To compare would finish them.
    if (pending.length > 0) return { steps: [...pending, 'compare, and repair what differs then'], ru: 0 };
    const shards = await shardsOf(map, asked);
    const chosen = choiceOf(map, asked);
    const steps: string[] = [];
    for (const shard of shards)
      for (const one of (await map.check(shard)).filter(chosen))
        steps.push(`repair from the ${asked.from}: ${sayDifference(rowOf(one, shards))}`);
    return { steps, ru: 0 };
  },
  run: async (asked, context) => {
    const manager = await openManager(context);
    const { rebuild } = asked;
    const known = rebuild === undefined ? await mapNamed(manager, asked.map) : undefined;
    return audited(context, 'shards recover', asked, async () => {
      const map = known ?? (await manager.rebuildMap(asked.map, locationsOf(rebuild ?? '')));
      const before = pendingOf(await map.inspect());
      await map.settle();
      const online = await healMap(context, map);
      const { maps, connect } = await openPlaces(context);
      const { stateContainer } = context.workspace.settings();
      const { signal, clock } = context;
      const epochs = await forgetHeld({ map, maps, signal, clock }, connect, stateContainer);
      const repaired = asked.from === undefined ? 0 : await repair(map, asked, context);
      const now = await map.inspect();
      const waiting = pendingOf(now);
      const still = new Set(waiting.map(({ operation }) => operation));
      const settled = before.filter(({ operation }) => !still.has(operation));
      const size = { shards: now.shards.length, mappings: now.mappings.length };
      return { map: map.name, ...size, settled, waiting, repaired, online, epochs };
    });
  },
  ok: ({ waiting }) => waiting.length === 0,
  format: ({ map, shards, mappings, settled, waiting, repaired, online, epochs }, { from, rebuild }) =>
    [
      ...(rebuild === undefined
        ? []
        : [
            `${map} has ${plural(shards, 'shard')} and ${plural(mappings, 'mapping')}. Look at it: \`millrace shards show ${map}\`.`,
          ]),
      `${plural(settled.length, 'pending operation')} ended.`,
      ...online.map((keys) => `${keys} is online again where it was, after its mover died.`),
      ...(epochs === 0 ? [] : [`Epochs let go that lost moves held: ${epochs}.`]),
      ...waiting.map(sayPending),
      ...(from === undefined ? [] : [`${plural(repaired, 'difference')} repaired.`]),
    ].join('\n'),
});

/** Returns how many differences were repaired. */
async function repair(map: ShardMap, asked: Input, { screen }: Context): Promise<number> {
  const chosen = choiceOf(map, asked);
  const choice: RepairChoice = (one) => (chosen(one) ? asked.from : undefined);
  const progress = (of: RepairProgress): void =>
    screen.progress('differences of a shard repaired', of.repaired, of.repaired + of.left);
  if (asked.shard === undefined) return (await map.repairAll(choice, { progress })).repaired;
  const [shard] = await shardsOf(map, asked);
  return (await map.repairShard(shard!, choice, { progress })).repaired;
}

/** The shards to repair: those that are not detached. */
async function shardsOf(map: ShardMap, { shard, endpoint }: Input): Promise<Shard[]> {
  const now = await map.inspect();
  if (shard !== undefined) return [shardNamed(map, now, { shard, endpoint })];
  return now.shards.filter(({ detached }) => !detached);
}

const locationsOf = (text: string): ShardLocation[] =>
  listOf(text).map((part) => {
    const [, database = part, endpoint] = /^(.+)@(https?:.+)$/s.exec(part) ?? [];
    return { database, ...(endpoint !== undefined && { endpoint }) };
  });
