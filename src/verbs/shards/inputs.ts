import { z } from 'zod';
import { named, optional } from '../flags.ts';
import { resourceName } from '../../base/settings.ts';

/** The argument of every verb about one map. */
export const mapInput = { map: z.string().min(1).describe('name of the shard map; case does not count') };

export const address = z.url({
  protocol: /^https?$/,
  error: 'must be an address such as https://NAME.documents.azure.com',
});

/** Of an option with several values, separated by commas. */
export const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** A shard by its location. */
export const shardInput = {
  shard: resourceName('A database name').describe('database of the shard'),
  endpoint: address.optional().describe('account of the shard (default: the account of the shard maps)'),
};
export const shardFilter = { ...shardInput, shard: shardInput.shard.optional() };

const FORMS = 'in the form of the map’s key type, such as 4711, 2026-03-01 or a GUID';
export const keysInput = {
  key: optional(`a key, ${FORMS}: the mapping that has it`),
  low: optional('first key of a range (default: from the first key of all)'),
  high: optional('first key after a range (default: to the last key of all)'),
};

export const changeInput = {
  operationId: z
    .string()
    .regex(/^[\w-]{1,100}$/, 'has 1 to 100 letters, digits, - and _')
    .optional()
    .describe('name of this call. Repeat the command with it if the answer was lost: it takes effect once'),
};
export const ownerInput = {
  owner: named('token of the mapping’s lock, if it has one'),
};

export interface ShardInput {
  readonly shard: string;
  readonly endpoint?: string | undefined;
}
export interface KeysInput {
  readonly key?: string | undefined;
  readonly low?: string | undefined;
  readonly high?: string | undefined;
}

/** For verbs after which no router may write any more. */
export const stopInput = {
  within: z
    .number()
    .min(0)
    .optional()
    .describe('seconds to wait until all routers have stopped (default: 90; a router that died is forgotten before)'),
};

export const stopOptions = ({ within }: { readonly within?: number | undefined }) =>
  within === undefined ? {} : { withinMs: within * 1_000 };
