// Sweeps that write, as others see them: a mover of keys between shards waits for those that began before it locked the keys.
import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { withRetry } from '../../cosmos/retry.ts';

export const SWEEPING = 'millrace.sweeping';
const PARTITION = 'sweeping';
/** A sweep that has died writes nothing more after this. */
const LIFE_S = Math.ceil((WRITE_BOUND_MS + LANDING_BOUND_MS) / 1_000);
const POLL_MS = 250;

/**
 * Records that a sweep is about to write for documents of a container. The caller looks at the map only after that, and calls
 * what this resolves with when all of its writes were answered; else the record expires when none can land any more.
 */
export async function beginSweeping(state: Container, container: string): Promise<() => Promise<void>> {
  const id = randomUUID();
  const record = { id, pk: PARTITION, type: SWEEPING, ...formatOf('sweeping'), container, ttl: LIFE_S };
  await withRetry(() => state.items.upsert(record), { reads: true });
  return async () => {
    // If it fails, movers wait until the record expires.
    await withRetry(() => state.item(id, PARTITION).delete(), { reads: true }).catch(() => undefined);
  };
}

/** Resolves when all sweeps that are recorded now have ended, or can write no more. */
export async function untilSweepsEnd(
  state: Container,
  {
    clock,
    signal,
    waiting,
  }: { readonly clock: Clock; readonly signal: AbortSignal; readonly waiting: () => Promise<void> },
): Promise<void> {
  const recorded = async (): Promise<string[]> => {
    const ids: string[] = [];
    const query = {
      query: 'SELECT VALUE c.id FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: SWEEPING }],
    };
    for await (const id of fetchAll<string>(state, query, signal, { partitionKey: PARTITION, anyFormat: true }))
      ids.push(id);
    return ids;
  };
  let under = new Set(await recorded());
  while (under.size > 0) {
    await waiting();
    await clock.sleep(POLL_MS, signal);
    under = new Set((await recorded()).filter((id) => under.has(id)));
  }
}
