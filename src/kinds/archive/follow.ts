import { type Change, type Version, compareVersions } from '../../feed/reading/change.ts';
import { RESTORING } from '../../feed/reading/mapper.ts';
import { type ArchiveEntry, turnsAfter, turnsOf } from './entry.ts';

/** The part of an entry that the feed decides. `brief`: the entry has to last only T. */
export type Standing = Pick<ArchiveEntry, 'state' | 'version' | 'shown'> & { readonly brief?: boolean };

export interface Followed {
  /** The changes that are the application's, each as the projections get it. */
  readonly events: ReadonlyMap<Change, Change>;
  /** The document's standing after the changes; undefined: it still has no entry. */
  readonly standing: Standing | undefined;
  /** True: the entry must be written. If it stays the same, the write confirms the read by which a change was dropped. */
  readonly write: boolean;
  /** The last version, if the application wrote it back with the archive's `ttl`: it is archived again, and it stays. */
  readonly back: Change | undefined;
  /** True: a mark names a version that the entry doesn't know yet, so the read was stale. */
  readonly stale: boolean;
}

/**
 * Separates the archive's own writes and expiries from the application's (ARC-H16 to ARC-H18). `changes`: those of one
 * document in the order of its all-versions feed; `known`: its entry before them. `mayExpire`: whether a version has a
 * time to live that isn't the archive's. It needs no previous images.
 */
export function followEntry(
  known: Standing | undefined,
  changes: readonly Change[],
  mayExpire: (change: Change) => boolean,
): Followed {
  const events = new Map<Change, Change>();
  const pass = (change: Change): void => void events.set(change, asEvent(change));
  let now = known;
  let write = false;
  let stale = false;
  let back: Change | undefined;
  const advance = (to: Standing): void => {
    now = to;
    write = true;
  };
  for (const [index, change] of changes.entries()) {
    const { leaving, version } = change;
    const order = now ? orderOf(change, now, changes.slice(index + 1)) : 'newer';
    if (now && order === 'older') {
      const own = isGone(change) ? change.operation === 'expired' : leaving?.intact === true;
      if (!isPlaceholder(change) && !(own && stateAt(now, change) === 'archived')) pass(change);
    } else if (isPlaceholder(change)) {
      // A restore has read an entry. If there is none any more, the document was deleted since.
      const held = now ?? became('void', change, now);
      if (!isBefore(change, held.shown?.placeholder))
        advance({ ...held, shown: { ...held.shown, placeholder: version } });
    } else if (now && order === 'same') {
      if (leaving && now.state === 'archived') back = change;
      pass(change);
    } else if (isGone(change)) {
      const { placeholder, ...shown } = now?.shown ?? {};
      // A page that is read again late may have an expiry from before the placeholder.
      const held = placeholder !== undefined && !isBefore(change, placeholder);
      if (now && (now.state === 'archived' ? change.operation === 'expired' : held)) {
        advance(held ? { ...now, shown } : now);
      } else {
        advance(became('void', change, now));
        back = undefined;
        pass(change);
      }
    } else if (now && isOwn(change, now)) {
      if (now.shown?.left === undefined) advance({ ...now, shown: { ...now.shown, left: version.etag } });
    } else {
      stale ||= leaving?.of !== undefined && (!known || compareVersions(leaving.of.version, known.version) === 'newer');
      back = leaving && change.op === 'upsert' ? change : undefined;
      if (back) advance(became('archived', change, now));
      else if (now || change.op === 'delete' || mayExpire(change)) advance(became('void', change, now));
      pass(change);
    }
  }
  return { events, standing: now, write, back, stale };
}

/** Two versions of one transaction share an lsn; then the order of the page decides. */
function orderOf(change: Change, { version }: Standing, rest: readonly Change[]): 'older' | 'same' | 'newer' {
  const order = compareVersions(change.version, version);
  if (order !== 'undecided') return order;
  return rest.some((later) => compareVersions(later.version, version) === 'same') ? 'older' : 'newer';
}

/** The archive marks a document once. A later version with that mark is one that the application wrote back. */
function isOwn({ leaving, version }: Change, { state, version: archived, shown }: Standing): boolean {
  if (!leaving?.of || state !== 'archived' || compareVersions(leaving.of.version, archived) !== 'same') return false;
  return shown?.left === undefined ? leaving.intact : shown.left === version.etag;
}

const isBefore = ({ version }: Change, other: Version | undefined): boolean =>
  other !== undefined && compareVersions(version, other) === 'older';

const isPlaceholder = ({ type }: Change): boolean => type === RESTORING;
const isGone = ({ operation }: Change): boolean => operation === 'delete' || operation === 'expired';

/** Any version with the archive's `ttl` that isn't the archive's own is an event, also one with the archived content. */
function asEvent(change: Change): Change {
  if (!change.leaving) return change;
  const { leaving: _, restored: __, ...event } = change;
  return event;
}

function became(state: Standing['state'], change: Change, before: Standing | undefined): Standing {
  const { version } = change;
  const first = state === 'archived' ? [version] : [];
  const turns = !before ? first : before.state === state ? turnsOf(before) : turnsAfter(before, version);
  const left = state === 'archived' ? { left: version.etag } : {};
  const brief = state === 'void' && (change.op === 'delete' || !before);
  return { state, version, shown: { turns, ...left }, brief };
}

/** The state at a version that is older than the entry's. */
function stateAt(standing: Standing, change: Change): Standing['state'] {
  const since = turnsOf(standing).filter((turn) => {
    const order = compareVersions(turn, change.version);
    // An expiry and the creation after it may have one lsn, the expiry first.
    return order === 'newer' || (order === 'undecided' && isGone(change));
  });
  return (since.length % 2 === 0) === (standing.state === 'archived') ? 'archived' : 'void';
}
