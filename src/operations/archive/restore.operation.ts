import { z } from 'zod';
import { ArchiveDamaged } from '../../archive/blob.ts';
import { copyArchive } from '../../archive/copy-out.ts';
import { restoreArchive, unknownOf } from '../../archive/restore.ts';
import { extentOf, selected } from '../../archive/selected.ts';
import type { Archive, BlobRecord, CopyResult, RestoreResult, Selection } from '../../archive/types.ts';
import { resourceName } from '../../base/settings.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { faultLines } from './faults.ts';
import { assertInto, writingInto } from './into.ts';
import { sum } from './list.operation.ts';
import { foreignKeys } from './foreign-keys.ts';
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
    .describe('only documents of one partition key, as JSON, such as \'["store-1","order-7"]\'; needs --id'),
  id: z.array(z.string().min(1)).min(1).optional().describe('only the document with this id; repeatable; needs --key'),
  into: resourceName('A container name')
    .optional()
    .describe('copy them into this container of the model, and leave them in the archive'),
  replace: z.boolean().default(false).describe('with --into: write over documents that stand there in another version'),
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

/** @throws UsageError `tenant-unknown`, `document-unknown`, `input-invalid`, and the errors of `openArchives`, `assertInto` */
async function choose(given: RestoreInput, { workspace, signal, screen }: Context): Promise<Chosen[]> {
  const { name: only, tenant, into, replace } = given;
  if (replace && into === undefined) {
    throw operationsError('input-invalid', '--replace is for --into: a restore never writes over a document', {
      hint: 'Leave out --replace, or name a container with --into.',
    });
  }
  const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
  const archives = await openArchives(loaded, services, { only, signal, screen });
  const chosen = archives.map((archive) => ({ archive, selection: selectionOf(given, archive) }));
  // A place that runs no archive copies nothing.
  if (into !== undefined && archives.length > 0) await assertInto(into, archives, loaded, services);
  await assertArchivedTenant(archives, tenant);
  // Over shards, another place may have archived them.
  if (!loaded.pipeline.part) await assertDocuments(chosen, signal);
  return chosen;
}

/** Each named document must be known to one of the archives. */
async function assertDocuments(chosen: readonly Chosen[], signal: AbortSignal): Promise<void> {
  let unknown: Awaited<ReturnType<typeof unknownOf>> | undefined;
  for (const { archive, selection } of chosen)
    if ('documents' in selection) {
      const here = await unknownOf(archive, selection.documents, signal);
      unknown = unknown?.filter(({ id }) => here.some((other) => other.id === id)) ?? here;
    }
  const [first] = unknown ?? [];
  if (!first) return;
  const ids = unknown?.map(({ id }) => id).join(', ');
  throw operationsError('document-unknown', `The archive never had a document ${JSON.stringify(first.key)} ${ids}`);
}

/** What `--dry-run` says of one archive. */
async function stepsOf({ archive, selection }: Chosen, given: RestoreInput, signal: AbortSignal): Promise<string[]> {
  const { name, from } = archive.spec;
  const steps: string[] = [];
  let extent: Awaited<ReturnType<typeof extentOf>>;
  if ('documents' in selection) {
    extent = await extentOf(archive, selection.documents, archive.access(untilStopped(signal)));
  } else {
    const blobs: BlobRecord[] = [];
    for await (const listed of selected(archive, selection)) {
      if ('manifest' in listed) blobs.push(...listed.manifest.blobs);
      else if (given.skipDamaged) steps.push(`${name}: skip ${listed.fault.blob}, which can't be read`);
      else throw new ArchiveDamaged(listed.fault);
    }
    const documents = sum(blobs.map((blob) => blob.documents));
    extent = { documents, blobs: blobs.length, bytes: sum(blobs.map(({ bytes }) => bytes)) };
  }
  if (extent.blobs === 0) return steps;
  const read = `read ${plural(extent.blobs, 'blob')} (${extent.bytes === undefined ? 'size unknown' : size(extent.bytes)})`;
  const where = given.into === undefined ? `back to ${from.container}` : `into ${given.into}`;
  return [...steps, `${name}: ${read}, write up to ${plural(extent.documents, 'document')} ${where}`];
}

export const archiveRestore = defineOperation({
  noun: 'archive',
  verb: 'restore',
  summary: 'Write archived documents back to their container unchanged, or into another',
  examples: [
    'millrace archive restore flights-cold --from 2001-01 --to 2001-01',
    'millrace archive restore orders-cold --tenant store-1 --dry-run',
    'millrace archive restore orders-cold --from 2025 --skip-damaged',
    'millrace archive restore orders-cold --key \'["store-1","order-7"]\' --id order-7',
    'millrace archive restore orders-cold --key \'["store-1"]\' --id order-7 --id order-8',
    'millrace archive restore orders-cold --tenant store-1 --from 2025 --to 2025 --into OrdersOf2025',
  ],
  effect: 'changes',
  shards: 'every',
  bulk: true,
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => {
    const steps: string[] = [];
    for (const chosen of await choose(given, context)) steps.push(...(await stepsOf(chosen, given, context.signal)));
    return { steps, ru: 0 };
  },
  run: async (given, context) => {
    const { signal, screen, workspace } = context;
    const chosen = await choose(given, context);
    const parts = {
      settings: workspace.settings(),
      services: await workspace.services(),
      loaded: await workspace.pipeline(),
    };
    const watch = watchErasures(parts);
    const { skipDamaged, into, replace } = given;
    const options = { signal, skipDamaged, erased: watch && (() => watch.current()) };
    return audited(context, 'archive restore', given, async () => {
      const results: (RestoreResult | CopyResult)[] = [];
      for (const { archive, selection } of chosen) {
        const say = (done: string, documents: number): void =>
          screen.progress(`${archive.spec.name}: ${done}`, documents);
        results.push(
          into === undefined
            ? await restoreArchive(archive, selection, {
                ...options,
                foreign: await foreignKeys(parts, archive.source),
                progress: ({ restored }) => say('restored', restored),
              })
            : await copyArchive(writingInto(archive, parts), selection, {
                ...options,
                foreign: await foreignKeys(parts, archive.source),
                into,
                replace,
                progress: ({ copied, replaced }) => say(`copied into ${into}`, copied + replaced),
              }),
        );
      }
      return results;
    });
  },
  format: (results) =>
    [
      counted(results),
      ...results.flatMap((of) =>
        'differ' in of && of.differ > 0
          ? [
              `${of.projection}: ${plural(of.differ, 'document')} left as they stand in ${of.into}, in another version; --replace writes over them:`,
              ...of.different.map((name) => `  ${name}`),
            ]
          : [],
      ),
      ...results.flatMap(({ projection, erased }) =>
        erased === 0 ? [] : `${projection}: ${plural(erased, 'document')} not restored, because their tenant is erased`,
      ),
      ...results.flatMap((of) =>
        'moving' in of && of.moving > 0
          ? [
              `${of.projection}: ${plural(of.moving, 'document')} not restored here, because their keys move or are on another shard`,
            ]
          : [],
      ),
      ...results.flatMap(({ projection, faults }) =>
        faults.length === 0 ? [] : [`${projection}: these blobs were skipped:`, ...faultLines(faults)],
      ),
    ].join('\n'),
  ok: (results) =>
    results.every(
      (of) => of.faults.length === 0 && !('moving' in of && of.moving > 0) && !('differ' in of && of.differ > 0),
    ),
});

function counted(results: readonly (RestoreResult | CopyResult)[]): string {
  const copies = results.filter((of) => 'into' in of);
  if (copies.length > 0)
    return table(
      ['archive', 'into', 'copied', 'replaced', 'skipped', 'different'],
      copies.map((of) => [of.projection, of.into, of.copied, of.replaced, of.skipped, of.differ]),
    );
  return table(
    ['archive', 'restored', 'skipped'],
    results.flatMap((of) => ('into' in of ? [] : [[of.projection, of.restored, of.skipped]])),
  );
}

function selectionOf({ tenant, from, to, key, id }: RestoreInput, { source }: Archive): Selection {
  if ((key === undefined) !== (id === undefined)) {
    throw operationsError('input-invalid', '--key and --id name documents together, and one of them is missing', {
      hint: `Give both: --key '${JSON.stringify(source.keyPaths.map((path) => path.join('.')))}' --id ID.`,
    });
  }
  if (key !== undefined && id !== undefined) {
    if ([tenant, from, to].some((one) => one !== undefined)) {
      throw operationsError(
        'input-invalid',
        '--key and --id name documents, and --tenant, --from and --to choose months',
        {
          hint: 'Give one of both.',
        },
      );
    }
    const named = keyOf(key, source);
    return { documents: [...new Set(id)].map((one) => ({ key: named, id: one })) };
  }
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
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
