import { z } from 'zod';
import { fetchAll } from '../cosmos/fetch-all.ts';
import type { Services } from '../runtime/workspace.ts';

/** What a running host says of itself now and then, as a document of the state container. One that died stays there
 * for a day; one that stopped takes it away. */
const schema = z.object({
  /** The host's name in the leases. */
  id: z.string(),
  /** ISO 8601 UTC. */
  at: z.string(),
  startedAt: z.string(),
  projections: z.array(
    z.object({
      projection: z.string(),
      changes: z.number(),
      ruPerChange: z.number(),
      /** Seconds; null: not known. */
      lag: z.number().nullable(),
      parked: z.number(),
    }),
  ),
  /** By source container. */
  sources: z.array(
    z.object({ container: z.string(), leases: z.number(), known: z.number(), failure: z.string().optional() }),
  ),
});
export type HostStatus = z.output<typeof schema>;

export const STATUS_KEY = 'status';
/** Seconds that a host's last word is kept. */
export const STATUS_TTL = 86_400;

/** The hosts' last words, newest first; documents of other versions are passed over. */
export async function readHostStatuses({ state }: Services, signal: AbortSignal): Promise<HostStatus[]> {
  const found: HostStatus[] = [];
  const query = `SELECT * FROM c WHERE c.pk = '${STATUS_KEY}'`;
  for await (const raw of fetchAll<unknown>(state, query, signal, { partitionKey: STATUS_KEY })) {
    const { success, data } = schema.safeParse(raw);
    if (success) found.push(data);
  }
  return found.toSorted((a, b) => (a.at < b.at ? 1 : -1));
}
