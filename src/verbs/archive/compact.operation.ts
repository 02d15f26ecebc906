import { z } from 'zod';
import { optional, positive } from '../flags.ts';
import { type CompactResult, SMALL, compactArchive } from '../../archive/compact.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { type Context, type Plan, partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable } from '../../procedures/table.ts';
import { tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { faultLines } from '../../procedures/archive/faults.ts';
import { assertArchivedTenant, assertByTenant } from '../../procedures/archive/of-tenant.ts';
import { openTogether } from '../../procedures/archive/open-together.ts';

const input = z.object({
  name: optional('one archive (default: all)'),
  ...tenantInput,
  within: positive(
    'for each archive, begin no new blob after this many seconds; the next run goes on (default: no limit)',
  ),
});
type CompactInput = z.output<typeof input>;

async function run({ name: only, tenant, within }: CompactInput, context: Context, dryRun: boolean) {
  const { signal, screen } = context;
  const parts = await partsOf(context);
  const works = await openTogether(parts, { only, signal, screen });
  const archives = works.map(({ archive }) => archive);
  assertByTenant(archives, tenant);
  await assertArchivedTenant(archives, tenant);
  const watch = watchErasures(parts);
  const results: CompactResult[] = [];
  for (const { archive, moving } of works) {
    const result = await compactArchive(archive, {
      signal,
      tenant,
      dryRun,
      moving,
      withinMs: within === undefined ? undefined : within * 1_000,
      erased: watch && (() => watch.current()),
      progress: ({ projection, joined, written, removed }) =>
        screen.draw([
          dryRun
            ? `${projection}: ${plural(joined, 'small blob')} to join`
            : `${projection}: ${plural(joined, 'small blob')} joined into ${written}, ${removed} removed; old ones are removed after a wait of five minutes`,
        ]),
    });
    results.push(result);
  }
  return results;
}

export const archiveCompact = defineOperation({
  shards: 'itself',
  name: 'archive compact',
  summary: 'Join small blobs of an archive into larger ones, and leave out lines of older versions',
  examples: [
    'millrace archive compact --dry-run',
    'millrace archive compact orders-cold --within 600',
    'millrace archive compact --tenant store-1 --json',
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
    [
      textTable(
        ['archive', 'joined', 'size', 'into', 'size', 'old lines', 'removed', 'held', 'left'],
        results.map((of) => [
          of.projection,
          of.joined,
          size(of.bytesBefore),
          of.written,
          size(of.bytesAfter),
          of.dropped,
          of.removed,
          of.held,
          of.left,
        ]),
      ),
      ...results
        .filter(({ complete }) => !complete)
        .map(({ projection }) => `${projection}: stopped when its time was up; the next compaction goes on`),
      ...faultLines(results.flatMap(({ faults }) => faults)),
    ].join('\n'),
  ok: (results) => results.every(({ faults }) => faults.length === 0),
});

const planned = ({ projection, joined, bytesBefore }: CompactResult): string[] =>
  joined > 0
    ? [`${projection}: join ${plural(joined, 'blob')} of less than ${size(SMALL)} (${size(bytesBefore)})`]
    : [];
