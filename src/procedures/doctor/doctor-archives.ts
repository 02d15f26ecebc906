import { ArchiveDamaged } from '../../archive/blobs/blob.ts';
import { BlobOffline } from '../../archive/blobs/blob-offline.ts';
import { manifestBeside } from '../../archive/blobs/layout.ts';
import { readManifest } from '../../archive/blobs/manifests.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { isUnindexed, unindexed } from '../../pipeline/archive-index.ts';
import type { IndexingPolicy } from '../../model/model.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { ENTRY } from '../../kinds/archive/entries.ts';
import { openStore } from '../../runtime/archives.ts';
import { type DoctorFinding, doubtful, good } from './finding.ts';

/** Whether sweeps find what is due by an index, as the containers are now: the document may say nothing of it. */
export async function archiveIndexes(
  { pipeline: { archives } }: LoadedPipeline,
  { place: { database } }: Services,
): Promise<DoctorFinding[]> {
  const found: DoctorFinding[] = [];
  for (const spec of archives) {
    try {
      const { resource } = await withRetry(() => database.container(spec.from.container).read(), { reads: true });
      if (!isUnindexed(spec, resource?.indexingPolicy as IndexingPolicy | undefined)) continue;
      const { message, hint } = unindexed(spec);
      found.push(doubtful('archive', message, hint));
    } catch (error) {
      // The check `containers` reports it.
      if (failureOf(error).kind !== 'not-found') throw error;
    }
  }
  if (archives.length === 0 || found.length > 0) return found;
  return [good('archive', 'sweeps find what is due by an index')];
}

/** A newer version of Millrace shows in the manifests of what was archived last; an archive may have millions of others. */
const NEWEST = `SELECT TOP 20 VALUE c.blob.name FROM c WHERE c.type = '${ENTRY}' AND c.state = 'archived' ORDER BY c._ts DESC`;

/**
 * Reads the manifests that were written last: sweeps, restores and rebuilds end at one whose format this version doesn't
 * know. The check `storage` reports an account that can't be opened.
 * @throws FormatUnreadable
 */
export async function manifestFormats(services: Services, signal: AbortSignal): Promise<DoctorFinding[]> {
  const manifests = new Set<string>();
  for await (const name of fetchAll<string>(services.place.state, NEWEST, signal)) manifests.add(manifestBeside(name));
  if (manifests.size === 0) return [];
  const store = await openStore(services, signal).catch(() => undefined);
  if (!store) return [];
  for (const name of manifests) {
    try {
      await readManifest(store, name);
    } catch (error) {
      // `archive verify` reports damage, and a tier that can't be read says nothing of formats.
      if (!(error instanceof ArchiveDamaged || error instanceof BlobOffline)) throw error;
    }
  }
  return [];
}
