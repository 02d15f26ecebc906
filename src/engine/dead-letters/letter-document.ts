import { canonical, digest } from '../../base/json.ts';
import { type Change, type Identity, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { Kept } from './kept-changes.ts';

/** A change that couldn't be applied, parked per document: a newer version of the document replaces it. */
export interface DeadLetter extends Identity {
  /** `name@version` of the projection. */
  readonly projection: string;
  readonly type: string;
  readonly version: Version;
  readonly op: Change['op'];
  readonly code: string;
  readonly message: string;
  readonly mend?: string;
  /** How often this version was refused: once when it was parked, and by each redrive since. */
  readonly attempts: number;
  /** It was never tried: an earlier change of its key is parked, and the projection keeps their order. */
  readonly waits?: boolean;
  /** ISO 8601 UTC. */
  readonly firstAt: string;
  readonly lastAt: string;
}

/** The change itself is kept where it waits or was an event. */
export interface LetterDocument extends DeadLetter, Kept {
  readonly pk: string;
  readonly kind: 'dead-letter';
  readonly document: string;
  readonly _etag: string;
}

/** What has to be known of a stored letter to write over it or to take it away. */
export const STORED_FIELDS = [
  'id',
  'pk',
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

/** What is known of a parked document without its letter. */
export interface Parked {
  readonly version: Version;
  readonly waits: boolean;
  /** Canonical JSON of container and full key: what an ordered projection keeps its order within. */
  readonly order: string;
}

/** Why a change is parked. */
export type Reason = Pick<DeadLetter, 'code' | 'message' | 'mend' | 'waits'>;

export const letterPartition = (projection: string): string => `dead-letters|${projection}`;
export const letterId = (of: Identity): string => digest(canonical([of.container, of.key, of.id]));
export const orderOf = ({ container, key }: Pick<Identity, 'container' | 'key'>): string => canonical([container, key]);

export const parked = (of: Pick<DeadLetter, 'container' | 'key' | 'version'>, waits: boolean): Parked => ({
  version: of.version,
  waits,
  order: orderOf(of),
});

/** A letter as it is to be stored in place of what was there `before`. */
export function letterDocument(
  projection: string,
  change: Change,
  reason: Reason,
  kept: Kept,
  now: Date,
  before: StoredLetter | undefined,
): Omit<LetterDocument, '_etag'> {
  const at = now.toISOString();
  const again = before !== undefined && compareVersions(change.version, before.version) === 'same';
  return {
    ...reason,
    id: letterId(change),
    pk: letterPartition(projection),
    kind: 'dead-letter',
    projection,
    container: change.container,
    key: change.key,
    document: change.id,
    type: change.type,
    version: change.version,
    op: change.op,
    attempts: reason.waits ? 0 : again ? before.attempts + 1 : 1,
    ...kept,
    firstAt: before?.firstAt ?? at,
    lastAt: at,
  };
}

export const toDeadLetter = ({ document: id, mend, waits, ...stored }: LetterDocument): DeadLetter => {
  const { projection, container, key, type, version, op, code, message, attempts, firstAt, lastAt } = stored;
  const told = { ...(mend ? { mend } : {}), attempts, ...(waits ? { waits } : {}), firstAt, lastAt };
  return { projection, container, key, id, type, version, op, code, message, ...told };
};
