import { z } from 'zod';
import { flag } from '../flags.ts';
import { type ChangeResult, defineChange } from './change.ts';
import { changeInput, keysInput, mapInput, ownerInput } from './inputs.ts';
import { mappingNamed } from './select.ts';

const keysOf = ({ added }: ChangeResult): string => added.mappings[0]?.keys ?? '';

export const shardsKeysLock = defineChange({
  name: 'shards keys lock',
  summary: 'Lock a mapping for long work: every change of it must then bring the token of the owner',
  examples: ['millrace shards keys lock tenants --low 0 --high 1000 --owner move-7'],
  input: z.object({
    ...mapInput,
    ...keysInput,
    owner: z.string().min(1).describe('the token: a text that names the owner, such as move-7'),
    ...changeInput,
  }),
  change: async (input, { map, now, options }) => {
    const mapping = await mappingNamed(map, now, input);
    await map.lockMapping(mapping, input.owner, options);
    return { removed: { mappings: [mapping] }, added: { mappings: [{ ...mapping, owner: input.owner }] } };
  },
  plan: (result) => `lock ${keysOf(result)} for ${result.added.mappings[0]?.owner}`,
  done: (result) => `${keysOf(result)} is locked by ${result.added.mappings[0]?.owner}. A lock has no end of its own.`,
});

export const shardsKeysUnlock = defineChange({
  name: 'shards keys unlock',
  summary: 'Unlock a mapping with the token of its owner, or by force',
  examples: [
    'millrace shards keys unlock tenants --low 0 --high 1000 --owner move-7',
    'millrace shards keys unlock tenants --key 4711 --force',
  ],
  input: z.object({
    ...mapInput,
    ...keysInput,
    ...ownerInput,
    force: flag('unlock without the token of the owner'),
    ...changeInput,
  }),
  change: async (input, { map, now, options }) => {
    const { owner, ...mapping } = await mappingNamed(map, now, input);
    if (input.force) await map.unlockByForce(mapping, options);
    else await map.unlockMapping(mapping, input.owner ?? '', options);
    return {
      removed: { mappings: [{ ...mapping, ...(owner !== undefined && { owner }) }] },
      added: { mappings: [mapping] },
    };
  },
  plan: (result) => `unlock ${keysOf(result)}, locked by ${lockOf(result)}`,
  done: (result) => `${keysOf(result)} is not locked any more. Its lock was of ${lockOf(result)}.`,
});

const lockOf = ({ removed }: ChangeResult): string => removed.mappings[0]?.owner ?? 'no owner';
