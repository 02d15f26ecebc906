import { z } from 'zod';
import { optional } from '../flags.ts';
import type { ListedManifest } from '../../archive/blobs/manifests.ts';
import type { ArchiveFault } from '../../archive/types.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { type Period, folderOf, isTenant, manifestBeside, placeOf, prefixOf } from '../../archive/blobs/layout.ts';
import { listArchive } from '../../archive/verify.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable } from '../../procedures/table.ts';
import { faultLines } from '../../procedures/archive/faults.ts';
import { tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { assertArchivedTenant } from '../../procedures/archive/of-tenant.ts';
import { type OpenedArchive, openArchives } from '../../procedures/archive/open.ts';

export interface ArchivePeriod {
  readonly projection: string;
  readonly tenant: string;
  /** `yyyy-mm` of the documents' dates. */
  readonly period: string;
  /** null: unknown, because the manifest can't be read. */
  readonly blobs: number | null;
  /** Documents that are archived now, by their entries. */
  readonly archived: number;
  /** Lines of the blobs: a document that was archived twice has two lines; a restored one keeps its line. */
  readonly documents: number | null;
  readonly bytes: number | null;
  readonly fault?: ArchiveFault;
}

export const archiveList = defineOperation({
  name: 'archive list',
  summary: 'List the archive’s blobs and documents by tenant and month',
  examples: [
    'millrace archive list',
    'millrace archive list orders-cold --json',
    'millrace archive list --tenant store-1',
  ],
  effect: 'reads',
  shards: 'every',
  argument: 'name',
  input: z.object({
    name: optional('one archive (default: all)'),
    ...tenantInput,
  }),
  run: async ({ name: only, tenant }, { workspace, signal, screen }) => {
    const opened = await openArchives(await workspace.pipeline(), await workspace.services(), { only, signal, screen });
    await assertArchivedTenant(opened, tenant);
    const periods: ArchivePeriod[] = [];
    for (const archive of opened)
      for (const period of await periodsOf(archive, signal))
        if (tenant === undefined || isTenant(period.place, tenant)) periods.push(period.shown);
    return periods;
  },
  format: (periods) =>
    periods.length === 0
      ? 'The archive is empty.'
      : [
          textTable(
            ['archive', 'tenant', 'month', 'archived now', 'blobs', 'lines', 'size'],
            periods.map(({ projection, tenant, period, archived, blobs, documents, bytes }) => [
              projection,
              tenant,
              period,
              archived,
              blobs ?? 'unknown',
              documents ?? 'unknown',
              bytes === null ? 'unknown' : size(bytes),
            ]),
          ),
          `${plural(sumOfEntries(periods.map(({ archived }) => archived)), 'document')} archived now, ${size(sumOfEntries(periods.map(({ bytes }) => bytes ?? 0)))}`,
          ...faultLines(periods.flatMap(({ fault }) => fault ?? [])),
        ].join('\n'),
  ok: (periods) => periods.every(({ fault }) => fault === undefined),
});

interface PlacedPeriod {
  readonly place: Period;
  readonly shown: ArchivePeriod;
}

/** The months of an archive, with those of which entries name blobs and no manifest is stored. */
async function periodsOf(archive: OpenedArchive, signal: AbortSignal): Promise<PlacedPeriod[]> {
  const { spec, stateContainer } = archive;
  const access = archive.access(untilStopped(signal));
  const entries = new Entries(stateContainer);
  // Before the manifests: a sweep lists a blob before an entry names it.
  const archived = await countsOf(entries, prefixOf(spec), access);
  const periods: PlacedPeriod[] = [];
  for await (const listed of listArchive(archive, signal)) {
    const folder = folderOf(listed.place);
    const shown = { ...listed.place, archived: archived.get(folder)?.documents ?? 0, ...contentOf(listed) };
    archived.delete(folder);
    periods.push({ place: listed.place, shown });
  }
  if (archived.size === 0) return periods;
  // Their documents may have been restored, erased or expired meanwhile.
  const now = await countsOf(entries, prefixOf(spec), access);
  for (const folder of archived.keys()) {
    const { documents = 0, name = '' } = now.get(folder) ?? {};
    if (documents === 0) continue;
    const blob = manifestBeside(name);
    const place = placeOf(blob);
    const what = `No manifest ${blob} is stored, and entries name ${plural(documents, 'document')} in its folder. Restore the blobs from a backup or from soft delete; \`millrace archive verify\` names them`;
    const unknown = { blobs: null, documents: null, bytes: null };
    const fault: ArchiveFault = { code: 'blob-missing', what, blob };
    periods.push({ place, shown: { ...place, archived: documents, ...unknown, fault } });
  }
  return periods;
}

/** How many documents are archived now in each folder, with a blob of it. */
async function countsOf(
  entries: Entries,
  prefix: string,
  access: DocumentAccess,
): Promise<Map<string, { readonly name: string; readonly documents: number }>> {
  const counts = new Map<string, { readonly name: string; readonly documents: number }>();
  for (const { name, documents } of await entries.counts(prefix, access)) {
    const folder = folderOf(placeOf(name));
    counts.set(folder, { name, documents: documents + (counts.get(folder)?.documents ?? 0) });
  }
  return counts;
}

function contentOf(
  listed: ListedManifest,
): Omit<ArchivePeriod, 'projection' | 'period' | 'tenant' | 'archived'> & { readonly tenant?: string } {
  if ('fault' in listed) return { blobs: null, documents: null, bytes: null, fault: listed.fault };
  const { tenant, blobs } = listed.manifest;
  return {
    // The path of the manifest has only a digest of a long tenant name.
    tenant,
    blobs: blobs.length,
    documents: sumOfEntries(blobs.map(({ documents }) => documents)),
    bytes: sumOfEntries(blobs.map(({ bytes }) => bytes)),
  };
}

export const sumOfEntries = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);
