// Which shard and which mapping the flags of a verb name.
import { suggestion } from '../../base/near.ts';
import {
  type Inspection,
  type InspectedMapping,
  type Shard,
  type ShardLocation,
  type ShardMap,
  keyForm,
} from '../../shards/index.ts';
import { isSameLocation, shownLocation } from '../../shards/map/documents.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../../shards/errors.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { KeysInput, ShardInput } from './inputs.ts';
import { keyOf } from '../../procedures/shards/keys.ts';

/**
 * The shard at a location. Without an endpoint it is the one in the account of the maps, or else the only one of its name.
 * @throws MillraceError `not-found`; UsageError `input-invalid`
 */
export function shardNamed(map: ShardMap, { shards }: Inspection, given: ShardInput): Shard {
  const location = locationOf(given);
  const there = shards.find((shard) => isSameLocation(shard.location, location));
  if (there) return there;
  const alike = given.endpoint === undefined ? shards.filter((one) => one.location.database === given.shard) : [];
  const [first, ...others] = alike;
  if (first && others.length === 0) return first;
  if (first) {
    const where = alike.map((one) => shownLocation(one.location)).join(', ');
    throw operationsError('input-invalid', `The map ${map.name} has several shards ${given.shard}: ${where}`, {
      hint: 'Add `--endpoint`: the address of the account, as `millrace shards list` shows it.',
    });
  }
  const known = shards.map((one) => one.location.database);
  const near = known.includes(given.shard) ? '' : suggestion(given.shard, known);
  throw sharedError('not-found', `The map ${map.name} has no shard at ${shownLocation(location)}${near}`, {
    hint:
      known.length === 0
        ? `It has none yet: \`millrace shards add ${map.name} --shard ${given.shard}\`.`
        : `Its shards are: ${shards.map((one) => shownLocation(one.location)).join(', ')}. \`millrace shards add ${map.name}\` takes a database in as one.`,
  });
}

export const locationOf = ({ shard, endpoint }: ShardInput): ShardLocation => ({
  database: shard,
  ...(endpoint !== undefined && { endpoint }),
});

/** The keys of a new mapping, or of a filter. */
export function selectedKeysOf(map: ShardMap, given: KeysInput) {
  const of = (flag: keyof KeysInput) => {
    const text = given[flag];
    return text === undefined ? {} : { [flag]: keyOf(map.keyType, flag, text) };
  };
  return { ...of('key'), ...of('low'), ...of('high') };
}

/**
 * The mapping that has `--key`, or that is exactly from `--low` up to `--high`.
 * @throws UsageError `input-invalid`, `shard-key-invalid`; MillraceError `mapping-missing`
 */
export async function mappingNamed(
  map: ShardMap,
  { mappings }: Inspection,
  { key, low, high }: KeysInput,
): Promise<InspectedMapping> {
  const hasBounds = low !== undefined || high !== undefined;
  if ((key !== undefined) === hasBounds)
    throw operationsError(
      'input-invalid',
      hasBounds
        ? '--key is given beside --low or --high'
        : 'The command needs --key, or the bounds of a mapping by --low and --high',
      { hint: `Give one of both. Run \`millrace shards show ${map.name}\` to see the mappings.` },
    );
  if (hasBounds && map.kind === 'list')
    throw operationsError('input-invalid', `--low and --high name a range, and ${map.name} is a list map`, {
      hint: `Name one key with --key. \`millrace shards show ${map.name}\` lists them.`,
    });
  const found = key === undefined ? exact(map, mappings, low, high) : await covering(map, mappings, key);
  if (found) return found;
  const what =
    key === undefined ? `is from ${low ?? 'the first key'} up to ${high ?? 'the end'}` : `has the key ${key}`;
  throw shardsError('mapping-missing', `No mapping of ${map.name} ${what}`, {
    hint: `Run \`millrace shards show ${map.name}\` to see the mappings.`,
  });
}

async function covering(map: ShardMap, mappings: readonly InspectedMapping[], key: string) {
  const found = await map.tryMapping(keyOf(map.keyType, 'key', key));
  return mappings.find(({ id }) => id === found?.id);
}

function exact(map: ShardMap, mappings: readonly InspectedMapping[], low?: string, high?: string) {
  const form = (flag: string, text?: string) =>
    text === undefined ? undefined : keyForm(map.keyType, keyOf(map.keyType, flag, text));
  const [from, to] = [form('low', low), form('high', high)];
  return mappings.find((one) => one.key === undefined && one.low === from && one.high === to);
}

/** The two mappings that meet at a key. @throws MillraceError `wrong-state` */
export function neighboursAt(
  map: ShardMap,
  { mappings }: Inspection,
  at: string,
): [InspectedMapping, InspectedMapping] {
  const key = keyForm(map.keyType, keyOf(map.keyType, 'at', at));
  const lower = mappings.find(({ high }) => high === key);
  const upper = mappings.find(({ low }) => low === key);
  if (lower && upper) return [lower, upper];
  throw sharedError('wrong-state', `No two mappings of ${map.name} meet at ${at}`, {
    hint: `Run \`millrace shards show ${map.name}\` to see the mappings.`,
  });
}
