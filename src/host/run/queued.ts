// Operations that waited as jobs, while keys may have moved to another shard.
import { MillraceError } from '../../base/errors.ts';
import { joinPlaces, operationPlaces } from '../../verbs/at-places.ts';
import type { Context } from '../../procedures/context.ts';
import { type Operation, operationName } from '../../verbs/operation.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * Runs an operation that has waited as a job. One that names keys, in one place of several, works in its place first, then
 * in the others: a move takes along what it writes into the target before it removes it in the source, so this order misses
 * nothing of a key that moves once meanwhile (MOVE-V48).
 */
export async function runQueued(operation: Operation, input: Input, context: Context): Promise<unknown> {
  const { shard } = input;
  const mayHaveMoved = operation.shards === 'one' && typeof shard === 'string' && operation.namesKeys?.(input) === true;
  if (!mayHaveMoved) return (await operation.run(input, context)).value;
  const name = operationName(operation);
  const places = (await operationPlaces(context.workspace, name, 'every', undefined)) ?? [];
  const [home, others] = [places.filter((one) => one.name === shard), places.filter((one) => one.name !== shard)];
  const results = [];
  let unknown: MillraceError | undefined;
  for (const place of [...home, ...others.filter(({ global }) => !global)]) {
    try {
      const result = await operation.run({ ...input, shard: place.name }, context);
      results.push({ place: place.name, global: place.global, ...result });
    } catch (error) {
      // It has none of them. Whatever else fails, the job runs again.
      if (!(error instanceof MillraceError && error.code === 'not-found')) throw error;
      unknown ??= error;
    }
  }
  // As where it is called: no shard has what is named.
  if (unknown && results.length === 0) throw unknown;
  return joinPlaces(results).value;
}
