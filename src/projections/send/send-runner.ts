import { isObject } from '../../base/json.ts';
import { type Entry, type SendSpec, projectionId } from '../../definition/specs.ts';
import { SinkRefusal } from '../../definition/builders/send.ts';
import { entryId } from '../../definition/sink-id.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { assertStorable } from '../sink-type.ts';
import { Poison, type Runner, evaluate, wantedChanges } from '../runner.ts';

/** Rows of a sink outside of Cosmos DB; that it never goes backwards is the sink's promise, by the entries' versions. */
export function sendRunner(spec: SendSpec): Runner {
  const apply = async (changes: readonly Change[], session: SinkSession): Promise<void> => {
    evaluate(changes, (change) => change);
    const entries = evaluate(wantedChanges(changes, spec), (change) => ({ change, entry: entryOf(spec, change) }));
    if (entries.length === 0) return;
    session.fence.assert();
    try {
      await spec.to.write(
        entries.map(({ entry }) => entry),
        session.fence.signal,
      );
    } catch (error) {
      session.fence.signal.throwIfAborted();
      if (!(error instanceof SinkRefusal)) throw unreachable(spec, error);
      throw new Poison(
        entries.flatMap(({ change, entry }) => {
          const why = error.refused.get(entry.id);
          return why === undefined ? [] : [{ change, error: new MillraceError('sink-refused', why) }];
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

/** As it would be read back. */
const plain = (row: unknown): unknown => (isObject(row) || Array.isArray(row) ? JSON.parse(JSON.stringify(row)) : row);

/**
 * Safe integers have sixteen digits. The last one parts what has one lsn: what had expired is told to be gone before it
 * is written anew (0, 1), and what was parked and has gone since is gone just after it was parked (2).
 */
function sortable({ version: { epoch, lsn }, operation }: Change): string {
  const place = !Number.isInteger(lsn) ? 2 : operation === 'delete' || operation === 'expired' ? 0 : 1;
  return `${String(epoch).padStart(8, '0')}-${String(Math.floor(lsn)).padStart(16, '0')}-${place}`;
}

const unreachable = (spec: SendSpec, cause: unknown): MillraceError =>
  new MillraceError('sink-unreachable', `The sink of ${projectionId(spec)} failed: ${String(cause)}`, {
    cause,
    retryable: true,
  });
