import type { Container, OperationInput, OperationResponse, PartitionKey, RequestOptions } from '@azure/cosmos';
import { type FailureKind, kindOfStatus } from './failure.ts';
import { type RetryOptions, withRetry } from './retry.ts';

/** The index of the operation that failed a batch (the others get status 424); -1 if none failed. */
export const refusedAt = (results: readonly { readonly statusCode: number }[]): number =>
  results.findIndex(({ statusCode }) => statusCode >= 400 && statusCode !== 424);

/** Cosmos DB refused a batch because of operation `at` (0, 1, …). `failureOf` reads it like the error of that operation. */
export class Refused extends Error {
  readonly code: number;
  readonly kind: FailureKind;
  readonly at: number;

  constructor(container: string, code: number, at: number) {
    super(`Cosmos DB answered a batch on ${container} with ${code}`);
    this.code = code;
    this.kind = kindOfStatus(code);
    this.at = at;
  }
}

/**
 * Runs operations on documents of one partition key as one transactional batch: all of them or none (ASM-A5). If one is
 * throttled, the whole batch is sent again.
 * @throws Refused
 */
export function transact(
  container: Container,
  pk: PartitionKey,
  operations: () => readonly OperationInput[],
  options: RetryOptions,
  request: Pick<RequestOptions, 'abortSignal'> = {},
): Promise<readonly OperationResponse[]> {
  return withRetry(async () => {
    const { code = 0, result = [] } = await container.items.batch([...operations()], pk, request);
    if (code === 200) return result;
    const at = refusedAt(result);
    throw new Refused(container.id, result[at]?.statusCode ?? code, at);
  }, options);
}
