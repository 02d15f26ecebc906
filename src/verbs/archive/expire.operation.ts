import { z } from 'zod';
import { optional, positive } from '../flags.ts';
import { type ExpireOptions, type ExpireResult, expireArchive } from '../../archive/expire.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { type Context, type Plan, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable } from '../../procedures/table.ts';
import { tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { faultLines } from '../../procedures/archive/faults.ts';
import { assertArchivedTenant, assertByTenant } from '../../procedures/archive/of-tenant.ts';
import { type OpenedTogether, openTogether } from '../../procedures/archive/open-together.ts';

const input = z.object({
  name: optional('one archive (default: all that declare `keep`)'),
  ...tenantInput,
  within: positive(
    'for each archive, begin no other blob after this many seconds; the next run goes on (default: no limit)',
  ),
});
type ExpireInput = z.output<typeof input>;

async function run({ name: only, tenant, within }: ExpireInput, context: Context, dryRun: boolean) {
  const { signal, screen } = context;
  const works = await openTogether(await partsOf(context), { only, signal, screen });
  const archives = works.map(({ archive }) => archive);
  assertByTenant(archives, tenant);
  await assertArchivedTenant(archives, tenant);
  const results: ExpireResult[] = [];
  for (const work of works) {
    if (!work.archive.spec.keep) continue;
    const withinMs = within === undefined ? undefined : within * 1_000;
    results.push(await expireTogether(work, { now: Date.now(), signal, tenant, dryRun, withinMs }));
  }
  return results;
}

/** Deletes what is over in all places of an archive. */
export const expireTogether = async (
  { archive, places, moving }: OpenedTogether,
  options: Omit<ExpireOptions, 'accesses' | 'moving'>,
): Promise<ExpireResult> =>
  expireArchive(archive, {
    ...options,
    accesses: places.map((place) => place.archive.access(untilStopped(options.signal))),
    // A dry run writes nothing, so no move has to wait for it.
    ...(moving && !options.dryRun && { moving }),
  });

export const archiveExpire = defineOperation({
  shards: 'itself',
  name: 'archive expire',
  summary: 'Delete archived documents whose time is over, by the rule `keep` of their archive',
  examples: [
    'millrace archive expire --dry-run',
    'millrace archive expire orders-cold --within 600',
    'millrace archive expire --tenant store-1 --json',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context): Promise<Plan> => {
    const results = await run(asked, context, true);
    return { steps: results.flatMap(planned), ru: 0 };
  },
  run: (asked, context) => run(asked, context, false),
  format: (results) =>
    results.length === 0
      ? 'No archive declares `keep`, so archived documents are kept.'
      : [
          textTable(
            ['archive', 'documents', 'removed', 'size', 'waiting', 'held', 'left'],
            results.map((of) => [
              of.projection,
              of.documents,
              of.removed,
              size(of.bytes),
              of.waiting,
              of.held,
              of.left,
            ]),
          ),
          ...results
            .filter(({ complete }) => !complete)
            .map(({ projection }) => `${projection}: stopped when its time was up; the next run goes on`),
          ...results
            .filter(({ waiting }) => waiting > 0)
            .map(
              ({ projection, waiting }) =>
                `${projection}: a run in five minutes or later removes the waiting ${plural(waiting, 'blob')}`,
            ),
          ...faultLines(results.flatMap(({ faults }) => faults)),
        ].join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

const planned = ({ projection, documents, removed, bytes, held }: ExpireResult): string[] => [
  ...(documents > 0 ? [`${projection}: delete ${plural(documents, 'document')}, whose blobs a later run removes`] : []),
  ...(removed > 0 ? [`${projection}: remove ${plural(removed, 'blob')} (${size(bytes)}) of deleted documents`] : []),
  ...(held > 0 ? [`${projection}: keep ${plural(held, 'blob')} under a legal hold`] : []),
];
