import { z } from 'zod';
import { flag } from '../flags.ts';
import { ArchiveDamaged } from '../../archive/blobs/blob.ts';
import { copyArchive } from '../../archive/read/copy-out.ts';
import { restoreArchive } from '../../archive/restore.ts';
import { extentOf, selected, unmetBlobs, unmetLines } from '../../archive/sweep/selection.ts';
import type { ArchiveFault, BlobRecord, CopyResult, RestoreResult } from '../../archive/types.ts';
import { resourceName } from '../../base/settings.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable } from '../../procedures/table.ts';
import { faultLines } from '../../procedures/archive/faults.ts';
import { assertInto, writingInto } from '../../procedures/archive/into.ts';
import { openArchives } from '../../procedures/archive/open.ts';
import { sumOfEntries } from './list.operation.ts';
import { foreignKeys } from '../../procedures/archive/foreign-keys.ts';
import { operationsError } from '../../procedures/errors.ts';
import { type Chosen, assertKnown, chooseDocuments, archiveSelectionInput } from '../../procedures/archive/chosen.ts';

const input = z.object({
  ...archiveSelectionInput,
  into: resourceName('A container name')
    .optional()
    .describe('copy them into this container of the model, and leave them in the archive'),
  replace: flag('with --into: write over documents that stand there in another version'),
  skipDamaged: flag('skip blobs and manifests that are missing or damaged, and list them; the exit code is then 1'),
});
type RestoreInput = z.output<typeof input>;

/** @throws UsageError `not-found`, `input-invalid`, and the errors of `openArchives`, `assertInto` */
async function choose(given: RestoreInput, { workspace, signal, screen }: Context): Promise<Chosen[]> {
  const { into, replace } = given;
  if (replace && into === undefined) {
    throw operationsError('input-invalid', '--replace is for --into: a restore never writes over a document', {
      hint: 'Leave out --replace, or name a container with --into.',
    });
  }
  const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
  const archives = await openArchives(loaded, services, { only: given.name, signal, screen });
  const chosen = chooseDocuments(given, archives);
  // A place that runs no archive copies nothing.
  if (into !== undefined && archives.length > 0) await assertInto(into, archives, loaded, services);
  await assertKnown(chosen, given, { loaded, signal });
  return chosen;
}

/** What `--dry-run` says of one archive. */
async function stepsOf({ archive, selection }: Chosen, given: RestoreInput, signal: AbortSignal): Promise<string[]> {
  const { name, from } = archive.spec;
  const steps: string[] = [];
  let extent: Awaited<ReturnType<typeof extentOf>>;
  if ('documents' in selection) {
    extent = await extentOf(archive, selection.documents, archive.access(untilStopped(signal)));
  } else {
    const listedBlobs: BlobRecord[] = [];
    const skip = (fault: ArchiveFault): void => {
      if (!given.skipDamaged) throw new ArchiveDamaged(fault);
      steps.push(`${name}: skip ${fault.blob}, which can't be read`);
    };
    const access = archive.access(untilStopped(signal));
    for await (const listed of selected(archive, selection)) {
      if ('manifest' in listed) listedBlobs.push(...listed.manifest.blobs);
      else skip(listed.fault);
    }
    for (const unmet of await unmetBlobs(archive, selection, new Set(listedBlobs.map((blob) => blob.name)), access))
      await unmetLines(archive.store, new Entries(archive.stateContainer), unmet, access).catch((error: unknown) => {
        if (!(error instanceof ArchiveDamaged)) throw error;
        skip(error.fault);
      });
    const documents = sumOfEntries(listedBlobs.map((blob) => blob.documents));
    extent = { documents, blobs: listedBlobs.length, bytes: sumOfEntries(listedBlobs.map(({ bytes }) => bytes)) };
  }
  if (extent.blobs === 0) return steps;
  const read = `read ${plural(extent.blobs, 'blob')} (${extent.bytes === undefined ? 'size unknown' : size(extent.bytes)})`;
  const where = given.into === undefined ? `back to ${from.container}` : `into ${given.into}`;
  return [...steps, `${name}: ${read}, write up to ${plural(extent.documents, 'document')} ${where}`];
}

export const archiveRestore = defineOperation({
  name: 'archive restore',
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
    return textTable(
      ['archive', 'into', 'copied', 'replaced', 'skipped', 'different'],
      copies.map((of) => [of.projection, of.into, of.copied, of.replaced, of.skipped, of.differ]),
    );
  return textTable(
    ['archive', 'restored', 'skipped'],
    results.flatMap((of) => ('into' in of ? [] : [[of.projection, of.restored, of.skipped]])),
  );
}
