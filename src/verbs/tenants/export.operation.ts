import { resolve } from 'node:path';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { storeIfNeeded } from '../../runtime/archives.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant, assertNotErased } from '../../procedures/tenants/tenant-flag.ts';
import { writeComplete } from '../../procedures/export/export-file.ts';
import { type ExportCounts, type ExportHeader, exportLines } from '../../procedures/export/export-lines.ts';
import { exported } from '../../procedures/export/export.ts';
import { tenantPlaces } from '../../procedures/tenants/places.ts';
import { assertStill } from '../../procedures/tenants/tenant-moves.ts';
import { unknownTenant } from '../../procedures/erase/unknown.ts';

export const tenantsExport = defineOperation({
  shards: 'itself',
  name: 'tenants export',
  summary: 'Export the documents of a tenant, hot and cold, and its dead letters, as JSON lines',
  examples: [
    'millrace tenants export store-1 --out store-1.jsonl',
    'millrace tenants export store-1 --out store-1.jsonl --force --json',
    'millrace tenants export store-1 | gzip > store-1.jsonl.gz',
  ],
  effect: 'reads',
  bulk: true,
  argument: 'tenant',
  input: z.object({
    tenant: z.string().min(1).describe('the tenant, as its documents name it'),
    out: z.string().min(1).default('-').describe('file to write; - is standard output'),
    force: flag('replace the file if it exists'),
  }),
  run: async ({ tenant, out, force }, context) => {
    const { workspace, signal, screen, clock = systemClock } = context;
    const loaded = await workspace.pipeline();
    const asked = askedTenant(loaded, tenant, 'the tenant');
    const services = await workspace.services();
    await assertNotErased(asked, { loaded, services });
    const streams = out === '-';
    const parts = { settings: workspace.settings(), services, loaded };
    const assertUnmoved = await assertStill(parts, asked, signal);
    const { all: places } = await tenantPlaces(parts, signal);
    const store = loaded.pipeline.archives.length > 0 ? await storeIfNeeded(places[0].services, signal) : undefined;
    const header: ExportHeader = {
      export: {
        format: 1,
        pipeline: loaded.pipeline.name,
        field: asked.rule.field,
        tenant: asked.value,
        at: new Date().toISOString(),
      },
    };
    // Standard output has the lines, and nothing beside them.
    const progress = streams
      ? undefined
      : (documents: number): void => screen.progress('documents exported', documents);
    const given = { loaded, places, asked, store, signal, clock, ...(progress && { progress }) };
    const documents = async function* () {
      yield* exported(given);
      await assertUnmoved();
    };
    const lines = exportLines(header, documents());
    const counts = streams
      ? await stream(lines, context)
      : await writeComplete(resolve(workspace.directory, out), lines, { force });
    if (!counts) throw await unknownTenant(tenant, asked, places, signal);
    return { file: streams ? null : out, ...counts };
  },
  format: ({ file, documents, cold, derived, deadLetters, unreadable }) =>
    [
      `${plural(documents, 'document')} (${cold} of the archive, ${derived} derived) and ${plural(deadLetters, 'dead letter')} written to ${file}.`,
      ...(unreadable === 0
        ? []
        : [`The stored change of ${plural(unreadable, 'dead letter')} can't be read: see \`unreadable\` in the file.`]),
    ].join('\n'),
  ok: ({ unreadable }) => unreadable === 0,
});

async function stream(
  lines: AsyncGenerator<string, ExportCounts | undefined>,
  { output }: Context,
): Promise<ExportCounts | undefined> {
  if (!output)
    throw operationsError('input-invalid', '--out -: there is no standard output here', {
      hint: 'Name a file with `--out FILE`.',
    });
  for (;;) {
    const next = await lines.next();
    if (next.done) return next.value;
    await output(next.value.trimEnd());
  }
}
