// Blobs drawn by chance, for a verification that costs the same however large the archive is.
import { randomBytes } from 'node:crypto';
import type { Entries } from '../../kinds/archive/entries.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { ArchiveDamaged } from './blob.ts';
import { BlobOffline } from './blob-offline.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { isBlob, isTenant, manifestBeside, placeOf } from './layout.ts';
import { readManifest } from './manifests.ts';
import type { ArchiveFault, BlobRecord } from '../types.ts';

export interface DrawnBlobs {
  /** The drawn blobs, with their records in the manifests beside them. */
  readonly blobs: ReadonlyMap<string, BlobRecord | undefined>;
  /** How many blobs are stored. */
  readonly of: number;
}

/**
 * Draws `most` blobs: half of them by entries, since a blob that is gone is in no list, and the others from the list.
 * Manifests beside them that can't be read are added to `faults`.
 */
export async function drawBlobs(
  store: BlobStore,
  prefix: string,
  {
    most,
    tenant,
    faults,
  }: { readonly most: number; readonly tenant?: string | undefined; readonly faults: ArchiveFault[] },
  { entries, access }: { readonly entries: Entries; readonly access: DocumentAccess },
): Promise<DrawnBlobs> {
  const counts = (name: string): boolean => tenant === undefined || isTenant(placeOf(name), tenant);
  const stored: string[] = [];
  for await (const name of store.list(prefix)) if (isBlob(name) && counts(name)) stored.push(name);
  const of = stored.length;
  const from = randomBytes(32).toString('base64url');
  const named = await entries.someBlobs(prefix, { most: Math.ceil(most / 2), from }, access);
  const drawn = new Map<string, BlobRecord | undefined>(named.filter(counts).map((name) => [name, undefined]));
  while (drawn.size < most && stored.length > 0) {
    const [name = ''] = stored.splice(Math.floor(Math.random() * stored.length), 1);
    drawn.set(name, undefined);
  }
  for (const manifest of new Set([...drawn.keys()].map(manifestBeside))) {
    try {
      for (const record of (await readManifest(store, manifest))?.blobs ?? [])
        if (drawn.has(record.name)) drawn.set(record.name, record);
    } catch (error) {
      if (error instanceof ArchiveDamaged) faults.push(error.fault);
      else if (!(error instanceof BlobOffline)) throw error;
    }
  }
  return { blobs: drawn, of };
}
