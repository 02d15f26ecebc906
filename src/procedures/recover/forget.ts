import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { LocatorDocument } from '../../kinds/locator.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { Services } from '../../runtime/workspace.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';

interface StateDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: string;
  /** Of an entry of a list. */
  readonly of?: Identity;
  /** Of an embed's state. */
  readonly parent?: Identity;
}

/** Embed states without a document stay: they say that the parent was deleted. */
const KEPT = `SELECT c.id, c.pk, c.type, c["of"], c.parent FROM c WHERE c.type IN ('millrace.join', 'millrace.listed') OR (c.type = 'millrace.embed' AND NOT IS_NULL(c.doc)) OR (c.type = 'millrace.locator' AND IS_DEFINED(c.joins))`;

/**
 * Removes what the state says of documents that are no longer as it says, while no host runs (REC-S5). The feed shows no
 * change of a document that was lost, so nothing else would remove it. A joined document's state is made again from its
 * source, so a locator no longer says which one it used; an entry of a list or the state of an embed's parent goes only if its document is in neither the container nor
 * the archive.
 */
export async function forget(pipeline: Pipeline, services: Services, signal: AbortSignal): Promise<number> {
  const { state } = services.place;
  const access = new CosmosAccess(placeDatabase(pipeline, services), untilStopped(signal), new Meter());
  const entries = new Entries(state.id);
  const exists = async (of: Identity): Promise<boolean> => {
    const [hot] = await access.read(of.container, of.key, [of.id]);
    if (hot) return true;
    const [entry] = await entries.read([of], access);
    return entry?.state === 'archived';
  };
  let removed = 0;
  for await (const { id, pk, type, of, parent } of fetchAll<StateDocument>(state, KEPT, signal, { anyFormat: true })) {
    // A joined document's state has a parent too, but is always made again.
    if (type === 'millrace.locator') {
      await rewrite(state, { id, pk }, (stored: LocatorDocument | undefined) => {
        const { joins: _joins, waits: _waits, ...rest } = withoutSystemFields(stored ?? {}) as Partial<LocatorDocument>;
        return stored && rest;
      });
      continue;
    }
    const document = type === 'millrace.listed' ? of : type === 'millrace.embed' ? parent : undefined;
    if (document && (await exists(document))) continue;
    await withRetry(() => state.item(id, pk).delete(), { reads: true, signal }).catch((error: unknown) => {
      if (failureOf(error).kind !== 'not-found') throw error;
    });
    removed += 1;
  }
  return removed;
}
