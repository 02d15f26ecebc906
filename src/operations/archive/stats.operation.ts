import { z } from 'zod';
import { type ArchiveStats, statsOf } from '../../archive/stats.ts';
import { defineOperation } from '../operation.ts';
import { size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { openArchives } from './open.ts';
import { verifiedName } from '../projections/verified.ts';
import { readArchiveVerified } from './verified.ts';

export const archiveStats = defineOperation({
  noun: 'archive',
  verb: 'stats',
  summary: 'Show what each archive holds: documents, blobs, sizes, compression',
  examples: ['millrace archive stats', 'millrace archive stats orders-cold --sample 0 --json'],
  effect: 'reads',
  shards: 'every',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one archive (default: all)'),
    sample: z.coerce
      .number()
      .int()
      .min(0)
      .max(1_000)
      .default(3)
      .describe('how many of the largest blobs are read, to measure the compression'),
  }),
  run: async ({ name: only, sample }, { workspace, signal, screen }) => {
    const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
    const last = await readArchiveVerified(services.global.state, verifiedName(loaded.pipeline, services.place));
    const results: (ArchiveStats & { readonly verified: string | null })[] = [];
    for (const archive of await openArchives(loaded, services, { only, signal, screen })) {
      const stats = await statsOf(archive, { sample, signal });
      results.push({ ...stats, verified: last && stats.projection in last.archives ? last.at : null });
    }
    return results;
  },
  format: (results) =>
    [
      table(
        [
          'archive',
          'tenants',
          'months',
          'documents',
          'old lines',
          'blobs',
          'under 1 MiB',
          'size',
          'compression',
          'last verified',
        ],
        results.map((of) => [
          of.projection,
          of.tenants,
          of.from === null ? 'none' : `${of.from} to ${of.to}`,
          of.archived,
          Math.max(0, of.lines - of.archived),
          of.blobs,
          of.small,
          size(of.bytes),
          of.compression === null ? 'not measured' : `${of.compression.toFixed(1)} to 1`,
          of.verified === null ? 'never' : `${of.verified.slice(0, 19)}Z`,
        ]),
      ),
      ...faultLines(results.flatMap(({ faults }) => faults)),
    ].join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});
