import type { Container, Item, OperationInput, PartitionKey, PatchOperation } from '@azure/cosmos';
import { type FailureKind, failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { Refused, transact } from '../cosmos/transact.ts';

/** Awaits a request; returns a refusal of one of these kinds, and throws every other. */
export async function answered<T, K extends FailureKind>(
  call: () => Promise<T>,
  kinds: readonly K[],
): Promise<{ readonly done: T } | { readonly refused: K }> {
  try {
    // Each of these requests has a condition, so it may be repeated after a lost answer.
    return { done: await withRetry(call, { reads: true }) };
  } catch (error) {
    const { kind } = failureOf(error);
    const refused = kinds.find((of) => of === kind);
    if (refused !== undefined) return { refused };
    throw error;
  }
}

/** False if the container has a document with this id. */
export async function createOf(container: Container, document: object): Promise<boolean> {
  return 'done' in (await answered(() => container.items.create(document, WHOLE), ['conflict']));
}

/** `precondition`: the document exists and doesn't meet the condition. `not-found`: it doesn't exist. */
export type Patched<T> = { readonly done: T } | { readonly refused: 'precondition' | 'not-found' };

/** Asks for the content of the answer, whatever the client's setting is: the SDK's `create` fails without it. */
const WHOLE = { initialHeaders: { Prefer: 'return=representation' } };

/**
 * Patches a document if a condition holds, and returns it as it was written. The service checks the condition on the
 * current document (ASM-A15), while any read may be stale (ASM-A3): so a patch that changes nothing gives a sure
 * answer.
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

/** Sends conditional operations as one transactional batch. Resolves with the refusal; undefined: it succeeded. */
export async function batchOf(
  container: Container,
  key: PartitionKey,
  operations: OperationInput[],
): Promise<Refused | undefined> {
  try {
    // All operations are conditional, so the batch may be repeated after a lost answer.
    await transact(container, key, () => operations, { reads: true });
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}
