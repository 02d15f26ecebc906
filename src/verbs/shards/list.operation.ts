import { z } from 'zod';
import type { ShardMap } from '../../shards/index.ts';
import { defineOperation } from '../operation.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { pendingOf, sayPending } from './draw.ts';
import { openManager } from '../../procedures/shards/open.ts';
import { shardRow, shownShard } from './rows.ts';

export const shardsList = defineOperation({
  name: 'shards list',
  summary: 'List the shard maps with their shards, the mappings of each, and pending operations',
  examples: ['millrace shards list', 'millrace shards list --env production --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, context) => Promise.all((await (await openManager(context)).maps()).map(rowOf)),
  format: (maps) =>
    maps.length === 0
      ? 'No shard map yet. Create one: `millrace shards map create`.'
      : maps
          .map(({ name, kind, keyType, shards, pending }) =>
            [
              `${name}  (${kind} map of ${keyType} keys)`,
              shards.length === 0
                ? 'no shard yet'
                : textTable(
                    ['shard', 'online', 'offline', ''],
                    shards.map((shard) => [
                      shownShard(shard),
                      shard.online,
                      shard.offline,
                      shard.detached ? 'detached' : '',
                    ]),
                  ),
              ...pending.map(sayPending),
            ].join('\n'),
          )
          .join('\n\n')
          .concat(`\n${plural(maps.length, 'map')}; online and offline count mappings.`),
});

async function rowOf(map: ShardMap) {
  const now = await map.inspect();
  const count = (shard: string, status: string): number =>
    now.mappings.filter((mapping) => mapping.shard === shard && mapping.status === status).length;
  return {
    name: map.name,
    kind: map.kind,
    keyType: map.keyType,
    schema: map.schema,
    shards: now.shards.map((shard) => ({
      ...shardRow(shard),
      online: count(shard.id, 'online'),
      offline: count(shard.id, 'offline'),
    })),
    pending: pendingOf(now),
  };
}
