// The queries of files, and the tables that they are checked by.
import { z } from 'zod';
import type { Workspace } from '../../runtime/workspace.ts';
import { ownTables } from './own-tables.ts';
import { readSql } from './read-sql.ts';

export const queriesInput = {
  files: z.array(z.string()).min(1).describe('files with queries; tables that they create count as DDL'),
  ddl: z
    .string()
    .optional()
    .describe(
      'file with CREATE TABLE, CREATE VIEW, create_distributed_table(…), create_reference_table(…) (default: the tables of the pipeline)',
    ),
  tenant: z
    .string()
    .optional()
    .describe('the tenant column (default: the commonest distribution column; of the pipeline’s tables its tenant)'),
};

export async function readQueries(
  {
    files,
    ddl,
    tenant,
  }: { readonly files: readonly string[]; readonly ddl?: string | undefined; readonly tenant?: string | undefined },
  workspace: Workspace,
) {
  const { directory } = workspace;
  // Loaded late: a function app has these operations in its registry and never runs them.
  const checks = await import('../../sql-check/index.ts');
  const parser = await checks.loadParser();
  const texts = await Promise.all(files.map((file) => readSql(directory, file)));
  const schema = ddl === undefined ? [] : [await readSql(directory, ddl)];
  const given = checks.readDdl(parser, [...schema, ...texts.filter(({ file }) => file !== ddl)], tenant);
  const own = ddl === undefined && given.catalog.relations.size === 0 ? await ownTables(workspace) : undefined;
  const declared = own ? checks.readDdl(parser, [own], tenant ?? own.tenant) : given;
  // Queries are not DDL, so only what the DDL's own file has can be unknown.
  const skipped = ddl === undefined ? [] : declared.skipped.filter((each) => each.startsWith(`${ddl}:`));
  return { checks, parser, texts, declared, skipped };
}
