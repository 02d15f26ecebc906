import { z } from 'zod';
import type { CheckedStatement } from '../../sql-check/report.ts';
import { defineOperation } from '../operation.ts';
import { clip, plural } from '../table.ts';
import { queriesInput, readQueries } from './queries.ts';

const VERDICTS = { safe: 'safe', leaks: 'LEAKS', unknown: 'I don’t know' } as const;

export const sqlCheck = defineOperation({
  noun: 'sql',
  verb: 'check',
  summary: 'Check which queries of SQL files can see another tenant’s rows, and where Citus runs them',
  examples: [
    'millrace sql check queries.sql --ddl schema.sql',
    'millrace sql check db/*.sql --ddl schema.sql --tenant store_id --strict',
    'millrace sql check queries.sql --pipeline examples/tables',
    'millrace sql check queries.sql --ddl schema.sql --json',
  ],
  shards: 'itself',
  effect: 'reads',
  argument: 'files',
  input: z.object({
    ...queriesInput,
    strict: z.boolean().default(false).describe('exit with 1 too if the check doesn’t know whether a query is safe'),
    quiet: z.boolean().default(false).describe('leave out the queries that are safe'),
  }),
  run: async ({ files, ddl, tenant, strict }, { workspace }) => {
    const { declared, skipped, texts, parser, checks } = await readQueries({ files, ddl, tenant }, workspace);
    const statements = texts.flatMap((text) => checks.checkFile(parser, declared.catalog, text));
    const judged = statements.filter(({ allowed }) => allowed === undefined);
    const count = (verdict: CheckedStatement['rows']): number => judged.filter(({ rows }) => rows === verdict).length;
    const counts = {
      safe: count('safe'),
      leaks: count('leaks'),
      unknown: count('unknown'),
      allowed: statements.length - judged.length,
    };
    return {
      tenant: declared.catalog.tenant,
      tables: declared.catalog.relations.size,
      counts,
      statements,
      skipped,
      passes: counts.leaks === 0 && !(strict && counts.unknown > 0),
    };
  },
  ok: ({ passes }) => passes,
  format: ({ tenant, tables, counts, statements, skipped }, { quiet, strict }) =>
    [
      ...statements.filter(({ rows, allowed }) => !quiet || (rows !== 'safe' && allowed === undefined)).map(say),
      ...skipped.map((each) => `${each}: the check doesn’t read this statement of the DDL`),
      ...(tables === 0
        ? ['The DDL has no tables: name its file with `--ddl`, or a pipeline with tables by `--pipeline`.']
        : []),
      `${plural(statements.length, 'statement')} by ${tenant}: ${counts.safe} safe, ${counts.leaks} leak, ${counts.unknown} not known${strict || counts.unknown === 0 ? '' : ' (`--strict` counts them)'}${counts.allowed === 0 ? '' : `, ${counts.allowed} allowed for all tenants`}.`,
    ].join('\n'),
});

export function say({ file, line, sql, rows, why, tables, runs, because, allowed }: CheckedStatement): string {
  const verdict = allowed === undefined ? VERDICTS[rows] : `${VERDICTS[rows]}, allowed (${allowed})`;
  const places = tables.map(({ table, line: at, column }) => `${table} ${file}:${at}:${column}`).join(', ');
  return [
    `${file}:${line}  ${clip(sql, 120)}`,
    `  rows: ${verdict}: ${why}${places === '' ? '' : ` (${places})`}`,
    `  runs: ${runs === 'unknown' ? 'I don’t know' : runs}: ${because}`,
  ].join('\n');
}
