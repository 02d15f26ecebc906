import type { Container, OperationInput, OperationResponse, PartitionKey } from '@azure/cosmos';
import { type FailureKind, kindOfStatus } from './failure.ts';
import { type RetryOptions, withRetry } from './retry.ts';

/** Which operation of a transaction was refused, as the others of it are answered 424; -1 where none was. */
export const refusedAt = (results: readonly { readonly statusCode: number }[]): number =>
  results.findIndex(({ statusCode }) => statusCode >= 400 && statusCode !== 424);

/** What refused a transaction: which of its operations (0, 1, …), read by `failureOf` as if it had been sent alone. */
export class Refused extends Error {
  readonly code: number;
  readonly kind: FailureKind;
  readonly at: number;

  constructor(container: string, code: number, at: number) {
    super(`A batch on ${container} was answered ${code}`);
    this.code = code;
    this.kind = kindOfStatus(code);
    this.at = at;
  }
}

/**
 * Operations on documents of one partition key, all of them or none (A5); a throttled one has all of them sent again.
 * @throws Refused where one of them was
 */
export function transact(
  container: Container,
  pk: PartitionKey,
  operations: () => readonly OperationInput[],
  options: RetryOptions,
): Promise<readonly OperationResponse[]> {
  return withRetry(async () => {
    const { code = 0, result = [] } = await container.items.batch([...operations()], pk);
    if (code === 200) return result;
    const at = refusedAt(result);
    throw new Refused(container.id, result[at]?.statusCode ?? code, at);
  }, options);
}
