import { z } from 'zod';
import type { KeySpan } from '../../shards/keys/spans.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import { defineOperation } from '../operation.ts';
import { type KeysInput, keysInput, mapInput } from './inputs.ts';
import { spanOf } from '../../procedures/move/spans.ts';
import { type Moved, moveMapping, planMove } from '../../procedures/move/move.ts';
import type { MoveOptions } from '../../procedures/move/options.ts';
import {
  formatMoved,
  moveBatches,
  moveInput,
  moveOptions,
  planOfRange,
  stepsOf,
  moveTargetOf,
} from './moving-verbs.ts';
import { healMap } from '../../procedures/shards/open.ts';
import { mappingNamed, selectedKeysOf } from './select.ts';

/** The range of the flags, on a range map; undefined: a single mapping moves. */
function rangeOf(map: MoveOptions['map'], given: KeysInput): KeySpan | undefined {
  const { key, low, high } = given;
  if (map.kind !== 'range' || key !== undefined || (low === undefined && high === undefined)) return undefined;
  const range = spanOf(map, selectedKeysOf(map, given));
  // The move would split a mapping before it found out.
  if (range.high !== undefined && range.high <= range.low)
    throw operationsError('input-invalid', `--low ${low} is not below --high ${high}`, {
      hint: '--high is the first key after the range.',
    });
  return range;
}

const mappingOf = async ({ map }: MoveOptions, given: KeysInput) => mappingNamed(map, await map.inspect(), given);

export const shardsMove = defineOperation({
  name: 'shards move',
  summary: 'Move the keys of a mapping with their documents to another shard while applications write them',
  examples: [
    'millrace shards move tenants --key 4711 --to east --dry-run',
    'millrace shards move tenants --key 4711 --to east',
    'millrace shards move tenants --low 0 --high 1000 --to east --grace 300',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'map',
  input: z.object({ ...mapInput, ...keysInput, ...moveInput }),
  plan: async (given, context) => {
    const options = await moveOptions(context, given.map, given);
    const range = rangeOf(options.map, given);
    if (range) return stepsOf(await planOfRange(options, given, range), given);
    const mapping = await mappingOf(options, given);
    return stepsOf(await planMove(options, mapping, await moveTargetOf(options, given)), given);
  },
  run: async (given, context): Promise<Moved> => {
    const options = await moveOptions(context, given.map, given);
    await healMap(context, options.map);
    const range = rangeOf(options.map, given);
    if (range) return audited(context, 'shards move', given, () => moveBatches(options, given, range));
    const [mapping, shard] = [await mappingOf(options, given), await moveTargetOf(options, given)];
    return audited(context, 'shards move', given, () => moveMapping(options, mapping, shard));
  },
  format: formatMoved,
  ok: ({ parked }) => parked.length === 0,
});
