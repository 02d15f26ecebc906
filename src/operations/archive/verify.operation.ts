import { z } from 'zod';
import type { ArchiveVerification } from '../../archive/types.ts';
import { verifyArchive } from '../../archive/verify.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { tenantInput } from '../tenants/asked.ts';
import { assertArchivedTenant } from './of-tenant.ts';
import { openArchives } from './open.ts';

export const archiveVerify = defineOperation({
  noun: 'archive',
  verb: 'verify',
  summary: 'Verify every blob of the archive against its checksum, its manifest and the documents’ entries',
  examples: [
    'millrace archive verify',
    'millrace archive verify --documents',
    'millrace archive verify orders-cold --env production --json',
  ],
  effect: 'reads',
  shards: 'every',
  bulk: true,
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one archive (default: all)'),
    ...tenantInput,
    documents: z
      .boolean()
      .default(false)
      .describe('list each document of a damaged blob, not only their number; --json always lists them'),
  }),
  run: async ({ name: only, tenant }, { workspace, signal, screen }) => {
    const opened = await openArchives(await workspace.pipeline(), await workspace.services(), { only, signal, screen });
    await assertArchivedTenant(opened, tenant);
    const results: ArchiveVerification[] = [];
    for (const archive of opened) {
      const progress = (blobs: number): void => screen.progress(`${archive.spec.name}: blobs read`, blobs);
      results.push(await verifyArchive(archive, { signal, tenant, progress }));
    }
    return results;
  },
  format: (results, input) => results.map((result) => formatOne(result, input)).join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

function saidOfLog(
  projection: string,
  { from, blobs, versions, unlisted, bytes }: NonNullable<ArchiveVerification['log']>,
): string {
  const since = from === null ? 'has not begun' : `is whole from ${new Date(from).toISOString()} on`;
  const waiting = unlisted === 0 ? '' : `; the next sweep lists ${plural(unlisted, 'blob')}`;
  return `The version log of ${projection} ${since}: ${plural(versions, 'version')} in ${plural(blobs, 'blob')}, ${size(bytes)}${waiting}.`;
}

function formatOne(
  { projection, blobs, documents, archived, bytes, superfluous, log, faults }: ArchiveVerification,
  shown: { readonly documents: boolean },
): string {
  return [
    table(
      ['archive', 'blobs', 'lines', 'archived', 'size', 'superfluous', 'faults'],
      [[projection, blobs, documents, archived, size(bytes), superfluous, faults.length]],
    ),
    ...(log ? [saidOfLog(projection, log)] : []),
    faults.length === 0 ? 'Every blob is intact.' : `${plural(faults.length, 'fault')}:`,
    ...faultLines(faults, shown),
  ].join('\n');
}
