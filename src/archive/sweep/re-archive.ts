import { systemClock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { parseDate } from '../../pipeline/date.ts';
import type { ArchiveSpec } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { ArchiveAgain } from '../../kinds/archive/live-half.ts';
import { ArchiveDamaged, blobLineOf } from '../blobs/blob.ts';
import type { BlobStore, HoldingStore } from '../../access/blob-store.ts';
import { type Holds, holdNew } from '../holds.ts';
import { folderOf, periodOf } from '../blobs/layout.ts';
import { inOrder, writeBlob } from './leave-by-ttl.ts';
import { enlist } from '../blobs/manifests.ts';
import { retainNew } from './retention.ts';
import { unavailable } from '../blobs/unavailable.ts';

/**
 * Archives versions that an application wrote back while their documents left the container. It opens the store at the
 * first use. A failure of the storage account is a failure of infrastructure here: no checkpoint passes the page.
 */
export function archiveAgain(open: () => Promise<BlobStore & Partial<HoldingStore>>, holds?: Holds): ArchiveAgain {
  let opened: ReturnType<typeof open> | undefined;
  return async (spec, changes) => {
    const placed = changes.map((change) => placedIn(spec, change));
    const folders = Map.groupBy(placed, ({ period }) => folderOf(period));
    const blobs = new Map<Change, { name: string; line: number }>();
    try {
      const store = await (opened ??= open());
      await mapSettled(
        folders.values(),
        async (of) => {
          const [first] = of;
          if (!first) return;
          const ordered = inOrder(of);
          const record = await writeBlob(store, first.period, ordered, { codec: spec.codec, unique: true });
          await holdNew({ store, holds }, first.period, record.name);
          await retainNew(store, spec, record.name, systemClock.now());
          await enlist(store, first.period, spec.from, record).catch(unlessDamaged);
          for (const [line, { change }] of ordered.entries()) blobs.set(change, { name: record.name, line });
        },
        { concurrency: 8 },
      );
    } catch (error) {
      opened = undefined;
      throw unavailable(error, `${changes.length} changed documents can't be archived again`);
    }
    return blobs;
  };
}

/** The entries name the blob, so readers find it without the manifest. A damaged manifest must not stop the feed. */
function unlessDamaged(error: unknown): void {
  if (!(error instanceof ArchiveDamaged)) throw error;
}

/** The rule doesn't matter any more, and a date that can't be read doesn't either: the document has left already. */
function placedIn(spec: ArchiveSpec, change: Change) {
  const doc = change.leaving?.stored ?? {};
  const at = parseDate(doc[spec.dateField]) ?? change.at;
  return { change, period: periodOf(spec, doc, at), line: blobLineOf({ ...change, doc }) };
}
