import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import type { ArchiveVerification } from '../../archive/types.ts';
import { systemClock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { defineOperation } from '../operation.ts';
import { verifiedName } from '../../procedures/verify/verified.ts';
import { plural, size, textTable } from '../../procedures/table.ts';
import { faultLines } from '../../procedures/archive/faults.ts';
import { tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { archiveVerifiedOf, recordArchiveVerified } from '../../procedures/archive/verified.ts';
import { verifyArchives } from '../../procedures/archive/verify-archives.ts';

export const archiveVerify = defineOperation({
  name: 'archive verify',
  summary: 'Verify every blob of the archive against its checksum, its manifest and the documents’ entries',
  examples: [
    'millrace archive verify',
    'millrace archive verify --documents',
    'millrace archive verify --sample 100',
    'millrace archive verify orders-cold --env production --json',
  ],
  effect: 'reads',
  shards: 'every',
  bulk: true,
  argument: 'name',
  input: z.object({
    name: optional('one archive (default: all)'),
    ...tenantInput,
    sample: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe('read only so many blobs of each archive, drawn by chance (default: all)'),
    documents: flag('list each document of a damaged blob, not only their number; --json always lists them'),
  }),
  run: async ({ name: only, tenant, sample }, context) => {
    const { workspace, signal, screen, actor, clock = systemClock } = context;
    const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
    const began = clock.monotonic();
    const results = await verifyArchives(loaded, services, { only, tenant, sample, signal, screen });
    if (only !== undefined || tenant !== undefined) return results;
    const seconds = Math.round((clock.monotonic() - began) / 1_000);
    const of = { at: new Date(clock.now()).toISOString(), actor, seconds, sample: sample ?? null };
    const { state } = services.global;
    // An identity that may only read verifies too.
    await recordArchiveVerified(
      state,
      verifiedName(loaded.pipeline, services.place),
      archiveVerifiedOf(results, of),
    ).catch((error: unknown) => {
      if (failureOf(error).kind !== 'denied') throw error;
      screen.line(`\`status\` will not show this result: this identity may not write to ${state.id}.`);
    });
    return results;
  },
  format: (results, input) => results.map((result) => formatOne(result, input)).join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

const REMEDY =
  'Restore these from a backup or from soft delete of the storage account, then verify again. `millrace archive restore --skip-damaged` restores what is intact.';

function formatOne(
  { projection, blobs, documents, archived, bytes, superfluous, sampled, faults }: ArchiveVerification,
  shown: { readonly documents: boolean },
): string {
  return [
    textTable(
      ['archive', 'blobs', 'lines', 'archived', 'size', 'superfluous', 'faults'],
      [[projection, blobs, documents, archived, size(bytes), superfluous, faults.length]],
    ),
    ...(sampled ? [`A sample, drawn by chance of ${plural(sampled.of, 'stored blob')}.`] : []),
    faults.length === 0
      ? sampled
        ? 'Every blob that was read is intact.'
        : 'Every blob is intact.'
      : `${plural(faults.length, 'fault')}:`,
    ...faultLines(faults, shown),
    ...(faults.length === 0 ? [] : [REMEDY]),
  ].join('\n');
}
