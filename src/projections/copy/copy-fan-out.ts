import { systemClock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, projectionId } from '../../definition/specs.ts';
import { OWN_TYPE, type SourceContainer, toDocument } from '../../feed/reading/mapper.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkSession } from '../../sinks/session.ts';
import type { ColdRead } from '../archive/cold-read.ts';
import { lastOfEach } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { type CopyDocument, isOlderUse } from './documents.ts';
import type { JoinState } from './joins.ts';

/** A joined document whose content changed: copies made with what it was before have to be made again. */
export interface Refresh {
  readonly join: string;
  readonly state: JoinState;
}

export interface FanOut {
  readonly spec: CopySpec;
  readonly sink: SinkContainer;
  /** The copied type's container. */
  readonly source: SourceContainer;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
  /** Finds a copied document that has left its container. */
  readonly cold?: ColdRead | undefined;
  /** Applies changes of the copied documents as their own feed would. */
  readonly reapply: (changes: readonly Change[], session: SinkSession) => Promise<void>;
}

/**
 * Makes again every copy that was made with an older state of the joined documents. Copies are found by a query, which
 * may be stale: it is repeated until a pass that began 2 × the read lag after the states were written finds nothing.
 * A copy that is written later with the old state fails its confirmation and is made again by its own writer (J1).
 */
export async function refreshCopies(fan: FanOut, due: readonly Refresh[], session: SinkSession): Promise<void> {
  if (due.length === 0) return;
  const settledAt = systemClock.monotonic() + 2 * fan.readLagMs;
  for (;;) {
    const last = systemClock.monotonic() >= settledAt;
    const found = (await mapSettled(due, (one) => outdated(fan, one, session), { concurrency: 8 })).flat();
    const changes = (await mapSettled(found, (copy) => changeOf(fan, copy, session), { concurrency: 128 })).filter(
      (change) => change !== undefined,
    );
    // Two joined documents of one copy may both have changed: it is made again once, with both.
    if (changes.length > 0) await fan.reapply(lastOfEach(changes), session);
    else if (last) return;
    else await systemClock.sleep(Math.max(1, settledAt - systemClock.monotonic()));
  }
}

async function outdated(
  { spec, sink }: FanOut,
  { join, state }: Refresh,
  session: SinkSession,
): Promise<CopyDocument[]> {
  const use = `c._mr.joins[${JSON.stringify(join)}]`;
  const sql = `SELECT * FROM c WHERE c._mr["by"] = @by AND ${use}.ref = @ref AND ${use}.mark != @mark`;
  const found = await session.query<CopyDocument>(sink.name, sql, {
    by: projectionId(spec),
    ref: state.ref,
    mark: state.mark,
  });
  // What was made with a newer state is the business of whoever handles that change.
  return found.filter(({ _mr }) => _mr.joins?.[join] && isOlderUse(_mr.joins[join], state));
}

/**
 * The copy's own version of its source, read from the source container or the archive; undefined where that has moved
 * on (its feed brings the newer version) or is read too old (the next pass reads again).
 */
async function changeOf(
  { spec, source, cold }: FanOut,
  copy: CopyDocument,
  session: SinkSession,
): Promise<Change | undefined> {
  const { pk: key, id, ...version } = copy._src;
  const [hot] = await session.read(source.name, key, [id]);
  const gone = !hot || String(hot['type']).startsWith(OWN_TYPE);
  const raw = gone ? await cold?.({ container: source.name, key, id, version }, session) : hot;
  if (!raw || raw['_etag'] !== version.etag) return undefined;
  const doc = toDocument(source, raw);
  return doc
    ? {
        container: source.name,
        type: spec.from.type,
        key,
        id,
        version,
        at: Number(raw['_ts']) * 1000,
        op: 'upsert',
        doc,
      }
    : undefined;
}
