import { CLOCK_SKEW_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import type { Change, Identity, Version } from '../feed/reading/change.ts';
import { type SourceContainer, toChange } from '../feed/reading/mapper.ts';
import type { ColdRead } from '../kinds/archive/cold-read.ts';
import { hasLeft } from '../kinds/moved.ts';
import { asArchived } from '../kinds/archive/leaving.ts';
import type { DocumentAccess } from '../access/document-access.ts';

/** What stands for a change whose document is read from its source again: a dead letter, or a change that is deferred. */
export interface Remembered extends Identity {
  readonly version: Version;
  readonly type: string;
  /** When the version was written, milliseconds since 1970. Absent: it may have been a moment ago. */
  readonly at?: number;
  /**
   * Its effect is an event that is still to come: a version that a move, a restore or a backfill has written since stands
   * for it. Says whether a change is an event.
   */
  readonly isEvent?: ((change: Change) => boolean) | undefined;
}

export interface ReadAgainOptions {
  readonly sources: ReadonlyMap<string, SourceContainer>;
  readonly access: DocumentAccess;
  /** Finds a document in the archive. */
  readonly cold: ColdRead;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
}

/**
 * The change, with the document that its source has now, in the container or in the archive. A document that is gone, also
 * after the read lag, becomes a deletion just above the version. Undefined: the document has a newer version, which the
 * feed delivers.
 */
export async function readAgain(of: Remembered, options: ReadAgainOptions): Promise<Change | undefined> {
  const { sources, access, cold, readLagMs, signal } = options;
  const { container, key, id, version, type, isEvent } = of;
  const inVersion = (raw: Record<string, unknown>): Change | undefined => {
    const source = sources.get(container);
    return source && toChange(source, { ...raw, _lsn: version.lsn }, version.epoch);
  };
  // A lagging replica may show a state before the version: read again after the lag, unless it was written before that.
  const looks = isPast(of.at, readLagMs) ? [true] : [false, true];
  for (const settled of looks) {
    const [read] = await access.read(container, key, [id]);
    const raw = read && asArchived(read);
    if (raw?.['_etag'] === version.etag) return inVersion(raw);
    const archived = raw === undefined ? await cold({ container, key, id, version }, access) : undefined;
    if (archived) return inVersion({ ...archived, id });
    if (settled && raw) return isEvent && !hasLeft(raw) ? owed(inVersion(raw), version, isEvent) : undefined;
    if (!settled) await systemClock.sleep(readLagMs, signal);
  }
  const above = { epoch: version.epoch, lsn: version.lsn + 0.5, etag: `${version.etag} gone` };
  return { container, type, key, id, version: above, at: systemClock.now(), op: 'delete' };
}

/**
 * The event that a parked version stands for, if only Millrace has written the document since (moves, restores, backfills,
 * embeds): what the application wrote last is the parked version then, because a newer one would have taken the place of
 * the letter.
 */
function owed(change: Change | undefined, version: Version, isEvent: (change: Change) => boolean): Change | undefined {
  if (!change || (isEvent(change) && !change.echo)) return undefined;
  const { moved: _, echo: __, restored: ___, backfilled: ____, feedLsn: _____, ...rest } = change;
  return { ...rest, version, owed: true };
}

const isPast = (at: number | undefined, readLagMs: number): boolean =>
  at !== undefined && systemClock.now() - at > readLagMs + CLOCK_SKEW_MS;
