import { z } from 'zod';
import type { ArchiveVerification } from '../../archive/types.ts';
import { verifyArchive } from '../../archive/verify.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { openArchives } from './open.ts';

export const archiveVerify = defineOperation({
  noun: 'archive',
  verb: 'verify',
  summary: 'Read every blob of the archive and hold it against its checksum, its manifest and the documents’ entries',
  examples: [
    'millrace archive verify',
    'millrace archive verify --documents',
    'millrace archive verify orders-cold --env production --json',
  ],
  effect: 'reads',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one archive; all of them if absent'),
    documents: z
      .boolean()
      .default(false)
      .describe('name each document that a damaged blob holds, not just how many; --json always does'),
  }),
  run: async ({ name: only }, { workspace, signal, screen }) => {
    const results: ArchiveVerification[] = [];
    for (const archive of await openArchives(await workspace.pipeline(), await workspace.services(), {
      only,
      signal,
      screen,
    })) {
      const progress = (blobs: number): void => screen.progress(`${archive.spec.name}: blobs read`, blobs);
      results.push(await verifyArchive(archive, { signal, progress }));
    }
    return results;
  },
  format: (results, input) => results.map((result) => formatOne(result, input)).join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

function formatOne(
  { projection, blobs, documents, archived, bytes, superfluous, faults }: ArchiveVerification,
  shown: { readonly documents: boolean },
): string {
  return [
    table(
      ['archive', 'blobs', 'lines', 'archived', 'size', 'superfluous', 'faults'],
      [[projection, blobs, documents, archived, size(bytes), superfluous, faults.length]],
    ),
    faults.length === 0 ? 'Every blob is as it was written.' : `${plural(faults.length, 'fault')}:`,
    ...faultLines(faults, shown),
  ].join('\n');
}
