import { z } from 'zod';
import type { Container } from '@azure/cosmos';
import { FormatUnreadable, formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Verification } from './verify.ts';

const schema = z.object({
  /** When the verification ended. ISO 8601 UTC. */
  at: z.string(),
  actor: z.string(),
  seconds: z.number(),
  /** Documents that were read: of sources, and of sinks. */
  sources: z.number(),
  compared: z.number(),
  /** Differences, those that a repair corrected not counted. */
  different: z.number(),
  /** By `name@version`, of the first thousand differences. */
  differences: z.record(z.string(), z.number()),
});
/** The result of the last verification of all projections. */
export type Verified = z.output<typeof schema>;

const PK = 'verification';

/** Stores the result of a verification of all projections, in place of the result before. */
export async function recordVerified(
  state: Container,
  pipeline: string,
  { documents, different, differences }: Verification,
  of: Pick<Verified, 'at' | 'actor' | 'seconds'>,
): Promise<void> {
  const by: Record<string, number> = {};
  for (const id of differences.flatMap(({ projections }) => projections)) by[id] = (by[id] ?? 0) + 1;
  const verified: Verified = {
    ...of,
    sources: documents.sources,
    compared: documents.found,
    different,
    differences: by,
  };
  const document = { ...verified, id: pipeline, pk: PK, type: 'millrace.verification', ...formatOf('verification') };
  await withRetry(() => state.items.upsert(document), { reads: false });
}

/** Undefined: no verification of all projections has ended yet, or a later version of Millrace stored it in another form. */
export async function readVerified(state: Container, pipeline: string): Promise<Verified | undefined> {
  try {
    return schema.safeParse(await readItem(state.item(pipeline, PK))).data;
  } catch (error) {
    if (error instanceof FormatUnreadable) return undefined;
    throw error;
  }
}
