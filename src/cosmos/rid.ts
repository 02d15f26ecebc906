import type { Container, Database } from '@azure/cosmos';
import { withRetry } from './retry.ts';

/**
 * The current `_rid` of a container or a database (1 RU). After it was deleted and created again it has another `_rid`,
 * and the positions, epochs and leases of the old one don't apply to it.
 * @throws the SDK's error; `failureOf` reads it as `not-found` if there is no such container or database
 */
export async function ridOf(of: Container | Database, signal?: AbortSignal): Promise<string> {
  const read = (): Promise<{ readonly resource?: { readonly _rid?: string } | undefined }> => of.read();
  const { resource } = await withRetry(read, { reads: true, ...(signal && { signal }) });
  return resource?._rid ?? '';
}
