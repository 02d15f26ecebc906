import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { type DrawnLine, pendingOf, sayPending, tableOf, withGaps } from './draw.ts';
import { keysInput, mapInput, shardFilter } from './inputs.ts';
import { openMap } from '../../procedures/shards/open.ts';
import { shardMappingRow, shardRow, shownShard } from './rows.ts';
import { mappingNamed, shardNamed } from './select.ts';

export const shardsShow = defineOperation({
  name: 'shards show',
  summary: 'Show a shard map: its mappings in the order of their keys, with shard, status and lock, and its gaps',
  examples: [
    'millrace shards show tenants',
    'millrace shards show tenants --key 4711',
    'millrace shards show tenants --shard west --json',
  ],
  effect: 'reads',
  argument: 'map',
  input: z.object({
    ...mapInput,
    key: keysInput.key,
    ...shardFilter,
    most: z.int().min(1).default(200).describe('how many lines of mappings and gaps to show'),
  }),
  run: async ({ map: name, key, shard, endpoint }, context) => {
    const map = await openMap(context, name);
    const now = await map.inspect();
    const only = shard === undefined ? undefined : shardNamed(map, now, { shard, endpoint });
    const chosen = key === undefined ? now.mappings : [await mappingNamed(map, now, { key })];
    const mappings = chosen
      .filter((mapping) => !only || mapping.shard === only.id)
      .map((mapping) => shardMappingRow(mapping, now.shards));
    const whole = key === undefined && !only;
    return {
      map: map.name,
      kind: map.kind,
      keyType: map.keyType,
      schema: map.schema,
      generation: now.generation,
      shards: now.shards.map(shardRow),
      mappings,
      gaps:
        whole && map.kind === 'range'
          ? withGaps(map, mappings)
              .filter((line) => 'gap' in line)
              .map(({ keys }) => keys)
          : [],
      pending: pendingOf(now),
    };
  },
  format: ({ map, kind, keyType, schema, shards, mappings, gaps, pending }, { most, key }) => {
    const sharded = Object.entries(schema.sharded).map(([container, path]) => `${container} by ${path}`);
    const reference = schema.reference?.length ? `; in every shard ${schema.reference.join(', ')}` : '';
    const fenced = schema.fenced?.length ? `; fenced ${schema.fenced.join(', ')}` : '';
    const unused = shards.filter((shard) => mappings.every((mapping) => mapping.shard !== shownShard(shard)));
    const lines: readonly DrawnLine[] = gaps.length > 0 ? withGaps({ keyType }, mappings) : mappings;
    return [
      `${map}: a ${kind} map of ${keyType} keys. Sharded: ${sharded.join(', ')}${reference}${fenced}`,
      ...(lines.length > 0 ? tableOf(lines, most) : ['No mapping: no key has a shard.']),
      ...(key === undefined && unused.length > 0
        ? [`Shards without these keys: ${unused.map(shownShard).join(', ')}`]
        : []),
      ...shards.filter(({ detached }) => detached).map((shard) => `${shownShard(shard)} is detached.`),
      ...pending.map(sayPending),
    ].join('\n');
  },
});
