import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError, messageOf } from '../../base/errors.ts';
import { withoutSystem } from '../../feed/leases/dialects/write.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { FILE_DIALECTS, prefixIn, toLines, translate } from './file.ts';
import { chooseGroups, monitoredOf, openLeases } from './groups.ts';

export const leasesExport = defineOperation({
  noun: 'leases',
  verb: 'export',
  summary: 'Write leases to a file, as they are or in the dialect of .NET or Java',
  examples: [
    'millrace leases export --file leases.jsonl',
    'millrace leases export billingacc.documents.azure.com_dbRid==_collRid= --dialect java-epk --file billing.jsonl',
    'millrace leases export --json',
  ],
  effect: 'reads',
  argument: 'prefix',
  input: z.object({
    prefix: z
      .string()
      .min(1)
      .optional()
      .describe('another processor’s leases, by their whole prefix; the pipeline’s own if absent'),
    container: z.string().optional().describe('only the pipeline’s leases of this container'),
    dialect: z.enum(FILE_DIALECTS).optional().describe('written as; as they are stored if absent'),
    file: z.string().min(1).optional().describe('where to, one document a line; standard output if absent'),
  }),
  run: async ({ prefix, container, dialect, file }, context) => {
    const room = await openLeases(context);
    const groups = chooseGroups(room, prefix, container);
    const documents = groups.flatMap((group) =>
      group.leases.map((lease): Record<string, unknown> =>
        dialect === undefined
          ? withoutSystem(lease.document)
          : translate(lease, { dialect, prefix: prefixIn(room, dialect, group), monitored: monitoredOf(group) }),
      ),
    );
    if (file !== undefined) {
      await writeFile(resolve(context.workspace.directory, file), toLines(documents)).catch((error: unknown) => {
        throw new UsageError('file-unwritable', `${file} can't be written: ${messageOf(error)}`, { cause: error });
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
    const left = unexplained.map(({ id, why }) => `\nLeft out: ${id}, as ${why}.`).join('');
    return `${plural(leases.length, 'lease')} written to ${file}.${left}`;
  },
});
