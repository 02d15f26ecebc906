// What other rooms load late: the parser and the check.
export { loadParser } from './parser.ts';
export { readDdl, SqlSession } from './session.ts';
export { schemaFindings } from './schema.ts';
export { checkFile } from './check-file.ts';
export { checkStatement } from './check.ts';
export { addTenant } from './add-tenant.ts';
