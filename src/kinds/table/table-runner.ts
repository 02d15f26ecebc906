import { mapSettled } from '../../base/map-settled.ts';
import { SinkRefusal } from '../../pipeline/builders/send.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type TableEntry, type TableSpec, projectionId } from '../../pipeline/specs.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { Poison, type Refusal, type Runner, evaluate, wantedChanges } from '../runner.ts';
import { sortable } from '../send/send-runner.ts';

/** Tenants at the same time. */
const TOGETHER = 6;

/**
 * Writes the rows of documents to tables. The spec is bound to a database, which compares versions (TAB-G1). Changes of a
 * tenant are one transaction.
 */
export function tableRunner(spec: TableSpec): Runner {
  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    evaluate(changes, (change) => change);
    const entries = evaluate(wantedChanges(changes, spec), (change) => ({
      change,
      entry: entryOf(spec, change, access),
    }));
    const refusals: Refusal[] = [];
    await mapSettled(
      Map.groupBy(entries, ({ entry }) => JSON.stringify(entry.place.tenant)).values(),
      async (some) => {
        access.fence.assert();
        try {
          await spec.to.write(
            some.map(({ entry }) => entry),
            access.fence.signal,
          );
        } catch (error) {
          if (!(error instanceof SinkRefusal)) throw error;
          for (const { change, entry } of some) {
            const why = error.refused.get(entry.id);
            if (why !== undefined) refusals.push({ change, error: sharedError('sink-refused', why) });
          }
        }
      },
      { concurrency: TOGETHER },
    );
    if (refusals.length > 0) throw new Poison(refusals);
  };
  return { id: projectionId(spec), order: 'document', sources: [spec.from], apply };
}

function entryOf(spec: TableSpec, change: Change, access: DocumentAccess): TableEntry {
  const { container, op, doc = {}, key, id, version } = change;
  const counts = op === 'upsert' && (spec.where?.(doc) ?? true);
  return {
    id: entryId(key, id),
    version: sortable(change),
    etag: version.etag,
    row: counts ? spec.map(doc) : null,
    place: { key, id, tenant: change.tenant },
    isCurrent: async () => {
      const [now] = await access.read(container, key, [id]);
      return now === undefined ? op === 'delete' : now._etag === version.etag;
    },
  };
}
