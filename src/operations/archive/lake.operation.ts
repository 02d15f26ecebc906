import { z } from 'zod';
import { type LakeResult, writeLake } from '../../archive/lake.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { type Context, type Plan, defineOperation, partsOf } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { tenantInput } from '../tenants/asked.ts';
import { monthsInput } from './chosen.ts';
import { faultLines } from './faults.ts';
import { assertByTenant } from './of-tenant.ts';
import { openTogether } from './open-together.ts';

const input = z.object({
  name: z.string().optional().describe('one archive (default: all)'),
  ...tenantInput,
  from: monthsInput.from.describe('only files of this month or year on, such as 2001-01'),
  to: monthsInput.to.describe('only files up to the end of this month or year'),
});
type LakeInput = z.output<typeof input>;

export const archiveLake = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'lake',
  summary: 'Write archived documents as Parquet files by tenant and month, which DuckDB and Spark read as a table',
  examples: [
    'millrace archive lake',
    'millrace archive lake orders-cold --from 2025-01 --dry-run',
    'millrace archive lake --tenant store-1 --json',
  ],
  help: 'It writes the files of months whose archived documents have changed, and removes those of months that have none any more. Schedule it after the sweeps: readers see the archive as it was when it ran last.',
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (given, context): Promise<Plan> => ({
    steps: (await write(given, context, true)).flatMap(stepsOf),
    ru: 0,
  }),
  run: (given, context) => write(given, context, false),
  format: (results) =>
    [
      table(
        ['archive', 'written', 'documents', 'size', 'unchanged', 'removed'],
        results.map((of) => [of.archive, of.written, of.documents, size(of.bytes), of.unchanged, of.removed]),
      ),
      ...results.flatMap(notesOf),
    ].join('\n'),
  ok: (results) => results.every(({ faults, offline, held }) => faults.length + offline + held === 0),
});

async function write({ name: only, tenant, from, to }: LakeInput, context: Context, dryRun: boolean) {
  const { signal, screen } = context;
  const parts = await partsOf(context);
  const opened = await openTogether(parts, { only, signal, screen });
  const archives = opened.map(({ archive }) => archive);
  assertByTenant(archives, tenant);
  const watch = watchErasures(parts);
  const selection = {
    ...(tenant !== undefined && { tenant }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
  const results: LakeResult[] = [];
  for (const archive of archives)
    results.push(
      await writeLake(archive, {
        model: parts.loaded.model,
        selection,
        signal,
        dryRun,
        erased: watch && (() => watch.current()),
        progress: ({ written, unchanged }) =>
          screen.progress(`${archive.spec.name}: files looked at`, written + unchanged),
      }),
    );
  return results;
}

const stepsOf = ({ archive, written, documents, removed }: LakeResult): string[] => [
  ...(written > 0 ? [`${archive}: write ${plural(written, 'file')} with ${plural(documents, 'document')}`] : []),
  ...(removed > 0 ? [`${archive}: remove ${plural(removed, 'file')}`] : []),
];

const notesOf = ({ archive, folder, held, left, offline, faults }: LakeResult): string[] => [
  `${archive}: the files are in ${folder} of the blob container`,
  ...(held > 0 ? [`${archive}: ${plural(held, 'file')} kept by a hold or a policy of the storage account`] : []),
  ...(left > 0 ? [`${archive}: ${plural(left, 'file')} left, because another command changed them: run it again`] : []),
  ...(offline > 0
    ? [`${archive}: ${plural(offline, 'file')} left as they are, because a blob is in the Archive tier`]
    : []),
  ...faultLines(faults),
];
