import { isObject } from '../../base/json.ts';
import { type Entry, type SendSpec, projectionId } from '../../pipeline/specs.ts';
import { SinkRefusal } from '../../pipeline/builders/send.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import type { MillraceError } from '../../base/errors.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { assertStorable } from '../sink-type.ts';
import { Poison, type Runner, evaluate, wantedChanges } from '../runner.ts';
import { sharedError } from '../../base/shared-errors.ts';

/**
 * Sends rows to a sink outside of Cosmos DB. The sink must compare the entries' versions and keep the newest row. It has the
 * documents of all shards, so a document that is in another shard now stays there.
 */
export function sendRunner(spec: SendSpec): Runner {
  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    evaluate(changes, (change) => change);
    const here = changes.filter(({ gone }) => !gone);
    const entries = evaluate(wantedChanges(here, spec), (change) => ({ change, entry: entryOf(spec, change) }));
    if (entries.length === 0) return;
    access.fence.assert();
    try {
      await spec.to.write(
        entries.map(({ entry }) => entry),
        access.fence.signal,
      );
    } catch (error) {
      access.fence.signal.throwIfAborted();
      if (!(error instanceof SinkRefusal)) throw unreachable(spec, error);
      throw new Poison(
        entries.flatMap(({ change, entry }) => {
          const why = error.refused.get(entry.id);
          return why === undefined ? [] : [{ change, error: sharedError('sink-refused', why) }];
        }),
      );
    }
  };
  return { id: projectionId(spec), order: 'document', sources: [spec.from], apply };
}

function entryOf(spec: SendSpec, change: Change): Entry {
  const { op, doc = {}, key, id } = change;
  const counts = op === 'upsert' && (spec.where?.(doc) ?? true);
  const row = counts ? spec.map(doc) : null;
  assertStorable(row, projectionId(spec));
  return { id: entryId(key, id), version: sortable(change), row: plain(row) };
}

/** The row as plain JSON. */
const plain = (row: unknown): unknown => (isObject(row) || Array.isArray(row) ? JSON.parse(JSON.stringify(row)) : row);

/**
 * Safe integers have sixteen digits. The last digit orders versions of one lsn: a deletion or expiry comes before the
 * new document (0, 1); a deletion that follows a parked change comes after it (2); repairs come after that (`raised`).
 */
export function sortable({ version: { epoch, lsn }, operation }: Change): string {
  const place = !Number.isInteger(lsn) ? 2 : operation === 'delete' || operation === 'expired' ? 0 : 1;
  return `${String(epoch).padStart(8, '0')}-${String(Math.floor(lsn)).padStart(16, '0')}-${place}`;
}

const FIRST_REPAIR = 3;

/**
 * A version for the row of this version that is newer than what the sink holds, and older than every later change.
 * Undefined: there is none, because the sink holds a newer change, or the row was repaired too often.
 */
export function raised(version: string, held: string | undefined): string | undefined {
  const change = version.slice(0, -1);
  const last = held !== undefined && held.slice(0, -1) === change ? Number(held.at(-1)) + 1 : FIRST_REPAIR;
  const next = `${change}${Math.max(FIRST_REPAIR, last)}`;
  return next.length === version.length && (held === undefined || held < next) ? next : undefined;
}

const unreachable = (spec: SendSpec, cause: unknown): MillraceError =>
  sharedError('unavailable', `The sink of ${projectionId(spec)} failed: ${String(cause)}`, {
    hint: 'Check the service behind the sink. Millrace tries again.',
    cause,
  });
