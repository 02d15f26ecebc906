import { canonical } from '../../../base/json.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { fullKey } from '../../../cosmos/paths.ts';
import { type Moving, accessTo, documentsOf } from './moving.ts';
import { MovedDocuments, markOf } from './documents.ts';
import type { MovedContainer } from './side.ts';

interface Compared {
  /** Documents of the source that the target has not, or in another version. */
  readonly missing: readonly string[];
}

type Stored = Record<string, unknown>;

/**
 * Compares the identities and versions of both sides, and takes from the target what the source no longer has: its feed
 * doesn't show deletions. `still`: nothing is written, so what is missing is missing.
 */
export async function compare(
  moving: Moving,
  of: MovedContainer,
  { still }: { readonly still: boolean },
): Promise<Compared> {
  const { signal, from, to, total, clock, readLagMs } = moving;
  const wanted = new Map<string, string>();
  for await (const doc of documentsOf<Stored>(of.source, 'SELECT *', of, signal))
    wanted.set(placeOf(of, doc), String(doc['_etag']));
  const extra: Stored[] = [];
  for await (const doc of documentsOf<Stored>(of.target, 'SELECT *', of, signal)) {
    const place = placeOf(of, doc);
    const etag = wanted.get(place);
    if (etag === undefined) extra.push(doc);
    // While the source is written, the next round of the feed copies what is newer.
    else if (!still || markOf(doc)?.etag === etag) wanted.delete(place);
  }
  const sources = new MovedDocuments(of.left, accessTo(moving, from));
  const targets = new MovedDocuments(of.right, accessTo(moving, to));
  const removed = await mapSettled(
    extra,
    async (doc) => {
      const mark = markOf(doc);
      // It leaves by itself, and its entry stays.
      if (mark?.cold) return false;
      const keyed = fullKey(doc, of.left.keyPaths);
      if (mark?.lsn === undefined || !('key' in keyed)) return false;
      // It may have come after the source was read, and a lagging replica may still show a deleted one.
      for (const settled of still ? [true] : [false, true]) {
        if (await sources.read(keyed.key, String(doc['id']))) return false;
        if (!settled) await clock.sleep(readLagMs, signal);
      }
      return targets.markGone(doc, { epoch: mark.epoch ?? 0, lsn: mark.lsn + 0.5 });
    },
    { concurrency: 32 },
  );
  total.removed += removed.filter(Boolean).length;
  return { missing: still ? [...wanted.keys()] : [] };
}

function placeOf({ left }: MovedContainer, doc: Stored): string {
  const keyed = fullKey(doc, left.keyPaths);
  return canonical(['key' in keyed ? keyed.key : [], String(doc['id'])]);
}
