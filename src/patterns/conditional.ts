import type { Container, Item, OperationInput, PartitionKey, PatchOperation } from '@azure/cosmos';
import { type FailureKind, failureOf, kindOfStatus } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { refusedAt } from '../cosmos/transact.ts';

/** Awaits a request whose refusals of some kinds are answers; they are returned by kind. */
export async function answered<T, K extends FailureKind>(
  call: () => Promise<T>,
  kinds: readonly K[],
): Promise<{ readonly done: T } | { readonly refused: K }> {
  try {
    // Each of these is decided by its condition alone, so what is repeated after a lost answer does no harm.
    return { done: await withRetry(call, { reads: true }) };
  } catch (error) {
    const { kind } = failureOf(error);
    const refused = kinds.find((of) => of === kind);
    if (refused !== undefined) return { refused };
    throw error;
  }
}

/** False where there is a document with its id. */
export async function createOf(container: Container, document: object): Promise<boolean> {
  return 'done' in (await answered(() => container.items.create(document, WHOLE), ['conflict']));
}

/** `precondition`: it is there and doesn't meet the condition. `not-found`: it isn't there. */
export type Patched<T> = { readonly done: T } | { readonly refused: 'precondition' | 'not-found' };

/** The content of the answer is wanted, whatever the client asks for otherwise: the SDK's `create` fails without it. */
const WHOLE = { initialHeaders: { Prefer: 'return=representation' } };

/**
 * Patches a document where a condition holds, and returns it as it was written. The service decides a write by what is
 * there now (A15), which no read tells for certain (A3): a patch that changes nothing is a question with a sure answer.
 */
export async function patchWhere<T>(
  item: Item,
  where: string,
  operations: PatchOperation[],
): Promise<Patched<T & { readonly _etag: string }>> {
  const patch = { condition: `FROM c WHERE ${where}`, operations };
  const patched = await answered(() => item.patch(patch, WHOLE), ['precondition', 'not-found']);
  if ('refused' in patched) return patched;
  return { done: patched.done.resource as unknown as T & { readonly _etag: string } };
}

/** Why a transaction had no effect, and which of its operations (0, 1, …) said so. */
export interface FailedBatch {
  readonly kind: FailureKind;
  readonly status: number;
  readonly at: number;
}

/** Sends operations that are all conditional as one transaction; undefined: done. */
export async function batchOf(
  container: Container,
  key: PartitionKey,
  operations: OperationInput[],
): Promise<FailedBatch | undefined> {
  const { result, code } = await withRetry(
    async () => {
      const answer = await container.items.batch(operations, key);
      const status = answer.result?.[refusedAt(answer.result)]?.statusCode;
      // A batch is throttled by what its operations say.
      if (status === 429 || status === 449) throw Object.assign(new Error('Throttled'), { code: status });
      return answer;
    },
    // What is repeated after a lost answer does no harm.
    { reads: true },
  );
  const at = refusedAt(result ?? []);
  const status = result?.[at]?.statusCode ?? code ?? 200;
  return status < 400 ? undefined : { kind: kindOfStatus(status), status, at };
}
