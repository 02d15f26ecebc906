// The archived documents of one tenant, for its export.
import type { BlobStore } from '../../access/blob-store.ts';
import { findArchived, isEntryOf } from '../../archive/read/archived-line.ts';
import { type Identities, identityOf } from '../../archive/read/identities.ts';
import { mayHold } from '../../archive/blobs/layout.ts';
import { KeptBlobs } from '../../archive/blobs/kept-blobs.ts';
import { storedBlobs } from '../../archive/blobs/stored-blobs.ts';
import type { Clock } from '../../base/clock.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { RESTORING } from '../../feed/reading/mapper.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';

export interface ColdOptions {
  readonly container: string;
  readonly asked: AskedTenant;
  /** The documents that were read from the container. */
  readonly seen: Identities;
  readonly store: BlobStore;
  /** Other places have their documents in these blobs too. */
  readonly shared: boolean;
  readonly stateContainer: string;
  readonly access: DocumentAccess;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Cold {
  readonly cold: boolean;
  readonly document: Doc;
}

/**
 * The documents of a container that its read didn't show: those in the archive, and those that moved from one to the other
 * meanwhile. Each comes once.
 * @throws ArchiveDamaged a blob or a manifest that may hold the tenant's documents is missing or damaged
 */
export async function* archivedOf(options: ColdOptions): AsyncGenerator<Cold> {
  const { container, asked, seen, store, shared, stateContainer, access, readLagMs, clock, signal } = options;
  const entries = new Entries(stateContainer);
  const kept = new KeptBlobs((name) => store.read(name));
  /** Documents of lines that are not their current version. Most were deleted. */
  const open = new Map<string, Identity>();
  let waited = false;
  const lag = (): Promise<void> => clock.sleep(readLagMs, signal);
  const isNamed = (name: string): Promise<boolean> => entries.name(name, access);
  const blobs = storedBlobs(store, isNamed, container, (place) => mayHold(place, asked.tenant));
  for await (const { name, listed, read } of blobs) {
    signal.throwIfAborted();
    // After this wait, every replica has the entry of each document that left the container before its read.
    if (!waited) await lag();
    waited = true;
    if (!listed && !(await isNamed(name))) continue;
    const documents = (await read()).filter((line) => asked.owns(line.container, line.doc));
    const lines = documents.filter((line) => line.container === container);
    const known = await entries.read(lines, access);
    for (const [index, line] of lines.entries()) {
      // Without an entry it is another place's.
      if (shared && !known[index]) continue;
      if (!isEntryOf(known[index], line)) open.set(identityOf(line), line);
      else if (seen.add(line)) yield { cold: true, document: line.doc };
    }
  }
  // Twice, with a wait: a stale read may hide a document that was restored meanwhile.
  for (const again of [false, true]) {
    for (const [key, identity] of open) {
      const found = seen.has(identity) ? 'seen' : await locate(identity, entries, kept, access);
      if (!found) continue;
      open.delete(key);
      if (found !== 'seen' && seen.add(identity) && asked.owns(container, found.document)) yield found;
    }
    if (open.size === 0 || again) return;
    await lag();
  }
}

/** Reads the entry before and after the container: a document that the entry says is void is then there, or deleted. */
async function locate(
  identity: Identity,
  entries: Entries,
  blobs: KeptBlobs,
  access: DocumentAccess,
): Promise<Cold | undefined> {
  for (;;) {
    access.fence.assert();
    const [before] = await entries.read([identity], access);
    const [hot] = await access.read(identity.container, identity.key, [identity.id]);
    if (hot && hot['type'] !== RESTORING) return { cold: false, document: hot };
    const [entry] = await entries.read([identity], access);
    if (entry?.etag !== before?.etag) continue;
    const line = await findArchived(identity, entry, blobs);
    return line && { cold: true, document: line.doc };
  }
}
