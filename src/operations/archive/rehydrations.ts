// Rehydrations that were begun: for `archive rehydrations`, and for a run that continues one.
import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import type { AccessTier, RehydratePriority } from '../../archive/blob-store.ts';
import type { RehydrationSelection } from '../../archive/rehydrate.ts';
import { formatOf } from '../../base/format.ts';
import { digest } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { rewrite } from '../../cosmos/rewrite.ts';

/** What was asked for. The account knows how far it is. */
export interface RehydrationJob {
  readonly id: string;
  /** The name of the archive. */
  readonly archive: string;
  readonly selection: RehydrationSelection;
  readonly tier: Exclude<AccessTier, 'Archive'>;
  readonly priority: RehydratePriority;
  readonly actor: string;
  /** When it was begun, ISO 8601 UTC. */
  readonly at: string;
}

const PARTITION = 'rehydrations';
const TTL_S = 90 * 86_400;

/** The same question has the same id, so asking again continues. */
export const jobId = (archive: string, asked: object): string => digest([archive, asked]).slice(0, 8);

/** Resolves when the record is durable: before the first blob is asked for. A record of before keeps who began it, and when. */
export async function recordJob(state: Container, job: RehydrationJob): Promise<void> {
  const { id } = job;
  await rewrite<RehydrationJob, object>(state, { id, pk: PARTITION }, (stored) => ({
    ...job,
    ...(stored && { actor: stored.actor, at: stored.at }),
    pk: PARTITION,
    type: 'millrace.rehydration',
    ...formatOf('rehydration'),
    ttl: TTL_S,
  }));
}

/** The last first. */
export async function jobsOf(state: Container, signal: AbortSignal): Promise<RehydrationJob[]> {
  const jobs: RehydrationJob[] = [];
  const query = `SELECT * FROM c WHERE c.pk = '${PARTITION}'`;
  for await (const stored of fetchAll<unknown>(state, query, signal, { partitionKey: PARTITION }))
    jobs.push(schema.parse(stored));
  return jobs.toSorted((a, b) => (a.at < b.at ? 1 : -1));
}

const schema = z.object({
  id: z.string(),
  archive: z.string(),
  selection: z.union([
    z.object({ blobs: z.array(z.object({ tenant: z.string(), name: z.string() })) }),
    z.object({ tenant: z.string().optional(), from: z.string().optional(), to: z.string().optional() }),
  ]),
  tier: z.enum(['Hot', 'Cool', 'Cold']),
  priority: z.enum(['Standard', 'High']),
  actor: z.string(),
  at: z.string(),
});
