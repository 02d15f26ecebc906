import { z } from 'zod';
import { listArchive } from '../../archive/verify.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { openArchives } from './open.ts';

export interface ArchivePeriod {
  readonly projection: string;
  readonly tenant: string;
  /** `yyyy-mm` of the documents' dates. */
  readonly period: string;
  readonly blobs: number;
  /** Lines of the blobs: a document that was archived again has several, one that was restored still has its own. */
  readonly documents: number;
  readonly bytes: number;
}

export const archiveList = defineOperation({
  noun: 'archive',
  verb: 'list',
  summary: 'List what lies in the archive, by tenant and month',
  examples: ['millrace archive list', 'millrace archive list orders-cold --json'],
  effect: 'reads',
  argument: 'name',
  input: z.object({ name: z.string().optional().describe('one archive; all of them if absent') }),
  run: async ({ name: only }, { workspace, signal, screen }) => {
    const periods: ArchivePeriod[] = [];
    for (const archive of await openArchives(await workspace.pipeline(), await workspace.services(), {
      only,
      signal,
      screen,
    })) {
      for await (const { projection, tenant, period, blobs } of listArchive(archive)) {
        periods.push({
          projection,
          tenant,
          period,
          blobs: blobs.length,
          documents: sum(blobs.map(({ documents }) => documents)),
          bytes: sum(blobs.map(({ bytes }) => bytes)),
        });
      }
    }
    return periods;
  },
  format: (periods) =>
    periods.length === 0
      ? 'The archive is empty.'
      : `${table(
          ['archive', 'tenant', 'month', 'blobs', 'documents', 'size'],
          periods.map((of) => [of.projection, of.tenant, of.period, of.blobs, of.documents, size(of.bytes)]),
        )}\n${plural(sum(periods.map(({ documents }) => documents)), 'document')}, ${size(sum(periods.map(({ bytes }) => bytes)))}`,
});

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
