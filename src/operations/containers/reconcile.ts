import pMap from 'p-map';
import { canonical } from '../../base/json.ts';
import type { Container } from '@azure/cosmos';
import { fullKey } from '../../cosmos/paths.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type Copier, type Exists, type Side, movedOf } from './copy.ts';

export interface Reconciled {
  /** Documents of the target whose source is gone, or lies under another key by now. */
  readonly removed: number;
  /** Documents of the source that the target lacks: only where the source was written past its gate. */
  readonly missing: readonly string[];
}

export interface ReconcileOptions {
  readonly from: Side;
  readonly into: Side;
  readonly source: Container;
  readonly target: Container;
  /** On the target's database. */
  readonly session: SinkSession;
  readonly copier: Copier;
  readonly exists: Exists;
  readonly signal: AbortSignal;
  /** False: the source is being written, so what is missing may be on its way. */
  readonly still: boolean;
  /** The target has nobody else's documents: it is what the migration came from, now or at an earlier time. */
  readonly whole: boolean;
}

/** Whether both sides have as many documents: where each of the source is in the target, then none is there too many. */
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

/** Compares the identities of both sides, and takes out of the target what the source no longer has: deletions leave no trace in its feed. */
export async function reconcile(options: ReconcileOptions): Promise<Reconciled> {
  const { from, into, source, target, session, copier, exists, signal, still, whole } = options;
  const wanted = new Set<string>();
  for await (const doc of fetchAll<Record<string, unknown>>(source, 'SELECT * FROM c', signal))
    wanted.add(canonical(copier.placeOf(doc)));
  let removed = 0;
  const look = async (doc: Record<string, unknown>): Promise<void> => {
    const moved = movedOf(doc, from.rid);
    const keyed = fullKey(doc, into.keyPaths);
    if (!('key' in keyed) || !(moved || whole)) return;
    const id = String(doc['id']);
    if (wanted.delete(canonical({ key: keyed.key, id }))) return;
    // While the source is written, what the scan missed may just have come.
    if (!still && (!moved || (await exists(moved)))) return;
    const gone = await session.commit(into.container, keyed.key, [{ op: 'delete', id, ifMatch: String(doc['_etag']) }]);
    if (gone.kind === 'done') removed += 1;
  };
  await pMap(fetchAll<Record<string, unknown>>(target, 'SELECT * FROM c', signal), look, { concurrency: 32 });
  return { removed, missing: still ? [...wanted] : [] };
}
