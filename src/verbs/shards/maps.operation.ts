import { z } from 'zod';
import { optional, required } from '../flags.ts';
import { KEY_TYPES, type KeyTypeName } from '../../shards/keys/key-type.ts';
import type { ShardSchema } from '../../shards/index.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import { defineOperation } from '../operation.ts';
import { listOf, mapInput } from './inputs.ts';
import { mapNamed, openManager } from '../../procedures/shards/open.ts';

const keyTypes = Object.keys(KEY_TYPES) as [KeyTypeName, ...KeyTypeName[]];

export const shardsMapCreate = defineOperation({
  name: 'shards map create',
  summary: 'Create a shard map: by single keys (list) or by ranges of keys (range)',
  examples: [
    'millrace shards map create tenants --kind range --key-type int64 --sharded Orders=/tenantId,Invoices=/tenantId',
    'millrace shards map create customers --kind list --key-type guid --sharded Orders=/customerId --reference Currencies',
  ],
  effect: 'changes',
  argument: 'map',
  input: z.object({
    map: z.string().min(1).describe('name of the new map'),
    kind: z.enum(['list', 'range']).describe('list: a mapping has one key; range: a mapping has all keys of a range'),
    keyType: z.enum(keyTypes).describe('type of the keys. Ranges can’t have keys of type text'),
    sharded: required('containers with the path of the key: NAME=/PATH, several with commas'),
    reference: optional('containers that every shard has in full, several with commas'),
    fenced: optional('sharded containers with fenced writes, several with commas. List maps only'),
  }),
  plan: async (asked, context) => {
    const { map, kind, keyType } = asked;
    const manager = await openManager(context);
    schemaOf(asked);
    const known = await manager.tryGetMap(map);
    if (known) throw sharedError('exists', `There is a shard map ${known.name} already`);
    return { steps: [`create the ${kind} map ${map} of ${keyType} keys`], ru: 0 };
  },
  run: async (asked, context) => {
    const manager = await openManager(context);
    return audited(context, 'shards map create', asked, async () => {
      const { keyType, kind } = asked;
      const wanted = { keyType, schema: schemaOf(asked) };
      const map = await (kind === 'list'
        ? manager.createListMap(asked.map, wanted)
        : manager.createRangeMap(asked.map, wanted));
      return { map: map.name, kind, keyType, schema: map.schema };
    });
  },
  format: ({ map, kind, keyType }) =>
    `The ${kind} map ${map} of ${keyType} keys has no shard yet. Add one: \`millrace shards add ${map} --shard DATABASE\`.`,
});

interface Containers {
  readonly sharded: string;
  readonly reference?: string | undefined;
  readonly fenced?: string | undefined;
}

/** @throws UsageError `input-invalid` */
function schemaOf({ sharded, reference, fenced }: Containers): ShardSchema {
  const parts = listOf(sharded).map((part) => /^([^=]+)=(\/.+)$/.exec(part));
  const wrong = listOf(sharded).find((_, at) => !parts[at]);
  if (wrong !== undefined)
    throw operationsError('input-invalid', `--sharded: ${wrong} is not a container with the path of its key`, {
      hint: 'Write it as NAME=/PATH, several with commas: --sharded Orders=/tenantId,Invoices=/tenantId.',
    });
  const paths = Object.fromEntries(parts.map((part) => [part?.[1], part?.[2]]));
  return {
    sharded: paths,
    ...(reference !== undefined && { reference: listOf(reference) }),
    ...(fenced !== undefined && { fenced: listOf(fenced) }),
  };
}

export const shardsMapDelete = defineOperation({
  name: 'shards map delete',
  summary: 'Delete a shard map that has no shards',
  examples: ['millrace shards map delete tenants --dry-run', 'millrace shards map delete tenants --yes'],
  effect: 'destroys',
  argument: 'map',
  input: z.object(mapInput),
  plan: async ({ map: name }, context) => {
    const manager = await openManager(context);
    const map = await mapNamed(manager, name);
    if ((await map.shards()).length > 0)
      throw sharedError('wrong-state', `The shard map ${map.name} has shards`, {
        hint: 'Delete its mappings and shards first.',
      });
    return { steps: [`delete the map ${map.name}`], ru: 0 };
  },
  run: async (asked, context) => {
    const manager = await openManager(context);
    const { name } = await mapNamed(manager, asked.map);
    return audited(context, 'shards map delete', asked, async () => {
      await manager.deleteMap(name);
      return { map: name };
    });
  },
  format: ({ map }) => `The map ${map} is deleted.`,
});
