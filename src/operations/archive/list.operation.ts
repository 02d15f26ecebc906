import { z } from 'zod';
import type { ListedManifest } from '../../archive/manifests.ts';
import type { ArchiveFault } from '../../archive/types.ts';
import { projectionId } from '../../definition/specs.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries } from '../../projections/archive/entries.ts';
import { isTenant, prefixOf } from '../../archive/layout.ts';
import { listArchive } from '../../archive/verify.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { tenantInput } from '../tenants/asked.ts';
import { assertArchivedTenant } from './of-tenant.ts';
import { type OpenedArchive, openArchives } from './open.ts';

export interface ArchivePeriod {
  readonly projection: string;
  readonly tenant: string;
  /** `yyyy-mm` of the documents' dates. */
  readonly period: string;
  /** null: unknown, because the manifest can't be read. */
  readonly blobs: number | null;
  /** Lines of the blobs: a document that was archived twice has two lines; a restored one keeps its line. */
  readonly documents: number | null;
  readonly bytes: number | null;
  readonly fault?: ArchiveFault;
  /** With `--tiers`: the access tiers of its blobs. */
  readonly tiers?: readonly string[];
}

export const archiveList = defineOperation({
  noun: 'archive',
  verb: 'list',
  summary: 'List the archive’s blobs and documents by tenant and month',
  examples: [
    'millrace archive list',
    'millrace archive list orders-cold --json',
    'millrace archive list --tenant store-1',
    'millrace archive list --tiers',
  ],
  effect: 'reads',
  shards: 'every',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one archive (default: all)'),
    tiers: z.boolean().default(false).describe('also show the access tiers of the blobs, by a listing of them'),
    ...tenantInput,
  }),
  run: async ({ name: only, tenant, tiers: asked }, { workspace, signal, screen }) => {
    const opened = await openArchives(await workspace.pipeline(), await workspace.services(), { only, signal, screen });
    await assertArchivedTenant(opened, tenant);
    const periods: ArchivePeriod[] = [];
    for (const archive of opened) {
      const tiers = asked ? await tiersOf(archive) : undefined;
      let isEmpty = true;
      for await (const listed of listArchive(archive, signal)) {
        isEmpty = false;
        if (tenant === undefined || isTenant(listed.place, tenant))
          periods.push({ ...listed.place, ...contentOf(listed), ...(tiers && { tiers: tiersIn(listed, tiers) }) });
      }
      if (isEmpty) periods.push(...(await emptied(archive, signal)));
    }
    return periods;
  },
  format: (periods) =>
    periods.length === 0
      ? 'The archive is empty.'
      : [
          table(
            ['archive', 'tenant', 'month', 'blobs', 'documents', 'size', ...(periods[0]?.tiers ? ['tier'] : [])],
            periods.map(({ projection, tenant, period, blobs, documents, bytes, tiers }) => [
              projection,
              tenant,
              period,
              blobs ?? 'unknown',
              documents ?? 'unknown',
              bytes === null ? 'unknown' : size(bytes),
              ...(tiers ? [tiers.join(', ')] : []),
            ]),
          ),
          `${plural(sum(periods.map(({ documents }) => documents ?? 0)), 'document')}, ${size(sum(periods.map(({ bytes }) => bytes ?? 0)))}`,
          ...faultLines(periods.flatMap(({ fault }) => fault ?? [])),
        ].join('\n'),
  ok: (periods) => periods.every(({ fault }) => fault === undefined),
});

/** What to say of an archive whose blob container someone emptied by hand. */
async function emptied(archive: OpenedArchive, signal: AbortSignal): Promise<readonly ArchivePeriod[]> {
  const { spec, stateContainer } = archive;
  const access = archive.access(untilStopped(signal));
  const documents = await new Entries(stateContainer).count(prefixOf(spec), access);
  if (documents === 0) return [];
  const blob = prefixOf(spec);
  const what = `No manifest of archive ${spec.name} is stored, and ${plural(documents, 'document')} are archived in it. Restore its blobs from a backup or from soft delete; \`millrace archive verify\` names them`;
  const unknown = { tenant: 'unknown', period: 'unknown', blobs: null, documents, bytes: null };
  return [{ projection: projectionId(spec), ...unknown, fault: { code: 'blob-missing', what, blob } }];
}

function contentOf(
  listed: ListedManifest,
): Omit<ArchivePeriod, 'projection' | 'period' | 'tenant'> & { readonly tenant?: string } {
  if ('fault' in listed) return { blobs: null, documents: null, bytes: null, fault: listed.fault };
  const { tenant, blobs } = listed.manifest;
  return {
    // The path of the manifest has only a digest of a long tenant name.
    tenant,
    blobs: blobs.length,
    documents: sum(blobs.map(({ documents }) => documents)),
    bytes: sum(blobs.map(({ bytes }) => bytes)),
  };
}

/** The tier of each blob of an archive. */
async function tiersOf({ spec, store }: OpenedArchive): Promise<ReadonlyMap<string, string>> {
  const tiers = new Map<string, string>();
  for await (const { name, tier } of store.tiers(prefixOf(spec))) tiers.set(name, tier);
  return tiers;
}

const tiersIn = (listed: ListedManifest, tiers: ReadonlyMap<string, string>): string[] =>
  'fault' in listed ? [] : [...new Set(listed.manifest.blobs.flatMap(({ name }) => tiers.get(name) ?? []))].toSorted();

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
