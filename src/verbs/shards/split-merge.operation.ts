// The verbs that cut a mapping and join two. With `--to` they move the documents too, in batches.
import { z } from 'zod';
import { required } from '../flags.ts';
import type { KeySpan } from '../../shards/keys/spans.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { encodeKey } from '../../shards/keys/key-type.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { type ChangeResult, changingMap } from './change.ts';
import { changeInput, mapInput, ownerInput } from './inputs.ts';
import { keyOf } from '../../procedures/shards/keys.ts';
import { keysOfFirst, shardOfFirst } from './mappings.operation.ts';
import { type Moved } from '../../procedures/move/move.ts';
import type { MoveOptions } from '../../procedures/move/options.ts';
import { spanOf } from '../../procedures/move/spans.ts';
import { isOpen, rangesOf } from '../../procedures/move/range/range-record.ts';
import {
  type MoveFlags,
  formatMoved,
  mayMoveInput,
  moveBatches,
  moveOptions,
  planOfRange,
  stepsOf,
  moveTargetOf,
} from './moving-verbs.ts';
import { healMap } from '../../procedures/shards/open.ts';
import { mappingNamed, neighboursAt } from './select.ts';

const splitting = changingMap({
  name: 'shards split',
  summary:
    'Split the mapping that has a key into two: below the key, and from the key on. With --to move the upper one with its documents',
  examples: [
    'millrace shards split tenants --at 5000',
    'millrace shards split months --at 2026-03-01 --dry-run',
    'millrace shards split tenants --at 5000 --to east',
  ],
  input: z.object({
    ...mapInput,
    at: required('first key of the upper half'),
    ...ownerInput,
    ...changeInput,
  }),
  change: async ({ at }, { map, now, options }) => {
    map.assertRange('split');
    const key = keyOf(map.keyType, 'at', at);
    const mapping = await mappingNamed(map, now, { key: at });
    const halves = await map.splitMapping(mapping, key, options);
    return { removed: { mappings: [mapping] }, added: { mappings: halves } };
  },
  plan: (result) => `split ${result.removed.mappings[0]?.keys} on ${shardOfFirst(result)} into ${both(result)}`,
  done: (result) => `${result.removed.mappings[0]?.keys} on ${shardOfFirst(result)} is ${both(result)} now.`,
});

const both = ({ added }: ChangeResult): string => added.mappings.map(({ keys }) => keys).join(' and ');

const merging = changingMap({
  name: 'shards merge',
  summary:
    'Merge the two mappings that meet at a key: they are on one shard, in one status. With --to move them there first',
  examples: ['millrace shards merge tenants --at 5000', 'millrace shards merge tenants --at 5000 --to west'],
  input: z.object({
    ...mapInput,
    at: required('the key at which the lower mapping ends and the upper one begins'),
    ...ownerInput,
    ...changeInput,
  }),
  change: async ({ at, owner }, { map, now, options }) => {
    map.assertRange('merged');
    const [lower, upper] = neighboursAt(map, now, at);
    if (lower.shard !== upper.shard)
      throw sharedError('wrong-state', `${lower.text} and ${upper.text} are on two shards`, {
        hint: `Add \`--to\` with the shard that gets both: \`millrace shards merge ${map.name} --at ${at} --to SHARD\`.`,
      });
    // One owner may have locked both, or one of them.
    const { owner: _, ...unlocked } = options;
    const owners = {
      ...(owner !== undefined && lower.owner !== undefined && { owner }),
      ...(owner !== undefined && upper.owner !== undefined && { upperOwner: owner }),
    };
    const merged = await map.mergeMappings(lower, upper, { ...unlocked, ...owners });
    return { removed: { mappings: [lower, upper] }, added: { mappings: [merged] } };
  },
  plan: (result) => `merge ${result.removed.mappings.map(({ keys }) => keys).join(' and ')} on ${shardOfFirst(result)}`,
  done: (result) => `${keysOfFirst(result)} on ${shardOfFirst(result)} is one mapping.`,
});

interface Cut extends Omit<MoveFlags, 'to'> {
  readonly map: string;
  readonly at: string;
  readonly to?: string | undefined;
  readonly owner?: string | undefined;
  readonly operationId?: string | undefined;
}

/** The keys that a verb moves, on the map as it is. */
type SpanAt = (options: MoveOptions, at: string) => Promise<KeySpan>;

/** From the key on, to the end of its mapping. */
const upperHalf: SpanAt = async ({ map }, at) => {
  map.assertRange('split');
  const mapping = await mappingNamed(map, await map.inspect(), { key: at });
  return { ...spanOf(map, mapping), low: encodeKey(map.keyType, keyOf(map.keyType, 'at', at)) };
};

const bothHalves: SpanAt = async ({ map }, at) => {
  map.assertRange('merged');
  const [lower, upper] = neighboursAt(map, await map.inspect(), at);
  const { high } = spanOf(map, upper);
  return { low: spanOf(map, lower).low, ...(high !== undefined && { high }) };
};

/** A verb of one map operation that moves documents if `--to` is given. */
function movingVerb(verb: 'split' | 'merge', spanAt: SpanAt) {
  const isResumed = ({ low, high }: KeySpan, code: string): boolean =>
    verb === 'split' ? low === code : low < code && (high === undefined || code < high);
  const open = async (given: Cut & { readonly to: string }, context: Context) => {
    for (const flag of ['owner', 'operationId'] as const)
      if (given[flag] !== undefined)
        throw operationsError('input-invalid', `--to moves documents, and takes no \`${flag}\``, {
          hint: 'Leave one of both out. A move locks its mappings itself, and a command that is repeated resumes it.',
        });
    const options = await moveOptions(context, given.map, given);
    const { map, maps, signal } = options;
    const code = encodeKey(map.keyType, keyOf(map.keyType, 'at', given.at));
    const { id: to } = await moveTargetOf(options, given);
    // Its batches are mappings of their own now.
    const begun = (await rangesOf(maps, map.name, signal)).find(
      (one) => isOpen(one) && one.to === to && isResumed(one, code),
    );
    const { low, high } = begun ?? (await spanAt(options, given.at));
    return { options, range: { low, ...(high !== undefined && { high }) } };
  };
  return {
    plan: async (given: Cut & { readonly to: string }, context: Context): Promise<Plan> => {
      const { options, range } = await open(given, context);
      return stepsOf(await planOfRange(options, given, range), given);
    },
    run: async (given: Cut & { readonly to: string }, context: Context): Promise<Moved> => {
      const { options, range } = await open(given, context);
      await healMap(context, options.map);
      return audited(context, `shards ${verb}`, { ...given }, () => moveBatches(options, given, range));
    },
  };
}

const hasTo = <T extends { readonly to?: string | undefined }>(given: T): given is T & { readonly to: string } =>
  given.to !== undefined;
const isMoved = (result: Moved | ChangeResult): result is Moved => 'copied' in result;
const ok = (result: Moved | ChangeResult): boolean => !isMoved(result) || result.parked.length === 0;

const splitWithDocuments = movingVerb('split', upperHalf);
const splitInput = splitting.input.extend(mayMoveInput);
export const shardsSplit = defineOperation<typeof splitInput, Moved | ChangeResult>({
  ...splitting,
  bulk: true,
  input: splitInput,
  plan: (given, context) =>
    hasTo(given) ? splitWithDocuments.plan(given, context) : splitting.plan(alone(given), context),
  run: (given, context) =>
    hasTo(given) ? splitWithDocuments.run(given, context) : splitting.run(alone(given), context),
  format: (result) => (isMoved(result) ? formatMoved(result) : splitting.format(result)),
  ok,
});

const mergeWithDocuments = movingVerb('merge', bothHalves);
const mergeInput = merging.input.extend(mayMoveInput);
export const shardsMerge = defineOperation<typeof mergeInput, Moved | ChangeResult>({
  ...merging,
  bulk: true,
  input: mergeInput,
  plan: (given, context) =>
    hasTo(given) ? mergeWithDocuments.plan(given, context) : merging.plan(alone(given), context),
  run: (given, context) => (hasTo(given) ? mergeWithDocuments.run(given, context) : merging.run(alone(given), context)),
  format: (result) => (isMoved(result) ? formatMoved(result) : merging.format(result)),
  ok,
});

/** Without the flags of moves: the input of a call is part of its name. */
const alone = <T extends Cut>({ to: _t, endpoint: _e, batch: _b, grace: _g, patience: _p, takeOver: _o, ...rest }: T) =>
  rest;
