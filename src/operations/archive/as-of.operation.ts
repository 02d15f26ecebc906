import { resolve } from 'node:path';
import { z } from 'zod';
import { documentsAsOf } from '../../archive/as-of.ts';
import { copyOne } from '../../archive/copy-out.ts';
import { archiveError } from '../../archive/errors.ts';
import { isOfErased } from '../../archive/eligibility.ts';
import type { Archive, ReadErased } from '../../archive/types.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { operationsError } from '../errors.ts';
import { plural } from '../table.ts';
import { tenantInput } from '../tenants/asked.ts';
import { writeComplete } from '../tenants/export-file.ts';
import { assertInto, intoPlaces } from './into.ts';
import { reachable } from './log-reach.ts';
import { type OpenedTogether, openTogether } from './open-together.ts';

const FILE = '.jsonl';

export const archiveAsOf = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'as-of',
  summary: 'Write the documents of a container as they were at a time into a file or another container',
  examples: [
    'millrace archive as-of 2026-06-03T12:00:00Z --into orders.jsonl',
    'millrace archive as-of 2026-06-03 --archive orders-cold --tenant store-1 --into OrdersThen --json',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'time',
  input: z.object({
    time: z.string().describe('the time, such as 2026-06-03T12:00:00Z; what was written at it counts'),
    archive: z.string().optional().describe('the archive with the version log (default: the only one)'),
    into: z.string().min(1).describe('a file that ends in .jsonl, or a container of the model'),
    force: z.boolean().default(false).describe('replace the file if it exists'),
    ...tenantInput,
  }),
  run: async ({ time, archive: only, into, tenant, force }, context) => {
    const { workspace, signal, screen } = context;
    const parts = await partsOf(context);
    const { archive, places } = logged(await openTogether(parts, { only, signal, screen }));
    const at = await reachable(archive, { time, places, parts, signal });
    const watch = watchErasures(parts);
    const erased = watch && (() => watch.current());
    const progress = (blobs: number): void => screen.progress(`${archive.spec.name}: blobs read`, blobs);
    const documents = documentsAsOf(archive, { at, tenant, signal, progress });
    const said = { at: new Date(at).toISOString(), into, exact: archive.mode === 'all-versions' };
    if (into.endsWith(FILE)) {
      const lines = linesOf(archive, documents, erased);
      const written = await writeComplete(resolve(workspace.directory, into), lines, { force });
      return { ...said, documents: written, differ: 0, moving: 0 };
    }
    for (const { loaded, services } of places) await assertInto(into, [archive], loaded, services);
    return audited(context, 'archive as-of', { time, archive: archive.spec.name, into, tenant }, async () => {
      const accessOf = await intoPlaces(parts, { archive, places, into, signal });
      const counts = { documents: 0, differ: 0, moving: 0 };
      for await (const document of documents) {
        const access = await accessOf(document.key);
        const outcome = access && (await copyOne(archive, document, access, { into, replace: false, erased }));
        if (!outcome) counts.moving += 1;
        else if (outcome === 'differ') counts.differ += 1;
        else if (outcome !== 'erased') counts.documents += 1;
      }
      return { ...said, ...counts };
    });
  },
  format: ({ at, into, exact, documents, differ, moving }) =>
    [
      `${plural(documents, 'document')} as of ${at} in ${into}.`,
      ...(exact
        ? []
        : [
            'The pipeline reads latest versions: each is the last version that hosts saw before this time. Versions between two reads and hard deletes are unknown.',
          ]),
      ...(differ === 0 ? [] : [`${plural(differ, 'document')} left as they stand in ${into}, in another version.`]),
      ...(moving === 0
        ? []
        : [
            `${plural(moving, 'document')} not written, because their keys move or the map gives them to no shard. Run it again when the moves have ended.`,
          ]),
    ].join('\n'),
  ok: ({ differ, moving }) => differ === 0 && moving === 0,
});

/** @throws UsageError `log-undeclared`, `input-invalid` */
function logged(opened: readonly OpenedTogether[]): OpenedTogether {
  const [first, ...others] = opened.filter(({ archive }) => archive.spec.versionLog);
  if (!first) throw archiveError('log-undeclared', 'No archive that was asked for declares a version log');
  if (others.length === 0) return first;
  const names = [first, ...others].map(({ archive }) => archive.spec.name).join(', ');
  throw operationsError('input-invalid', `Several archives have a version log: ${names}`, {
    hint: `Name one with --archive ${first.archive.spec.name}.`,
  });
}

async function* linesOf(
  archive: Archive,
  documents: ReturnType<typeof documentsAsOf>,
  erased: ReadErased | undefined,
): AsyncGenerator<string, number> {
  let written = 0;
  for await (const document of documents) {
    if (await isOfErased(archive, document, erased)) continue;
    written += 1;
    // As in a container that they are copied into.
    const { _mr: _, ...body } = document.doc;
    yield `${JSON.stringify(body)}\n`;
  }
  return written;
}
