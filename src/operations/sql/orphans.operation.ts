import { z } from 'zod';
import { failure } from '../../postgres/failure.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import { type Orphans, orphansOf } from './orphans.ts';

export const sqlOrphans = defineOperation({
  noun: 'sql',
  verb: 'orphans',
  summary: 'List rows that name a document of another table that has no row there',
  examples: ['millrace sql orphans', 'millrace sql orphans --limit 20 --json'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({ limit: z.int().min(1).max(1_000).default(10).describe('most rows to show of each reference') }),
  run: async ({ limit }, { workspace, signal }): Promise<Orphans[]> => {
    const loaded = await workspace.pipeline();
    const layouts = layoutsOf(loaded);
    const froms = new Map(
      loaded.pipeline.effects.flatMap((spec) => (spec.kind === 'table' ? [[spec.name, spec.from] as const] : [])),
    );
    const database = workspace.tables();
    const found: Orphans[] = [];
    for (const asked of orphansOf(layouts, froms))
      found.push(
        await database
          .transaction((session) => asked(session, limit), { signal })
          .catch((error: unknown) => {
            throw failure(error, 'The tables could not be read');
          }),
      );
    return found;
  },
  format: (found) =>
    found.length === 0
      ? 'The pipeline declares no references between tables.'
      : table(
          ['table', 'reference', 'to', 'orphans', 'such as'],
          found.map((one) => [
            one.table,
            one.reference,
            one.to,
            one.count,
            one.rows[0] ? JSON.stringify(one.rows[0]) : '',
          ]),
        ) +
        `\n${plural(
          found.reduce((all, { count }) => all + count, 0),
          'row',
        )} without its other document.`,
});
