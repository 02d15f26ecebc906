// What is stored of queues, also of containers that the pipeline no longer reads.
import type { Container } from '@azure/cosmos';
import pMap from 'p-map';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { deferredPartition } from './cosmos-store.ts';
import { type Register, REGISTER } from './documents.ts';

export interface StoredQueues {
  /** The source container's name. */
  readonly source: string;
  /** None: the register alone is there. */
  readonly queues: number;
}

const AT_ONCE = 16;

/** The source containers of a pipeline that have a register. Asks all partitions of the state container. */
export async function storedQueues(state: Container, pipeline: string, signal: AbortSignal): Promise<StoredQueues[]> {
  const begin = deferredPartition(pipeline);
  const registers = {
    query: `SELECT c.pk, c.id, c.queues FROM c WHERE c.type = 'millrace.deferred' AND c.id = '${REGISTER}' AND STARTSWITH(c.pk, @begin)`,
    parameters: [{ name: '@begin', value: begin }],
  };
  const found: StoredQueues[] = [];
  for await (const { pk, queues } of fetchAll<Pick<Register, 'queues'> & { pk: string }>(state, registers, signal, {
    anyFormat: true,
  }))
    found.push({ source: pk.slice(begin.length), queues: queues.length });
  return found.toSorted((a, b) => (a.source < b.source ? -1 : 1));
}

/**
 * Removes what is deferred of a source container, the register last, so that a repetition finds what is left. No host of
 * the pipeline may read the container meanwhile. Returns the number of documents.
 */
export async function removeQueues(
  state: Container,
  of: { readonly pipeline: string; readonly source: string },
  signal: AbortSignal,
): Promise<number> {
  const pk = deferredPartition(of.pipeline, of.source);
  const remove = async (id: string): Promise<void> => {
    await withRetry(() => state.item(id, pk).delete(), { reads: true, signal }).catch((error: unknown) => {
      if (failureOf(error).kind !== 'not-found') throw error;
    });
  };
  const ids: string[] = [];
  const all = { query: 'SELECT c.id FROM c WHERE c.pk = @pk', parameters: [{ name: '@pk', value: pk }] };
  for await (const { id } of fetchAll<{ id: string }>(state, all, signal, { partitionKey: pk, anyFormat: true }))
    ids.push(id);
  await pMap(
    ids.filter((id) => id !== REGISTER),
    remove,
    { concurrency: AT_ONCE },
  );
  if (ids.includes(REGISTER)) await remove(REGISTER);
  return ids.length;
}
