// The verbs that change one mapping. None of them moves a document.
import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import { defineChange } from './change.ts';
import {
  changeInput,
  keysInput,
  mapInput,
  ownerInput,
  shardFilter,
  shardInput,
  stopInput,
  stopOptions,
} from './inputs.ts';
import { selectedKeysOf, mappingNamed, shardNamed } from './select.ts';
import type { ChangeResult } from './change.ts';

export const keysOfFirst = ({ added, removed }: ChangeResult): string =>
  (added.mappings[0] ?? removed.mappings[0])?.keys ?? '';
export const shardOfFirst = ({ added, removed }: ChangeResult): string =>
  (added.mappings[0] ?? removed.mappings[0])?.shard ?? '';

export const shardsKeysMap = defineChange({
  name: 'shards keys map',
  summary: 'Map a key, or a range of keys, to a shard',
  examples: [
    'millrace shards keys map tenants --shard west --low 0 --high 1000',
    'millrace shards keys map customers --shard east --key 4711 --offline',
  ],
  input: z.object({
    ...mapInput,
    ...shardInput,
    key: optional('the key, on a list map'),
    low: keysInput.low,
    high: keysInput.high,
    offline: flag('create the mapping offline: its keys can’t be used yet'),
    ...changeInput,
  }),
  change: async (input, { map, now, options }) => {
    const status = input.offline ? 'offline' : 'online';
    const keys = { shard: shardNamed(map, now, input), ...selectedKeysOf(map, input), status } as const;
    return { added: { mappings: [await map.createMapping(keys, options)] } };
  },
  plan: (result) => `map ${keysOfFirst(result)} to ${shardOfFirst(result)}, ${result.added.mappings[0]?.status}`,
  done: (result) => `${keysOfFirst(result)} is mapped to ${shardOfFirst(result)}, ${result.added.mappings[0]?.status}.`,
});

export const shardsKeysUnmap = defineChange({
  name: 'shards keys unmap',
  summary: 'Delete a mapping that is offline; the documents stay where they are',
  examples: [
    'millrace shards keys unmap tenants --low 0 --high 1000',
    'millrace shards keys unmap customers --key 4711',
  ],
  input: z.object({ ...mapInput, ...keysInput, ...ownerInput, ...changeInput }),
  change: async (input, { map, now, options }) => {
    const mapping = await mappingNamed(map, now, input);
    await map.deleteMapping(mapping, options);
    return { removed: { mappings: [mapping] } };
  },
  plan: (result) => `delete the mapping ${keysOfFirst(result)} of ${shardOfFirst(result)}`,
  done: (result) => `${keysOfFirst(result)} has no shard any more. Its documents are in ${shardOfFirst(result)}.`,
});

export const shardsKeysOffline = defineChange({
  name: 'shards keys offline',
  summary: 'Take a mapping offline, and wait until no router writes its keys any more',
  examples: [
    'millrace shards keys offline tenants --key 4711 --dry-run',
    'millrace shards keys offline tenants --low 0 --high 1000 --owner move-7',
  ],
  input: z.object({ ...mapInput, ...keysInput, ...stopInput, ...ownerInput, ...changeInput }),
  change: async (input, { map, now, options }) => {
    const mapping = await mappingNamed(map, now, input);
    const offline = await map.markOffline(mapping, { ...options, ...stopOptions(input) });
    return { removed: { mappings: [mapping] }, added: { mappings: [offline] } };
  },
  again: (input, { removed }, { map, options }) =>
    map.markOffline(removed.mappings[0]!, { ...options, ...stopOptions(input) }),
  plan: (result) => `take ${keysOfFirst(result)} on ${shardOfFirst(result)} offline`,
  done: (result) => `${keysOfFirst(result)} on ${shardOfFirst(result)} is offline.`,
});

export const shardsKeysOnline = defineChange({
  name: 'shards keys online',
  summary: 'Bring a mapping online, on its shard or on another one that has its documents now',
  examples: [
    'millrace shards keys online tenants --key 4711',
    'millrace shards keys online tenants --low 0 --high 1000 --shard east',
  ],
  input: z.object({ ...mapInput, ...keysInput, ...shardFilter, ...ownerInput, ...changeInput }),
  change: async (input, { map, now, options }) => {
    const mapping = await mappingNamed(map, now, input);
    const shard = input.shard === undefined ? undefined : shardNamed(map, now, { ...input, shard: input.shard });
    const update = { status: 'online', ...(shard && { shard }) } as const;
    return {
      removed: { mappings: [mapping] },
      added: { mappings: [await map.updateMapping(mapping, update, options)] },
    };
  },
  plan: (result) => `bring ${keysOfFirst(result)} online on ${shardOfFirst(result)}${moved(result)}`,
  done: (result) => `${keysOfFirst(result)} is online on ${shardOfFirst(result)}${moved(result)}.`,
});

const moved = ({ removed, added }: ChangeResult): string => {
  const [before, after] = [removed.mappings[0]?.shard, added.mappings[0]?.shard];
  return before === after ? '' : `, not on ${before} any more. It moves no document`;
};
