// Time-based retention: the storage account keeps each blob for as long as the archive declares.
import type { ArchiveSpec } from '../../pipeline/specs.ts';
import type { BlobStore, HoldingStore } from '../../access/blob-store.ts';
import { archiveError } from '../errors.ts';

const DAY_MS = 86_400_000;

/**
 * Has the account keep a blob that was just written. To be called before a document of it leaves. Whole days: a host that
 * comes back to a blob sets the same end, since a locked one can't be shortened.
 * @throws UsageError `immutability-off`
 */
export async function retainNew(
  store: BlobStore & Partial<HoldingStore>,
  { name, retain }: Pick<ArchiveSpec, 'name' | 'retain'>,
  blob: string,
  now: number,
): Promise<void> {
  if (!retain) return;
  if (!store.retain) throw archiveError('immutability-off', `Archive ${name} has retain, and its blobs can't be kept`);
  const until = new Date((Math.floor((now + retain.ms) / DAY_MS) + 1) * DAY_MS);
  await store.retain(blob, until, retain.locked);
}
