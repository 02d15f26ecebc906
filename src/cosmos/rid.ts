import type { Container, Database } from '@azure/cosmos';
import { shared } from '../base/shared.ts';
import { withRetry } from './retry.ts';

/**
 * The current `_rid` of a container or a database (1 RU). After it was deleted and created again it has another `_rid`,
 * and the positions, epochs and leases of the old one don't apply to it.
 * @throws the SDK's error; `failureOf` reads it as `not-found` if there is no such container or database
 */
export async function ridOf(of: Container | Database, signal?: AbortSignal): Promise<string> {
  return signal ? readRid(of, signal) : shared(underWay, of, () => readRid(of));
}

/** The feeds of a place ask for the same database at the same time. */
const underWay = new WeakMap<Container | Database, Promise<string>>();

async function readRid(of: Container | Database, signal?: AbortSignal): Promise<string> {
  const read = (): Promise<{ readonly resource?: { readonly _rid?: string } | undefined }> => of.read();
  const { resource } = await withRetry(read, { reads: true, ...(signal && { signal }) });
  return resource?._rid ?? '';
}
