// The verbs that change which shards a map has. None of them creates, deletes or moves a database.
import { z } from 'zod';
import { resourceName } from '../../base/settings.ts';
import type { ShardLocation } from '../../shards/index.ts';
import { type ChangeResult, defineChange } from './change.ts';
import { address, changeInput, mapInput, shardInput, stopInput, stopOptions } from './inputs.ts';
import { shownShard } from './rows.ts';
import { locationOf, shardNamed } from './select.ts';

const shardOf = ({ added, removed }: ChangeResult): string => {
  const row = added.shards[0] ?? removed.shards[0];
  return row ? shownShard(row) : '';
};

export const shardsAdd = defineChange({
  name: 'shards add',
  summary: 'Add a database to a map as a shard; it must exist, with the containers of the map’s schema',
  examples: [
    'millrace shards add tenants --shard west --dry-run',
    'millrace shards add tenants --shard east --endpoint https://east.documents.azure.com',
  ],
  input: z.object({ ...mapInput, ...shardInput, ...changeInput }),
  change: async (input, { map, options }) => ({
    added: { shards: [await map.createShard(locationOf(input), options)] },
  }),
  plan: (result) => `add the shard ${shardOf(result)} to ${result.map}`,
  done: (result) => `${result.map} has the shard ${shardOf(result)} now, without mappings.`,
});

export const shardsRemove = defineChange({
  name: 'shards remove',
  summary: 'Remove a shard without mappings from a map; its database stays',
  examples: ['millrace shards remove tenants --shard west'],
  input: z.object({ ...mapInput, ...shardInput, ...changeInput }),
  change: async (input, { map, now, options }) => {
    const shard = shardNamed(map, now, input);
    await map.deleteShard(shard, options);
    return { removed: { shards: [shard] } };
  },
  plan: (result) => `remove the shard ${shardOf(result)} from ${result.map}`,
  done: (result) => `${result.map} has no shard ${shardOf(result)} any more. The database stays.`,
});

export const shardsDetach = defineChange({
  name: 'shards detach',
  summary: 'Detach a shard whose database is lost: its mappings stay, and changes of other shards don’t wait for it',
  examples: ['millrace shards detach tenants --shard west'],
  input: z.object({ ...mapInput, ...shardInput, ...stopInput, ...changeInput }),
  change: async (input, { map, now, options }) => {
    const shard = shardNamed(map, now, input);
    const detached = await map.detachShard(shard, { ...options, ...stopOptions(input) });
    return { removed: { shards: [shard] }, added: { shards: [detached] } };
  },
  again: (input, { removed }, { map, options }) =>
    map.detachShard(removed.shards[0]!, { ...options, ...stopOptions(input) }),
  plan: (result) => `detach the shard ${shardOf(result)} from ${result.map}`,
  done: (result) =>
    `${shardOf(result)} is detached. Restore its database, then run \`millrace shards attach ${result.map}\`.`,
});

export const shardsAttach = defineChange({
  name: 'shards attach',
  summary:
    'Attach a detached shard, also at another location, or take a shard into a map that was lost and created again',
  examples: [
    'millrace shards attach tenants --shard west --to west-restored',
    'millrace shards attach tenants --shard west --to west --to-endpoint https://new.documents.azure.com',
    'millrace shards attach tenants --shard west',
  ],
  input: z.object({
    ...mapInput,
    ...shardInput,
    to: resourceName('A database name').optional().describe('database where the shard is now (default: the same)'),
    toEndpoint: address.optional().describe('account where the shard is now (default: the same)'),
    ...changeInput,
  }),
  change: async (input, { map, now, options }) => {
    const moved = (from: ShardLocation): ShardLocation =>
      locationOf({ shard: input.to ?? from.database, endpoint: input.toEndpoint ?? from.endpoint });
    // A map that was created again knows none of its former shards.
    if (now.shards.every((known) => known.location.database !== input.shard))
      return { added: { shards: [await map.adoptShard(moved(locationOf(input)), options)] } };
    const shard = shardNamed(map, now, input);
    const attached = await map.attachShard(shard, moved(shard.location), options);
    return { removed: { shards: [shard] }, added: { shards: [attached] } };
  },
  plan: (result) => `attach the shard ${shardOf(result)} to ${result.map}`,
  done: (result) =>
    `${shardOf(result)} is attached. Compare its local map with the map: \`millrace shards check ${result.map}\`.`,
});
