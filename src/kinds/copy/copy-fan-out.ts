import { systemClock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, projectionId, waitsFor } from '../../pipeline/specs.ts';
import { isOwn } from '../../cosmos/own-documents.ts';
import { type SourceContainer, feedTenantOf, toDocument } from '../../feed/reading/mapper.ts';
import type { Change, Key, Version } from '../../feed/reading/change.ts';
import type { DocumentAccess, SinkDocument } from '../../access/document-access.ts';
import type { ColdRead } from '../archive/cold-read.ts';
import { asArchived } from '../archive/leaving.ts';
import { lastOfEach } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { isOlderUse } from '../join-use.ts';
import type { LocatorDocument } from '../locator.ts';
import { type CopyDocument, TOMBSTONE } from './documents.ts';
import type { JoinState } from './joins.ts';

/** A joined document whose content changed: copies made with its former content must be made again. */
export interface Refresh {
  readonly join: string;
  readonly state: JoinState;
}

export interface CopyFanOut {
  readonly spec: CopySpec;
  readonly sink: SinkContainer;
  readonly stateContainer: string;
  /** The copied type's container. */
  readonly source: SourceContainer;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  /** Finds a copied document that has left its container. */
  readonly cold?: ColdRead | undefined;
  /** Applies changes of the copied documents in the same way as for their own feed. */
  readonly reapply: (changes: readonly Change[], access: DocumentAccess) => Promise<void>;
}

/**
 * Makes every copy again that was made with an older state of the joined documents, and those that waited for them. The
 * queries for them may be stale: they are repeated until a query that began 2 × the read lag after the states were written
 * finds nothing. If a copy is written later with the old state, its confirmation fails and its own writer makes it again
 * (COPY-J1).
 */
export async function refreshCopies(fan: CopyFanOut, due: readonly Refresh[], access: DocumentAccess): Promise<void> {
  if (due.length === 0) return;
  const settledAt = systemClock.monotonic() + 2 * fan.readLagMs;
  for (;;) {
    const last = systemClock.monotonic() >= settledAt;
    const found = (await mapSettled(due, (one) => outdated(fan, one, access), { concurrency: 8 })).flat();
    const changes = (await mapSettled(found, (one) => changeOf(fan, one, access), { concurrency: 128 })).filter(
      (change) => change !== undefined,
    );
    // If two joined documents of one copy have changed, the copy is made again once, with both.
    if (changes.length > 0) await fan.reapply(lastOfEach(changes), access);
    else if (last) return;
    else await systemClock.sleep(Math.max(1, settledAt - systemClock.monotonic()));
  }
}

/** A source document, in the version that was applied. */
interface Applied {
  readonly key: Key;
  readonly id: string;
  readonly version: Version;
}

async function outdated(
  { spec, sink, stateContainer }: CopyFanOut,
  { join, state }: Refresh,
  access: DocumentAccess,
): Promise<Applied[]> {
  const ask = <T extends SinkDocument>(container: string, condition: string, joins: string): Promise<T[]> => {
    const use = `${joins}[${JSON.stringify(join)}]`;
    const sql = `SELECT * FROM c WHERE ${condition} AND ${use}.ref = @ref AND ${use}.mark != @mark`;
    return access.query<T>(container, sql, { by: projectionId(spec), ref: state.ref, mark: state.mark });
  };
  // What was made with a newer state is left to the host that handles the newer change.
  const isOld = (joins: CopyDocument['_mr']['joins']): boolean =>
    joins?.[join] !== undefined && isOlderUse(joins[join], state);
  const copies = await ask<CopyDocument>(sink.name, 'c._mr["by"] = @by', 'c._mr.joins');
  const found = copies
    .filter(({ type, _mr }) => type !== TOMBSTONE && isOld(_mr.joins))
    .map(({ _src: { pk: key, id, ...version } }) => ({ key, id, version }));
  if (!waitsFor(spec)) return found;
  const waiting = await ask<SinkDocument & LocatorDocument>(
    stateContainer,
    'c.projection = @by AND c.waits = true',
    'c.joins',
  );
  return [
    ...found,
    ...waiting.filter(({ joins }) => isOld(joins)).map(({ source, version }) => ({ ...source, version })),
  ];
}

/**
 * The version of the source that was applied, read from the source container or the archive. Undefined: the
 * source has a newer version (its feed delivers it), or the read was too old (the next query finds it again).
 */
async function changeOf(
  { spec, source, cold }: CopyFanOut,
  { key, id, version }: Applied,
  access: DocumentAccess,
): Promise<Change | undefined> {
  const [hot] = await access.read(source.name, key, [id]);
  const gone = !hot || isOwn(hot);
  const raw = gone ? await cold?.({ container: source.name, key, id, version }, access) : asArchived(hot);
  if (!raw || raw['_etag'] !== version.etag) return undefined;
  const doc = toDocument(source, raw);
  return doc
    ? {
        container: source.name,
        type: spec.from.type,
        key,
        id,
        version,
        ...feedTenantOf(source, doc),
        at: Number(raw['_ts']) * 1000,
        op: 'upsert',
        doc,
      }
    : undefined;
}
