import { canonical } from '../../../base/json.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { storedKey } from '../../../cosmos/paths.ts';
import { Buckets } from './buckets.ts';
import { type Moving, accessTo, documentsOf } from '../moving.ts';
import { MovedDocuments, markOf } from '../documents.ts';
import type { MovedContainer } from '../side.ts';

interface Compared {
  /** Documents of the source that the target has not, or in another version. */
  readonly missing: readonly string[];
}

type Stored = Record<string, unknown>;
type Each = (document: Stored, place: string) => void;

/**
 * Compares the identities and versions of both sides, and takes from the target what the source no longer has: its feed
 * doesn't show deletions. `still`: nothing is written, so what is missing is missing. Both sides are read at first to make
 * digests of them, and what is kept in memory is what differs, in a second reading.
 */
export async function compareSides(
  moving: Moving,
  of: MovedContainer,
  { still }: { readonly still: boolean },
): Promise<Compared> {
  const buckets = new Buckets();
  const entryOf = (place: string, etag: unknown): string => (still ? `${place} ${String(etag)}` : place);
  const sides = [
    () => eachOf(moving, of, 'source', (doc, place) => buckets.add(place, entryOf(place, doc['_etag'])), false),
    // While the source is written, the next round of the feed copies what is newer.
    () => eachOf(moving, of, 'target', (doc, place) => buckets.add(place, entryOf(place, markOf(doc)?.etag)), still),
  ];
  await mapSettled(sides, (side) => side(), { concurrency: 2 });
  if (buckets.areSame) return { missing: [] };
  const wanted = new Map<string, unknown>();
  const keep: Each = (doc, place) => buckets.differs(place) && wanted.set(place, doc['_etag']);
  await eachOf(moving, of, 'source', keep, false);
  const extra: Stored[] = [];
  const match: Each = (doc, place) => {
    if (!buckets.differs(place)) return;
    if (!wanted.has(place)) extra.push(doc);
    else if (!still || markOf(doc)?.etag === wanted.get(place)) wanted.delete(place);
  };
  await eachOf(moving, of, 'target', match, true);
  await removeExtra(moving, of, extra, still);
  return { missing: still ? [...wanted.keys()] : [] };
}

async function removeExtra(
  moving: Moving,
  of: MovedContainer,
  extra: readonly Stored[],
  still: boolean,
): Promise<void> {
  const { signal, from, to, total, clock, readLagMs } = moving;
  const sources = new MovedDocuments(of.left, accessTo(moving, from));
  const targets = new MovedDocuments(of.right, accessTo(moving, to));
  const removed = await mapSettled(
    extra,
    async (doc) => {
      const mark = markOf(doc);
      // It leaves by itself, and its entry stays.
      if (mark?.cold) return false;
      if (mark?.lsn === undefined) return false;
      const key = storedKey(doc, of.left.keyPaths);
      // It may have come after the source was read, and a lagging replica may still show a deleted one.
      for (const settled of still ? [true] : [false, true]) {
        if (await sources.read(key, String(doc['id']))) return false;
        if (!settled) await clock.sleep(readLagMs, signal);
      }
      return targets.markGone(doc, { epoch: mark.epoch ?? 0, lsn: mark.lsn + 0.5 });
    },
    { concurrency: 32 },
  );
  total.removed += removed.filter(Boolean).length;
}

/** Reads one side. `whole`: with all of each document; else with what names it and its version. */
async function eachOf(
  { signal }: Moving,
  of: MovedContainer,
  side: 'source' | 'target',
  each: Each,
  whole: boolean,
): Promise<void> {
  const { keyPaths } = of.left;
  const names = new Set(['id', '_etag', ...keyPaths.map(([name = '']) => name)]);
  const columns = [...names].map((name) => `c[${JSON.stringify(name)}]`).join(', ');
  for await (const doc of documentsOf<Stored>(of[side], whole ? 'SELECT *' : `SELECT ${columns}`, of, signal)) {
    each(doc, canonical([storedKey(doc, keyPaths), String(doc['id'])]));
  }
}
