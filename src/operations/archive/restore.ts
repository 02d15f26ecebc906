import { z } from 'zod';
import { restoreArchive } from '../../archive/restore.ts';
import type { Archive, BlobRecord, Manifest, RestoreResult, Selection } from '../../archive/types.ts';
import { listArchive } from '../../archive/verify.ts';
import { UsageError } from '../../base/errors.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { suggestion } from '../suggest.ts';
import { plural, size, table } from '../table.ts';
import { sum } from './list.ts';
import { openArchives } from './open.ts';

const period = z
  .string()
  .regex(/^\d{4}(-(0[1-9]|1[0-2]))?$/, 'must be a month, such as 2001-01, or a year')
  .optional();

const input = z.object({
  name: z.string().optional().describe('one archive; all of them if absent'),
  tenant: z.string().optional().describe('only this tenant’s documents'),
  from: period.describe('only from this month on, such as 2001-01, or from this year on'),
  to: period.describe('only up to this month or year, itself included'),
  key: z
    .string()
    .optional()
    .describe('only one document: its partition key as JSON, such as \'["store-1","order-7"]\'; with --id'),
  id: z.string().min(1).optional().describe('only one document: its id; with --key'),
});
type RestoreInput = z.output<typeof input>;

/** @throws UsageError `tenant-unknown`, and what `openArchives` throws */
async function open({ name: only, tenant }: RestoreInput, { workspace, signal, screen }: Context): Promise<Archive[]> {
  const archives = await openArchives(await workspace.pipeline(), await workspace.services(), { only, signal, screen });
  if (tenant === undefined) return archives;
  const known = new Set<string>();
  for (const archive of archives) for await (const manifest of listArchive(archive)) known.add(manifest.tenant);
  if (known.has(tenant)) return archives;
  throw new UsageError('tenant-unknown', `Nothing is archived of tenant ${tenant}${suggestion(tenant, [...known])}`, {
    mend: '`millrace archive list` shows whose documents there are.',
  });
}

export const archiveRestore = defineOperation({
  noun: 'archive',
  verb: 'restore',
  summary: 'Write archived documents back to their container, as they were',
  examples: [
    'millrace archive restore flights-cold --from 2001-01 --to 2001-01',
    'millrace archive restore orders-cold --tenant store-1 --dry-run',
    'millrace archive restore orders-cold --key \'["store-1","order-7"]\' --id order-7',
  ],
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const steps: string[] = [];
    for (const archive of await open(given, context)) {
      const selection = selectionOf(given, archive);
      const { name, from } = archive.spec;
      if (selection.document) {
        steps.push(`${name}: write ${selection.document.id} back to ${from.container}, if it is archived`);
        continue;
      }
      const blobs: BlobRecord[] = [];
      for await (const manifest of listArchive(archive)) if (within(manifest, selection)) blobs.push(...manifest.blobs);
      if (blobs.length === 0) continue;
      const documents = plural(sum(blobs.map((blob) => blob.documents)), 'document');
      const bytes = size(sum(blobs.map((blob) => blob.bytes)));
      steps.push(
        `${name}: read ${plural(blobs.length, 'blob')} (${bytes}), write up to ${documents} back to ${from.container}`,
      );
    }
    return { steps, ru: 0 };
  },
  run: async (given, context) => {
    const { signal, screen } = context;
    const archives = await open(given, context);
    const selections = archives.map((archive) => selectionOf(given, archive));
    return audited(context, 'archive restore', given, async () => {
      const results: RestoreResult[] = [];
      for (const [index, archive] of archives.entries()) {
        const progress = ({ restored }: RestoreResult): void =>
          screen.progress(`${archive.spec.name}: restored`, restored);
        results.push(await restoreArchive(archive, selections[index] ?? {}, { signal, progress }));
      }
      return results;
    });
  },
  format: (results) =>
    table(
      ['archive', 'restored', 'skipped'],
      results.map(({ projection, restored, skipped }) => [projection, restored, skipped]),
    ),
});

function selectionOf({ tenant, from, to, key, id }: RestoreInput, { source }: Archive): Selection {
  if ((key === undefined) !== (id === undefined)) {
    throw new UsageError('input-invalid', 'One document is told by --key and --id together', {
      mend: `Give both: --key '${JSON.stringify(source.keyPaths.map((path) => path.join('.')))}' --id ID.`,
    });
  }
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(key === undefined || id === undefined ? {} : { document: { key: keyOf(key, source), id } }),
  };
}

function keyOf(text: string, { name, keyPaths }: Archive['source']): (string | number | boolean | null)[] {
  const found = z
    .array(z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .length(keyPaths.length)
    .safeParse(parseJson(text));
  if (found.success) return found.data;
  const paths = keyPaths.map((path) => `/${path.join('/')}`);
  throw new UsageError('input-invalid', `--key ${text} is no partition key of ${name}`, {
    mend: `Write it as a JSON array with a value for each of ${paths.join(', ')}.`,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Months compare as text, and a year's text stands before its months'. */
const within = ({ tenant, period: month }: Manifest, selection: Selection): boolean =>
  (selection.tenant === undefined || selection.tenant === tenant) &&
  (selection.from === undefined || month >= selection.from) &&
  (selection.to === undefined || month.slice(0, selection.to.length) <= selection.to);
