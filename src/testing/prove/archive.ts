// Archives in a proof: documents leave their container for blobs, are read from there, and come back.
import { createHash } from 'node:crypto';
import type { BlobStore, StoredBlob } from '../../archive/blob-store.ts';
import { coldReader } from '../../archive/cold-reader.ts';
import { openArchive, historyOf } from '../../archive/open.ts';
import { restoreArchive } from '../../archive/restore.ts';
import { sweepArchive } from '../../archive/sweep.ts';
import type { Archive } from '../../archive/types.ts';
import { verifyArchive } from '../../archive/verify.ts';
import { parseDate } from '../../definition/date.ts';
import { asStored } from '../../definition/discriminator.ts';
import type { ArchiveSpec, Doc } from '../../definition/specs.ts';
import { ownFields } from '../../definition/oracle/recompute.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { ColdRead } from '../../projections/archive/cold-read.ts';
import type { ByContainer } from './oracle.ts';

/** Blobs in memory, with the conditions of Blob Storage. */
class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, StoredBlob>();

  put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean> {
    const etag = createHash('sha256').update(bytes).digest('hex');
    if ((this.#blobs.get(name)?.etag ?? null) !== ifMatch) return Promise.resolve(false);
    this.#blobs.set(name, { bytes, etag });
    return Promise.resolve(true);
  }

  read(name: string): Promise<StoredBlob | undefined> {
    return Promise.resolve(this.#blobs.get(name));
  }

  async *list(prefix: string): AsyncGenerator<string> {
    yield* [...this.#blobs.keys()].filter((name) => name.startsWith(prefix)).toSorted();
  }
}

/** Everything has been delivered before a sweep, so every eligible document may leave. */
const OPEN = { acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false, waits: () => false };
const NEVER = new AbortController().signal;

/** The archives of a pipeline with their blobs. */
export class ColdHalf {
  readonly #loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly #services: Pick<Services, 'place'>;
  readonly #archives: readonly Archive[];
  readonly #store: BlobStore;
  /** Reads an archived source document for projections. */
  readonly read: ColdRead;

  private constructor(
    loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
    services: Pick<Services, 'place'>,
    archives: readonly Archive[],
    store: BlobStore,
  ) {
    this.#loaded = loaded;
    this.#services = services;
    this.#archives = archives;
    this.#store = store;
    this.read = coldReader(() => Promise.resolve(store), services.place.state.id);
  }

  static async open(
    loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
    services: Pick<Services, 'place'>,
  ): Promise<ColdHalf> {
    const store = new MemoryBlobs();
    const { database, state } = services.place;
    const { pipeline, model } = loaded;
    const archives: Archive[] = [];
    const latest = pipeline.sources.map((rules) => ({ ...rules, feed: 'latest' as const }));
    for (const spec of pipeline.archives)
      // A proof delivers latest versions, whatever feed the hosts read.
      archives.push(await openArchive(spec, { ...pipeline, sources: latest }, model, { database, state, store }));
    return new ColdHalf(loaded, services, archives, store);
  }

  /** Archives at a time when the youngest of `stored` is old enough. Returns how many documents left. */
  async sweep(stored: ByContainer): Promise<number> {
    let archived = 0;
    for (const archive of this.#archives) {
      const now = dueAt(archive.spec, stored);
      archived += (await sweepArchive(archive, { now, gate: () => Promise.resolve(OPEN), signal: NEVER })).archived;
    }
    return archived;
  }

  /** The documents that are only in the archive, as read from there; `lagMs`: how old a read may be. */
  async documents(lagMs: number): Promise<ByContainer> {
    const { pipeline, model } = this.#loaded;
    const services = { ...this.#services.place, store: this.#store, readLagMs: lagMs };
    const history = historyOf({ ...pipeline, sources: asStored(pipeline.sources) }, model, services);
    const found = new Map<string, Doc[]>();
    for (const name of new Set(pipeline.archives.map(({ from }) => from.container))) {
      const documents: Doc[] = [];
      for await (const { cold, doc } of history.documents(name, NEVER)) if (cold && doc) documents.push(ownFields(doc));
      found.set(name, documents);
    }
    return found;
  }

  /** The faults of blobs, manifests and entries. */
  async faults(): Promise<string[]> {
    const verified = [];
    for (const archive of this.#archives) verified.push(await verifyArchive(archive, { signal: NEVER }));
    return verified.flatMap(({ faults }) => faults.map(({ what }) => what));
  }

  /** Restores all documents. Returns how many came back. */
  async restore(): Promise<number> {
    let restored = 0;
    for (const archive of this.#archives) restored += (await restoreArchive(archive, {}, { signal: NEVER })).restored;
    return restored;
  }
}

/** The time when the youngest document is old enough. */
function dueAt({ from, dateField, rule }: ArchiveSpec, stored: ByContainer): number {
  const dates = (stored.get(from.container) ?? []).map((doc) => parseDate(doc[dateField]) ?? 0);
  return Math.max(Date.now(), ...dates) + (rule.kind === 'after' ? rule.ms : 0) + 1;
}
