import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { digest } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../../shards/errors.ts';
import type { ChangeOptions, Inspection, LoggedOperation, ShardMap, ShardsAndMappings } from '../../shards/index.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { type Operation, defineOperation } from '../operation.ts';
import { healMap, openMap } from '../../procedures/shards/open.ts';
import { type MappingRow, type ShardRow, shardRowsOf } from './rows.ts';

/** What a change took away and brought. */
export interface Changed {
  readonly removed?: Partial<ShardsAndMappings>;
  readonly added?: Partial<ShardsAndMappings>;
}

export interface ChangeResult {
  readonly map: string;
  readonly operationId: string;
  /** True: a call with this operation id had taken effect before, and this is its result. */
  readonly repeated: boolean;
  readonly removed: { readonly shards: readonly ShardRow[]; readonly mappings: readonly MappingRow[] };
  readonly added: { readonly shards: readonly ShardRow[]; readonly mappings: readonly MappingRow[] };
}

interface ChangedMap {
  readonly map: ShardMap;
  /** The map as the shards and mappings of the flags are chosen from. */
  readonly now: Inspection;
  readonly options: ChangeOptions;
}

/** The fields that every input has, or may have. */
interface Common {
  readonly map: string;
  readonly operationId?: string;
  readonly owner?: string;
}

interface ChangeSpec<S extends z.ZodObject> {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  /** With `mapInput` and `changeInput`. */
  readonly input: S;
  /** Must bring `options` to the one method that changes the map, so that --dry-run only checks. */
  readonly change: (input: z.output<S>, target: ChangedMap) => Promise<Changed>;
  /** For a verb that waits after its operation: waits again, for a call that is repeated. */
  readonly again?: (input: z.output<S>, before: LoggedOperation, target: ChangedMap) => Promise<unknown>;
  /** In the imperative, for --dry-run. */
  readonly plan: (result: ChangeResult) => string;
  readonly done: (result: ChangeResult) => string;
}

/** A verb that changes one map in one map operation: with a dry run, an audit record, and the repetition of a lost call. */
export const defineChange = <S extends z.ZodObject>(spec: ChangeSpec<S>): Operation =>
  defineOperation(changingMap(spec));

/** The same as the parts of an operation, for a verb that can do more. */
export function changingMap<S extends z.ZodObject>(spec: ChangeSpec<S>) {
  const { change, again, plan, done, ...description } = spec;
  const { name: verb } = spec;
  const act = async (
    given: z.output<S>,
    context: Context,
    operationId: string,
    dryRun: boolean,
  ): Promise<ChangeResult> => {
    const asked = given as Common;
    const map = await openMap(context, asked.map);
    // The same id with other flags is another call, which the map must not take for this one.
    const id = `${operationId}.${digest({ ...given, operationId, verb }).slice(0, 16)}`;
    const before = asked.operationId === undefined ? undefined : await earlier(map, operationId, id);
    if (!dryRun) await healMap(context, map);
    const now = await map.inspect();
    const options = { operationId: id, dryRun, ...(asked.owner !== undefined && { owner: asked.owner }) };
    if (before && !dryRun) await again?.(given, before, { map, now, options });
    const changed = before ?? (await change(given, { map, now, options }));
    const rows = (of: Partial<ShardsAndMappings> = {}) => shardRowsOf(of, [...now.shards, ...(of.shards ?? [])]);
    return {
      map: map.name,
      operationId,
      repeated: before !== undefined,
      removed: rows(changed.removed),
      added: rows(changed.added),
    };
  };
  const idOf = (given: z.output<S>): string => (given as Common).operationId ?? randomUUID();
  return {
    effect: 'changes' as const,
    ...description,
    argument: 'map' as const,
    plan: async (given: z.output<S>, context: Context): Promise<Plan> => {
      const result = await act(given, context, idOf(given), true);
      return { steps: result.repeated ? [] : [plan(result)], ru: 0 };
    },
    run: (given: z.output<S>, context: Context): Promise<ChangeResult> => {
      const operationId = idOf(given);
      return audited(context, verb, { ...given, operationId }, () => act(given, context, operationId, false));
    },
    format: (result: ChangeResult): string =>
      result.repeated ? `${done(result)} The first call with this id had done it.` : done(result),
  };
}

/** What became of a call with this id before. @throws UsageError `option-invalid`; MillraceError `map-operation-undone` */
async function earlier(map: ShardMap, operationId: string, id: string): Promise<LoggedOperation | undefined> {
  const find = async () => (await map.inspect()).operations.find((one) => one.id.startsWith(`${operationId}.`));
  let found = await find();
  if (!found) return undefined;
  if (found.id !== id)
    throw sharedError('option-invalid', `The operation ${operationId} is another one: ${found.verb}`, {
      hint: 'Repeat a call with exactly its flags, or give another `--operation-id`.',
    });
  if (found.state === 'pending') {
    await map.settle();
    found = await find();
  }
  if (found?.state === 'done') return found;
  throw shardsError('map-operation-undone', `The ${found?.verb} was undone: ${found?.reason}`, {
    hint: 'Remove the cause that the message names, then run the command again with another `--operation-id`.',
  });
}
