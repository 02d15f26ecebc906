// The hot half of archives: what their rule names leaves its container, and nothing derived from it may change.
import { createHash } from 'node:crypto';
import type { BlobStore, StoredBlob } from '../../archive/blob-store.ts';
import { openArchive } from '../../archive/open.ts';
import { sweepArchive } from '../../archive/sweep.ts';
import { parseDate } from '../../definition/date.ts';
import type { ArchiveSpec, Pipeline } from '../../definition/kinds.ts';
import type { Services } from '../../operations/workspace.ts';
import type { Model } from '../../model/model.ts';
import type { ByContainer } from './oracle.ts';

/** Blobs in memory, with conditions as Blob Storage has them. */
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

/** Everything is delivered when it is called, so whatever the rule names may leave. */
const OPEN = { acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false };

export interface Swept {
  readonly archived: number;
  /** Why documents that the rule may name stayed. */
  readonly stayed: readonly string[];
}

export async function sweepAll(
  { pipeline, model }: { pipeline: Pipeline; model: Model },
  { database, state }: Services,
  stored: ByContainer,
): Promise<Swept> {
  const swept = { archived: 0, stayed: [] as string[] };
  for (const spec of pipeline.archives) {
    const archive = await openArchive(spec, pipeline, model, { database, state, store: new MemoryBlobs() });
    const result = await sweepArchive(archive, {
      now: dueAt(spec, stored),
      gate: () => Promise.resolve(OPEN),
      signal: new AbortController().signal,
    });
    swept.archived += result.archived;
    swept.stayed.push(...result.stayed);
  }
  return swept;
}

/** When the youngest document is old enough. */
function dueAt({ from, dateField, rule }: ArchiveSpec, stored: ByContainer): number {
  const dates = (stored.get(from.container) ?? []).map((doc) => parseDate(doc[dateField]) ?? 0);
  return Math.max(Date.now(), ...dates) + (rule.kind === 'after' ? rule.ms : 0) + 1;
}
