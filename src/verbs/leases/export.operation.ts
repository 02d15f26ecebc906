import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { named, optional } from '../flags.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { FILE_DIALECTS, prefixIn, toLines, translate } from '../../procedures/leases/file.ts';
import { chooseGroups, monitoredOf, openLeases } from '../../procedures/leases/groups.ts';
import { assertNothingDeferred } from '../../procedures/leases/refuse-deferred.ts';

export const leasesExport = defineOperation({
  name: 'leases export',
  summary: 'Export leases to a file, as they are stored or in the dialect of .NET or Java',
  examples: [
    'millrace leases export --file leases.jsonl',
    'millrace leases export billingacc.documents.azure.com_dbRid==_collRid= --dialect java-epk --file billing.jsonl',
    'millrace leases export --json',
  ],
  effect: 'reads',
  argument: 'prefix',
  input: z.object({
    prefix: named('whole prefix of another processor’s leases (default: the pipeline’s own)'),
    container: optional('only the pipeline’s leases of this container'),
    dialect: z.enum(FILE_DIALECTS).optional().describe('dialect to write (default: as stored)'),
    file: named('file to write, one document a line (default: standard output)'),
  }),
  run: async ({ prefix, container, dialect, file }, context) => {
    const inventory = await openLeases(context);
    const groups = chooseGroups(inventory, prefix, container);
    const own = groups.filter((group) => group.own).flatMap(({ monitored }) => monitored?.container.id ?? []);
    await assertNothingDeferred(own, context);
    const documents = groups.flatMap((group) =>
      group.leases.map((lease): Record<string, unknown> =>
        dialect === undefined
          ? withoutSystemFields(lease.document)
          : translate(lease, { dialect, prefix: prefixIn(inventory, dialect, group), monitored: monitoredOf(group) }),
      ),
    );
    if (file !== undefined) {
      await writeFile(resolve(context.workspace.directory, file), toLines(documents)).catch((error: unknown) => {
        throw sharedError('unwritable', `${file} can't be written: ${messageOf(error)}`, { cause: error });
      });
    }
    return {
      ...(file === undefined ? {} : { file }),
      leases: documents,
      unexplained: groups.flatMap((group) => group.unexplained),
    };
  },
  format: ({ file, leases, unexplained }) => {
    if (file === undefined) return toLines(leases).trimEnd();
    const left = unexplained.map(({ id, why }) => `\nNot exported: ${id}, because ${why}.`).join('');
    return `${plural(leases.length, 'lease')} written to ${file}.${left}`;
  },
});
