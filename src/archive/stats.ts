import { projectionId } from '../definition/specs.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import { Entries } from '../projections/archive/entries.ts';
import { ArchiveDamaged, bytesOf, linesIn } from './blob.ts';
import { SMALL } from './compact.ts';
import { prefixOf } from './layout.ts';
import { manifests } from './manifests.ts';
import { ownBlobs, ownOf } from './own-blobs.ts';
import type { Archive, ArchiveFault, BlobRecord } from './types.ts';

/** What an archive holds, by its manifests and entries. Sizes are stored bytes. */
export interface ArchiveStats {
  readonly projection: string;
  readonly tenants: number;
  /** First and last month, `yyyy-mm`; null if the archive is empty. */
  readonly from: string | null;
  readonly to: string | null;
  readonly blobs: number;
  /** Blobs of less than 1 MiB. */
  readonly small: number;
  readonly bytes: number;
  /** Lines of the blobs: a document that was archived again has several. */
  readonly lines: number;
  /** Documents that are archived now, by their entries. The other lines were restored, changed, deleted or replaced. */
  readonly archived: number;
  /** Unpacked bytes by stored bytes, of the blobs that were read for it; null if none was read. */
  readonly compression: number | null;
  /** Manifests and blobs that can't be read; they are not counted. */
  readonly faults: readonly ArchiveFault[];
}

/** Counts an archive. It reads all manifests, and the largest `sample` blobs for the compression. */
export async function statsOf(
  archive: Omit<Archive, 'feed' | 'source' | 'mode'>,
  { sample, signal }: { readonly sample: number; readonly signal: AbortSignal },
): Promise<ArchiveStats> {
  const { spec, store, stateContainer, access } = archive;
  const isOwn = await ownBlobs(archive, signal);
  const tenants = new Set<string>();
  const faults: ArchiveFault[] = [];
  const total = { blobs: 0, small: 0, bytes: 0, lines: 0 };
  let months: readonly string[] = [];
  let largest: readonly BlobRecord[] = [];
  for await (const listed of manifests(store, prefixOf(spec))) {
    signal.throwIfAborted();
    if ('fault' in listed) {
      faults.push(listed.fault);
      continue;
    }
    const { blobs = [], tenant = '', period = '' } = ownOf(listed, isOwn)?.manifest ?? {};
    if (blobs.length === 0) continue;
    tenants.add(tenant);
    months = [...months, period].toSorted().filter((_, at, all) => at === 0 || at === all.length - 1);
    for (const blob of blobs) {
      total.blobs += 1;
      total.small += blob.bytes < SMALL ? 1 : 0;
      total.bytes += blob.bytes;
      total.lines += blob.documents;
    }
    largest = [...largest, ...blobs].toSorted((a, b) => b.bytes - a.bytes).slice(0, sample);
  }
  const archived = await new Entries(stateContainer).count(prefixOf(spec), access(untilStopped(signal)));
  let [packed, unpacked] = [0, 0];
  for (const { name } of largest) {
    signal.throwIfAborted();
    try {
      const bytes = await bytesOf(store, name);
      packed += bytes.length;
      for (const line of linesIn(name, bytes)) unpacked += Buffer.byteLength(line) + 1;
    } catch (error) {
      if (!(error instanceof ArchiveDamaged)) throw error;
      faults.push(error.fault);
    }
  }
  return {
    projection: projectionId(spec),
    tenants: tenants.size,
    from: months[0] ?? null,
    to: months.at(-1) ?? null,
    ...total,
    archived,
    compression: packed === 0 ? null : unpacked / packed,
    faults,
  };
}
