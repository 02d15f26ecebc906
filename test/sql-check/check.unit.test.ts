// The checker against the expected verdicts, which are older than it.
import { describe, expect, it } from 'vitest';
import { checkStatement } from '../../src/sql-check/check.ts';
import { readDdl } from '../../src/sql-check/ddl.ts';
import { loadParser } from '../../src/sql-check/parser.ts';
import { expectedQueries, schema } from './queries.ts';

/** Of these many queries the check may say that it doesn't know where they run, though it is known. */
const RUNS_UNKNOWN = 1;

const parser = await loadParser();
const { catalog, skipped } = readDdl(parser, [{ file: 'schema.sql', text: schema }]);
const verdicts = expectedQueries().map((query) => {
  const [statement] = parser.parse(query.sql, query.file);
  return { ...query, found: checkStatement(catalog, statement!.node) };
});

describe('the verdicts of the check', () => {
  it('stand on DDL of which each statement is understood', () => {
    expect(skipped).toEqual([]);
    expect(catalog.tenant).toBe('store_id');
  });
  it.each(verdicts)('$file:$line, rows', ({ rows, unknown, found }) => {
    expect(found.rows).toMatchObject({ verdict: unknown ? 'unknown' : rows });
  });
  it.each(verdicts)('$file:$line, where it runs', ({ runs, found }) => {
    expect(['unknown', runs]).toContain(found.runs.verdict);
  });
  it('rarely are that it does not know where a query runs', () => {
    const unknown = verdicts.filter(({ runs, found }) => found.runs.verdict === 'unknown' && runs !== 'unknown');
    expect(unknown.map(({ file, line, found }) => `${file}:${line} ${found.runs.why}`)).toHaveLength(RUNS_UNKNOWN);
  });
});
