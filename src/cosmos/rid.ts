import type { Container, Database } from '@azure/cosmos';
import { withRetry } from './retry.ts';

/**
 * The `_rid` of a container or a database as the service has it now (1 RU). One that was deleted and made again has
 * another: positions, epochs and leases of the former say nothing of it.
 * @throws what the SDK throws; `failureOf` reads it as `not-found` where it isn't there
 */
export async function ridOf(of: Container | Database, signal?: AbortSignal): Promise<string> {
  const read = (): Promise<{ readonly resource?: { readonly _rid?: string } | undefined }> => of.read();
  const { resource } = await withRetry(read, { reads: true, ...(signal && { signal }) });
  return resource?._rid ?? '';
}
