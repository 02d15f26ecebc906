import { z } from 'zod';
import { ArchiveDamaged } from '../../archive/blob.ts';
import { isKnown, restoreArchive, selected } from '../../archive/restore.ts';
import type { Archive, BlobRecord, RestoreResult, Selection } from '../../archive/types.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { sum } from './list.operation.ts';
import { openArchives } from './open.ts';
import { operationsError } from '../errors.ts';
import { assertArchivedTenant } from './of-tenant.ts';

const period = z
  .string()
  .regex(/^\d{4}(-(0[1-9]|1[0-2]))?$/, 'must be a month such as 2001-01, or a year')
  .optional();

const input = z.object({
  name: z.string().optional().describe('one archive (default: all)'),
  tenant: z.string().optional().describe('only this tenant’s documents'),
  from: period.describe('only documents from this month or year on, such as 2001-01'),
  to: period.describe('only documents up to the end of this month or year'),
  key: z
    .string()
    .optional()
    .describe('only one document: its partition key as JSON, such as \'["store-1","order-7"]\'; needs --id'),
  id: z.string().min(1).optional().describe('only one document: its id; needs --key'),
  skipDamaged: z
    .boolean()
    .default(false)
    .describe('skip blobs and manifests that are missing or damaged, and list them; the exit code is then 1'),
});
type RestoreInput = z.output<typeof input>;

interface Chosen {
  readonly archive: Archive;
  readonly selection: Selection;
}

/** @throws UsageError `tenant-unknown`, `document-unknown`, `input-invalid`, and the errors of `openArchives` */
async function choose(given: RestoreInput, { workspace, signal, screen }: Context): Promise<Chosen[]> {
  const { name: only, tenant } = given;
  const archives = await openArchives(await workspace.pipeline(), await workspace.services(), { only, signal, screen });
  const chosen = archives.map((archive) => ({ archive, selection: selectionOf(given, archive) }));
  await assertArchivedTenant(archives, tenant);
  await assertDocument(chosen, signal);
  return chosen;
}

async function assertDocument(chosen: readonly Chosen[], signal: AbortSignal): Promise<void> {
  const asked = chosen.flatMap(({ archive, selection: { document } }) => (document ? [{ archive, document }] : []));
  const [first] = asked;
  if (!first) return;
  for (const { archive, document } of asked) if (await isKnown(archive, document, signal)) return;
  const { key, id } = first.document;
  throw operationsError('document-unknown', `The archive never had a document ${JSON.stringify(key)} ${id}`);
}

export const archiveRestore = defineOperation({
  noun: 'archive',
  verb: 'restore',
  summary: 'Write archived documents back to their container unchanged',
  examples: [
    'millrace archive restore flights-cold --from 2001-01 --to 2001-01',
    'millrace archive restore orders-cold --tenant store-1 --dry-run',
    'millrace archive restore orders-cold --from 2025 --skip-damaged',
    'millrace archive restore orders-cold --key \'["store-1","order-7"]\' --id order-7',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const steps: string[] = [];
    for (const { archive, selection } of await choose(given, context)) {
      const { name, from } = archive.spec;
      if (selection.document) {
        steps.push(`${name}: write ${selection.document.id} back to ${from.container}, if it is archived`);
        continue;
      }
      const blobs: BlobRecord[] = [];
      for await (const listed of selected(archive, selection)) {
        if ('manifest' in listed) blobs.push(...listed.manifest.blobs);
        else if (given.skipDamaged) steps.push(`${name}: skip ${listed.fault.blob}, which can't be read`);
        else throw new ArchiveDamaged(listed.fault);
      }
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
    const { signal, screen, workspace } = context;
    const chosen = await choose(given, context);
    const watch = watchErasures({ services: await workspace.services(), loaded: await workspace.pipeline() });
    const erased = watch && (() => watch.current());
    return audited(context, 'archive restore', given, async () => {
      const results: RestoreResult[] = [];
      for (const { archive, selection } of chosen) {
        const progress = ({ restored }: RestoreResult): void =>
          screen.progress(`${archive.spec.name}: restored`, restored);
        const { skipDamaged } = given;
        results.push(await restoreArchive(archive, selection, { signal, skipDamaged, erased, progress }));
      }
      return results;
    });
  },
  format: (results) =>
    [
      table(
        ['archive', 'restored', 'skipped'],
        results.map(({ projection, restored, skipped }) => [projection, restored, skipped]),
      ),
      ...results.flatMap(({ projection, erased }) =>
        erased === 0 ? [] : `${projection}: ${plural(erased, 'document')} not restored, because their tenant is erased`,
      ),
      ...results.flatMap(({ projection, faults }) =>
        faults.length === 0 ? [] : [`${projection}: these blobs were skipped:`, ...faultLines(faults)],
      ),
    ].join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

function selectionOf({ tenant, from, to, key, id }: RestoreInput, { source }: Archive): Selection {
  if ((key === undefined) !== (id === undefined)) {
    throw operationsError('input-invalid', '--key and --id name a document together, and one of them is missing', {
      hint: `Give both: --key '${JSON.stringify(source.keyPaths.map((path) => path.join('.')))}' --id ID.`,
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
  throw operationsError('input-invalid', `--key ${text} is not a partition key of ${name}`, {
    hint: `Write it as a JSON array with a value for each of ${paths.join(', ')}.`,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
