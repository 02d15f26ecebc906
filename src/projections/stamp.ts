import { type Change, type Identity, type Key, type Version, compareVersions } from '../feed/reading/change.ts';
import type { SinkSession } from '../sinks/session.ts';

/** What a derived document remembers of its source: identity and version (`_src`). */
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

/**
 * Whether a change is newer than what was derived before. An undecided pair (equal lsn, another etag) is settled by
 * reading the source: the version that is there now wins, and where it is neither, a newer one is still to come.
 */
export async function standing(
  change: Change,
  stored: Version,
  sink: SinkSession,
): Promise<'older' | 'same' | 'newer'> {
  const order = compareVersions(change.version, stored);
  if (order !== 'undecided') return order;
  const [now] = await sink.read(change.container, change.key, [change.id]);
  return now?._etag === change.version.etag ? 'newer' : 'older';
}
