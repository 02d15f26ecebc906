// The last verification of a pipeline's archives, for `status` and `doctor`.
import { z } from 'zod';
import type { Container } from '@azure/cosmos';
import type { ArchiveVerification } from '../../archive/types.ts';
import { formatOf } from '../../base/format.ts';
import { readLeniently } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { VERIFICATION_KEY } from '../verify/verified.ts';
import { agoText, plural } from '../table.ts';

const schema = z.object({
  /** When it ended. ISO 8601 UTC. */
  at: z.string(),
  actor: z.string(),
  seconds: z.number(),
  /** Blobs of each archive that were asked for; null: all. */
  sample: z.number().nullable(),
  /** By archive. Faults as a number, since their texts have keys of documents; `offline` in the Archive tier. */
  archives: z.record(
    z.string(),
    z.object({ blobs: z.number(), documents: z.number(), faults: z.number(), offline: z.number() }),
  ),
  /** Why nothing could be verified. */
  failed: z.string().optional(),
});
export type ArchiveVerified = z.output<typeof schema>;

/** No pipeline has `~` in its name. */
const idOf = (pipeline: string): string => `${pipeline}~archive`;

export const archiveVerifiedOf = (
  results: readonly ArchiveVerification[],
  of: Pick<ArchiveVerified, 'at' | 'actor' | 'seconds' | 'sample'>,
): ArchiveVerified => ({
  ...of,
  archives: Object.fromEntries(
    results.map(({ projection, blobs, documents, faults, sampled }) => [
      projection,
      { blobs, documents, faults: faults.length, offline: sampled?.offline ?? 0 },
    ]),
  ),
});

/** Stores a result in place of the one before. */
export async function recordArchiveVerified(
  state: Container,
  pipeline: string,
  verified: ArchiveVerified,
): Promise<void> {
  const at = { id: idOf(pipeline), pk: VERIFICATION_KEY };
  const document = { ...verified, ...at, type: 'millrace.verification-archive', ...formatOf('verification') };
  await withRetry(() => state.items.upsert(document), { reads: false });
}

/** Undefined: none has ended yet, or a later version of Millrace stored it in another form. */
export const readArchiveVerified = (state: Container, pipeline: string): Promise<ArchiveVerified | undefined> =>
  readLeniently(state.item(idOf(pipeline), VERIFICATION_KEY), schema);

export const faultsOf = ({ archives, failed }: ArchiveVerified): number =>
  Object.values(archives).reduce((sum, { faults }) => sum + faults, failed === undefined ? 0 : 1);

export function sayArchiveVerified(verified: ArchiveVerified): string {
  const { at, sample, archives, failed } = verified;
  const when = `Archive last verified ${agoText(at)}`;
  if (failed !== undefined) return `${when}: it can't be read: ${failed}.`;
  const [blobs, offline] = (['blobs', 'offline'] as const).map((of) =>
    Object.values(archives).reduce((sum, one) => sum + one[of], 0),
  );
  const unread = offline ? `; ${plural(offline, 'other')} in the Archive tier not read` : '';
  return `${when}: ${plural(faultsOf(verified), 'fault')} in ${sample === null ? '' : 'a sample of '}${plural(blobs ?? 0, 'blob')}${unread}.`;
}
