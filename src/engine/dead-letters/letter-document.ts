import { canonical, digest } from '../../base/json.ts';
import { formatOf } from '../../base/format.ts';
import { type Change, type Identity, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { Kept } from './kept-changes.ts';

/** A change that couldn't be applied. Each document has one dead letter at most: a newer version replaces it. */
export interface DeadLetter extends Identity {
  /** `name@version` of the projection. */
  readonly projection: string;
  readonly type: string;
  /** The tenant of the document. Absent: it has none. */
  readonly tenant?: string;
  readonly version: Version;
  readonly op: Change['op'];
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** How often this version was refused: once when it was parked, and once by each redrive. */
  readonly attempts: number;
  /** True: the change was never tried. An earlier change of its key is parked, and the projection keeps their order. */
  readonly waits?: boolean;
  /** ISO 8601 UTC. */
  readonly firstAt: string;
  readonly lastAt: string;
}

/** The stored form. It keeps the change itself if that waits, or was an event. */
export interface LetterDocument extends DeadLetter, Kept {
  readonly pk: string;
  readonly kind: 'dead-letter';
  readonly format?: number;
  readonly document: string;
  /**
   * Its projection takes changes for events, and gets none of a move, so a move carries the letter along. Absent: it is an
   * ingest's.
   */
  readonly events?: boolean;
  /** A move has brought it from another shard. */
  readonly carried?: true;
  readonly _etag: string;
}

/** The fields of a stored letter that are needed to replace it or to remove it. */
export const STORED_FIELDS = [
  'id',
  'pk',
  'kind',
  'format',
  '_etag',
  'version',
  'waits',
  'attempts',
  'message',
  'firstAt',
  'parts',
  'blob',
] as const;
export type StoredLetter = Pick<LetterDocument, (typeof STORED_FIELDS)[number]>;

/** The part of a dead letter that is cached in memory. */
export interface Parked {
  readonly version: Version;
  readonly waits: boolean;
  /** Canonical JSON of container and full key. An ordered projection keeps the order of changes with the same value. */
  readonly order: string;
}

/** Why a change is parked. */
export type Reason = Pick<DeadLetter, 'code' | 'message' | 'hint' | 'waits'>;

export const letterPartition = (projection: string): string => `dead-letters|${projection}`;
export const letterId = (of: Identity): string => digest(canonical([of.container, of.key, of.id]));
export const orderOf = ({ container, key }: Pick<Identity, 'container' | 'key'>): string => canonical([container, key]);

export const parked = (of: Pick<DeadLetter, 'container' | 'key' | 'version'>, waits: boolean): Parked => ({
  version: of.version,
  waits,
  order: orderOf(of),
});

/** The letter to store in place of the one `before`. */
export function letterDocument(
  projection: string,
  change: Change,
  reason: Reason,
  kept: Kept,
  now: Date,
  { before, events }: { readonly before: StoredLetter | undefined; readonly events?: boolean | undefined },
): Omit<LetterDocument, '_etag'> {
  const at = now.toISOString();
  const again = before !== undefined && compareVersions(change.version, before.version) === 'same';
  return {
    ...reason,
    id: letterId(change),
    pk: letterPartition(projection),
    kind: 'dead-letter',
    ...formatOf('deadLetter'),
    projection,
    container: change.container,
    key: change.key,
    document: change.id,
    type: change.type,
    ...(change.tenant !== undefined && { tenant: change.tenant }),
    version: change.version,
    op: change.op,
    ...(events !== undefined && { events }),
    attempts: reason.waits ? 0 : again ? before.attempts + 1 : 1,
    ...kept,
    firstAt: before?.firstAt ?? at,
    lastAt: at,
  };
}

export const toDeadLetter = ({
  document: id,
  hint,
  waits,
  tenant,
  ...stored
}: Omit<LetterDocument, 'id' | '_etag' | keyof Kept>): DeadLetter => {
  const { projection, container, key, type, version, op, code, message, attempts, firstAt, lastAt } = stored;
  const whose = tenant === undefined ? {} : { tenant };
  const rest = { ...(hint ? { hint } : {}), attempts, ...(waits ? { waits } : {}), firstAt, lastAt };
  return { projection, container, key, id, type, ...whose, version, op, code, message, ...rest };
};
