import { resolve } from 'node:path';
import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import type { CheckedStatement } from '../../sql-check/check-file.ts';
import { defineOperation } from '../operation.ts';
import { clip, plural } from '../../procedures/table.ts';
import { ownTables } from '../../procedures/sql/own-tables.ts';
import { readSql } from '../../procedures/sql/read-sql.ts';

const VERDICTS = { safe: 'safe', leaks: 'LEAKS', unknown: 'I don’t know' } as const;

export const sqlCheck = defineOperation({
  name: 'sql check',
  summary: 'Check which queries of SQL files can see another tenant’s rows, and where Citus runs them',
  examples: [
    'millrace sql check queries.sql --ddl schema.sql',
    'millrace sql check db/*.sql --ddl schema.sql --tenant store_id --strict',
    'millrace sql check queries.sql --pipeline examples/tables',
    'millrace sql check queries.sql --ddl schema.sql --json',
    'millrace sql check queries.sql --explain --ddl schema.sql --line 12',
  ],
  shards: 'itself',
  effect: 'reads',
  argument: 'files',
  input: z.object({
    files: z
      .array(z.string())
      .min(1)
      .describe('files with queries; tables that a file creates are there for its own later statements'),
    ddl: optional(
      'file with CREATE TABLE, CREATE VIEW, create_distributed_table(…), create_reference_table(…) (default: the tables of the pipeline)',
    ),
    tenant: optional(
      'the tenant column (default: the commonest distribution column; of the pipeline’s tables its tenant)',
    ),
    strict: flag('exit with 1 too if the check doesn’t know whether a query is safe'),
    quiet: flag('leave out the queries that are safe'),
    explain: flag('say what restricts each table of each query, and by what Citus finds its shards'),
    line: z.int().min(1).optional().describe('only the statement that begins at this line or is the last before it'),
  }),
  run: async ({ files, ddl, tenant, strict, line }, { workspace }) => {
    const { directory } = workspace;
    // Loaded late: a function app has these operations in its registry and never runs them.
    const checks = await import('../../sql-check/index.ts');
    const parser = await checks.loadParser();
    const texts = await Promise.all(files.map((file) => readSql(directory, file)));
    const own = ddl === undefined ? await ownTables(workspace) : undefined;
    const schema = ddl === undefined ? (own ?? { file: 'no DDL', text: '' }) : await readSql(directory, ddl);
    const { catalog, skipped } = checks.readDdl(parser, schema, tenant ?? own?.tenant);
    const none = checks.readDdl(parser, { file: 'no DDL', text: '' }, catalog.tenant).catalog;
    const isSchema = (file: string): boolean =>
      ddl !== undefined && resolve(directory, file) === resolve(directory, ddl);
    const statements = texts.flatMap((text) => {
      // The schema among the files begins with nothing, and not with itself.
      const all = checks.checkFile(parser, isSchema(text.file) ? none : catalog, text);
      return line === undefined ? all : all.filter((one) => one.line <= line).slice(-1);
    });
    // The tables of a pipeline lie by its own rules.
    const findings = ddl === undefined ? [] : checks.schemaFindings(catalog);
    const judged = statements.filter(({ allowed }) => allowed === undefined);
    const count = (verdict: CheckedStatement['rows']): number => judged.filter(({ rows }) => rows === verdict).length;
    const counts = {
      safe: count('safe'),
      leaks: count('leaks'),
      unknown: count('unknown'),
      allowed: statements.length - judged.length,
    };
    return {
      tenant: catalog.tenant,
      tables: catalog.relations.size,
      counts,
      statements,
      skipped,
      schema: findings,
      passes: counts.leaks === 0 && !findings.some(({ refused }) => refused) && !(strict && counts.unknown > 0),
    };
  },
  ok: ({ passes }) => passes,
  format: ({ tenant, tables, counts, statements, skipped, schema }, { quiet, strict, explain }) =>
    [
      ...statements
        .filter(({ rows, allowed }) => !quiet || (rows !== 'safe' && allowed === undefined))
        .flatMap((one) => [say(one), ...(explain ? explained(one) : [])]),
      ...schema
        .filter(({ refused }) => refused || !quiet)
        .flatMap(({ says, refused, statements: by }) => [
          `schema: ${refused ? 'Citus refuses the DDL: ' : ''}${says}`,
          ...by.map((each) => `  ${each}`),
        ]),
      ...skipped.map((each) => `${each}: the check doesn’t read this statement of the DDL`),
      ...(tables === 0
        ? ['The DDL has no tables: name its file with `--ddl`, or a pipeline with tables by `--pipeline`.']
        : []),
      `${plural(statements.length, 'statement')} by ${tenant}: ${counts.safe} safe, ${counts.leaks} leak, ${counts.unknown} not known${strict || counts.unknown === 0 ? '' : ' (`--strict` counts them)'}${counts.allowed === 0 ? '' : `, ${counts.allowed} allowed for all tenants`}.`,
    ].join('\n'),
});

function say({ file, line, sql, rows, why, tables, runs, because, allowed }: CheckedStatement): string {
  const verdict = allowed === undefined ? VERDICTS[rows] : `${VERDICTS[rows]}, allowed (${allowed})`;
  const places = tables.map(({ table, line: at, column }) => `${table} ${file}:${at}:${column}`).join(', ');
  return [
    `${file}:${line}  ${clip(sql, 120)}`,
    `  rows: ${verdict}: ${why}${places === '' ? '' : ` (${places})`}`,
    `  runs: ${runs === 'unknown' ? 'I don’t know' : runs}: ${because}`,
  ].join('\n');
}

function explained({ file, uses, doubts }: CheckedStatement): string[] {
  return [
    ...uses.map(({ table, alias, through, line, column, says }) => {
      const name = alias === '' || alias === table ? table : `${table} (${alias})`;
      const place = line === undefined ? `in the view ${through ?? ''}` : `${file}:${line}:${column}`;
      return `  ${name} ${place}: ${says.join('; ')}`;
    }),
    ...doubts.map((doubt) => `  not understood: it ${doubt}`),
  ];
}
