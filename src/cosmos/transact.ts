import type { Container, OperationInput, OperationResponse } from '@azure/cosmos';
import { type RetryOptions, withRetry } from './retry.ts';

/** Which operation of a transaction was refused, as the others of it are answered 424; -1 where none was. */
export const refusedAt = (results: readonly { readonly statusCode: number }[]): number =>
  results.findIndex(({ statusCode }) => statusCode >= 400 && statusCode !== 424);

/**
 * Operations on documents of one partition key, all of them or none (A5). What refused one is thrown as if that one had
 * been sent alone, so that `failureOf` reads it; a throttled one has all of them sent again.
 */
export function transact(
  container: Container,
  pk: string,
  operations: () => readonly OperationInput[],
  options: RetryOptions,
): Promise<readonly OperationResponse[]> {
  return withRetry(async () => {
    const { code, result = [] } = await container.items.batch([...operations()], pk);
    if (code === 200) return result;
    const refused = result[refusedAt(result)]?.statusCode ?? code;
    throw Object.assign(new Error(`A batch on ${container.id} was answered ${String(refused)}`), { code: refused });
  }, options);
}
