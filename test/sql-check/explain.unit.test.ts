// docs/SPEC-sql.md, SQL-S6: what is explained agrees with the verdict.
import { describe, expect, it } from 'vitest';
import { checkStatement, explainStatement } from '../../src/sql-check/check.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';
import { expectedQueries, schema } from './queries.ts';

const parser = await loadParser();
const { catalog } = readDdl(parser, { file: 'schema.sql', text: schema });

describe('what is explained agrees with the verdict', () => {
  it.each(expectedQueries())('$file:$line', ({ sql, file }) => {
    const [statement] = parser.parse(sql, file);
    const { uses, doubts, rows, runs } = explainStatement(catalog, statement!.node);
    expect({ rows, runs }).toEqual(checkStatement(catalog, statement!.node));
    const values = uses.flatMap(({ says: [first = ''] }) => {
      if (first.startsWith('a reference table')) return [];
      return [first.startsWith('store_id = ') ? first.slice('store_id = '.length).split(', ') : []];
    });
    const [first = []] = values;
    const confined =
      values.every((of) => of.length > 0) && first.some((value) => values.every((of) => of.includes(value)));
    const isSafe = rows.verdict === 'safe';
    const isFound = (confined || values.length === 0) && doubts.length === 0;
    expect(!isSafe || isFound).toBe(true);
    // A TRUNCATE has no uses.
    expect(rows.verdict === 'leaks' && uses.length > 0 && confined).toBe(false);
    const readsAll = uses.some(({ says }) => says.includes('Citus reads all of its shards'));
    expect(isSafe && runs.verdict === 'one node' && readsAll).toBe(false);
  });
});
