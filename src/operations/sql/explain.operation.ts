import { z } from 'zod';
import type { ExplainedStatement } from '../../sql-check/report.ts';
import { defineOperation } from '../operation.ts';
import { say } from './check.operation.ts';
import { queriesInput, readQueries } from './queries.ts';

export const sqlExplain = defineOperation({
  noun: 'sql',
  verb: 'explain',
  summary:
    'Explain the verdicts of `sql check`: what restricts each table of each query, and by what Citus finds its shards',
  examples: [
    'millrace sql explain queries.sql --ddl schema.sql',
    'millrace sql explain queries.sql --pipeline examples/tables',
    'millrace sql explain queries.sql --ddl schema.sql --line 12 --json',
  ],
  shards: 'itself',
  effect: 'reads',
  argument: 'files',
  input: z.object({
    ...queriesInput,
    line: z.int().min(1).optional().describe('only the statement that begins at this line or is the last before it'),
  }),
  run: async ({ files, ddl, tenant, line }, { workspace }) => {
    const { declared, skipped, texts, parser, checks } = await readQueries({ files, ddl, tenant }, workspace);
    const statements = texts.flatMap((text) => {
      const all = checks.explainFile(parser, declared.catalog, text);
      return line === undefined ? all : all.filter((one) => one.line <= line).slice(-1);
    });
    return { tenant: declared.catalog.tenant, statements, skipped };
  },
  format: ({ statements, skipped }) =>
    [
      ...statements.map(explain),
      ...skipped.map((each) => `${each}: the check doesn’t read this statement of the DDL`),
      ...(statements.length === 0 ? ['There is no query.'] : []),
    ].join('\n'),
});

function explain(statement: ExplainedStatement): string {
  const { file, uses, doubts } = statement;
  return [
    say(statement),
    ...uses.map(({ table, alias, through, line, column, says }) => {
      const name = alias === '' || alias === table ? table : `${table} (${alias})`;
      const place = line === undefined ? `in the view ${through ?? ''}` : `${file}:${line}:${column}`;
      return `  ${name} ${place}: ${says.join('; ')}`;
    }),
    ...doubts.map((doubt) => `  not understood: it ${doubt}`),
  ].join('\n');
}
