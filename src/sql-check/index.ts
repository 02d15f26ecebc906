// What other rooms load late: the parser and the check.
export { loadParser } from './parser.ts';
export { readDdl, SqlSession } from './session.ts';
export { schemaFindings } from './schema.ts';
export { checkFile } from './report.ts';
export { checkStatement } from './check.ts';
export { addTenant } from './rewrite.ts';
