// What `tenants list` counted last, for `status` and the metrics: to count costs a reading of every container's index.
import { z } from 'zod';
import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { readLeniently } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Sizes } from './sizes.ts';

const schema = z.object({
  /** When it was counted. ISO 8601 UTC. */
  at: z.string(),
  /** Of all tenants. */
  documents: z.number(),
  /** Those with the most documents. */
  tenants: z.array(z.object({ tenant: z.string(), documents: z.number(), bytes: z.number() })),
});
export type Counted = z.output<typeof schema>;

/** The most tenants that are stored, so that the document stays small. */
const MOST = 100;
const KEY = 'tenant-sizes';

/** Stores a count of all containers in place of the one before. */
export async function recordCounted(
  state: Container,
  pipeline: string,
  at: string,
  { documents, tenants }: Pick<Sizes, 'documents' | 'tenants'>,
): Promise<void> {
  const largest = tenants.toSorted((a, b) => b.documents - a.documents).slice(0, MOST);
  const counted: Counted = {
    at,
    documents,
    tenants: largest.map(({ tenant, documents: own, bytes }) => ({ tenant, documents: own, bytes })),
  };
  const document = { ...counted, id: pipeline, pk: KEY, type: 'millrace.tenantsizes', ...formatOf('tenantsizes') };
  await withRetry(() => state.items.upsert(document), { reads: false });
}

/** Undefined: tenants were never counted, or a later version of Millrace stored the count in another form. */
export const readCounted = (state: Container, pipeline: string): Promise<Counted | undefined> =>
  readLeniently(state.item(pipeline, KEY), schema);
