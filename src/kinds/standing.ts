import { type Change, type Identity, type Key, type Version, compareVersions } from '../feed/reading/change.ts';
import type { DocumentAccess } from '../access/document-access.ts';

/** What a derived document stores about its source: identity and version (`_src`). */
export interface Stamp extends Version {
  readonly pk: Key;
  readonly id: string;
}

export const stampOf = (change: Pick<Change, 'key' | 'id' | 'version'>): Stamp => ({
  pk: change.key,
  id: change.id,
  ...change.version,
});

export const sameIdentity = (a: Identity, stamp: Stamp): boolean =>
  a.id === stamp.id && JSON.stringify(a.key) === JSON.stringify(stamp.pk);

/** By tenure: how often a change of it was older than what had been derived. */
const outrun = new WeakMap<object, number>();
export const outrunIn = (tenure: object): number => outrun.get(tenure) ?? 0;

/**
 * Whether a change is newer than the version that was derived before. Where lsn is equal and the ETag is another, a read
 * of the source decides: the version that is stored now wins. If it is neither of the two, a newer change will come. The
 * copy of a move has the version that readers saw last on the other shard, so it wins; its own ETag is another one.
 */
export async function standing(
  change: Change,
  stored: Version,
  sink: DocumentAccess,
): Promise<'older' | 'same' | 'newer'> {
  const order = await orderOf(change, stored, sink);
  const { tenure } = sink.fence;
  if (order === 'older') outrun.set(tenure, outrunIn(tenure) + 1);
  return order;
}

async function orderOf(change: Change, stored: Version, sink: DocumentAccess): Promise<'older' | 'same' | 'newer'> {
  const order = compareVersions(change.version, stored);
  if (order !== 'undecided') return order;
  if (change.moved) return 'newer';
  const [now] = await sink.read(change.container, change.key, [change.id]);
  return now?._etag === change.version.etag ? 'newer' : 'older';
}
