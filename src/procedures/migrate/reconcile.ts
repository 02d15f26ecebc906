import pMap from 'p-map';
import { canonical } from '../../base/json.ts';
import type { Container } from '@azure/cosmos';
import { storedKey } from '../../cosmos/paths.ts';
import type { Key } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type Copier, type Exists, type Side, movedOf } from './copy.ts';
import { type MigrationPart, migrateQueryOf } from './part.ts';

export interface Reconciled {
  /** Documents removed from the target, because the source document was deleted or now has another key. */
  readonly removed: number;
  /** Documents of the source that the target lacks: some process wrote them without the gate. */
  readonly missing: readonly string[];
}

export interface ReconcileOptions {
  readonly from: Side;
  readonly into: Side;
  readonly source: Container;
  readonly target: Container;
  /** Access to the target's database. */
  readonly access: DocumentAccess;
  readonly copier: Copier;
  readonly exists: Exists;
  readonly signal: AbortSignal;
  /** False: writers write the source, so a missing document may still be copied. */
  readonly still: boolean;
  /** All documents of the target are the migration's: it is, or was before, the container that documents came from. */
  readonly whole: boolean;
  /** The documents to compare. Default: all. */
  readonly part?: MigrationPart | undefined;
  /** Removes a document of the target. Default: deletes it, if it is as it was read. */
  readonly remove?: (document: Record<string, unknown>, key: Key) => Promise<boolean>;
  /** Documents that are on one side by right. Default: none. */
  readonly ignores?: (document: Record<string, unknown>) => boolean;
}

/** Whether both sides have the same number of documents. If all source documents are in the target, it has no others. */
export async function sameCount({
  source,
  target,
  signal,
}: Pick<ReconcileOptions, 'source' | 'target' | 'signal'>): Promise<boolean> {
  const count = async (container: Container): Promise<number | undefined> => {
    for await (const found of fetchAll<number>(container, 'SELECT VALUE COUNT(1) FROM c', signal)) return found;
    return undefined;
  };
  const [left, right] = await Promise.all([count(source), count(target)]);
  return left === right;
}

/**
 * Compares the identities of both sides, and removes from the target the documents that the source no longer has: the
 * source's feed does not show deletions.
 */
export async function reconcile(options: ReconcileOptions): Promise<Reconciled> {
  const { from, into, source, target, access, copier, exists, signal, still, whole, part, ignores } = options;
  const [all, only] = migrateQueryOf('SELECT *', part);
  const wanted = new Set<string>();
  for await (const doc of fetchAll<Record<string, unknown>>(source, all, signal, only))
    if (!ignores?.(doc)) wanted.add(canonical(copier.placeOf(doc)));
  let removed = 0;
  const look = async (doc: Record<string, unknown>): Promise<void> => {
    const moved = movedOf(doc, from.rid);
    if (!(moved || whole) || ignores?.(doc)) return;
    const key = storedKey(doc, into.keyPaths);
    const id = String(doc['id']);
    if (wanted.delete(canonical({ key, id }))) return;
    // While writers write the source, the document may have come after the scan.
    if (!still && (!moved || (await exists(moved)))) return;
    const gone = options.remove
      ? await options.remove(doc, key)
      : (await access.commit(into.container, key, [{ op: 'delete', id, ifMatch: String(doc['_etag']) }])).kind ===
        'done';
    if (gone) removed += 1;
  };
  await pMap(fetchAll<Record<string, unknown>>(target, all, signal, only), look, { concurrency: 32 });
  return { removed, missing: still ? [...wanted] : [] };
}
