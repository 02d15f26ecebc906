import { describe, expect, it } from 'vitest';
import { shardPlanOf } from '../../src/shards/query/plan.ts';

const asked = (query: string): string => shardPlanOf({ query, parameters: [{ name: '@n', value: 3 }] }).text(['T']);
const KEYS = '[{"v": c.a}, {"v": c["b"]}]';

describe('what a shard is asked', () => {
  it.each([
    ['SELECT * FROM c', 'SELECT * FROM c WHERE T'],
    ['SELECT TOP @n c.a FROM c WHERE c.b OR c.d', 'SELECT TOP 3 c.a FROM c WHERE T AND (c.b OR c.d)'],
    ['SELECT c.a FROM c OFFSET 2 LIMIT @n', 'SELECT c.a FROM c WHERE T OFFSET 0 LIMIT 5'],
    [
      'SELECT * FROM root AS r ORDER BY r.a',
      'SELECT VALUE {"k": [{"v": r.a}], "p": r} FROM root AS r WHERE T ORDER BY r.a',
    ],
    [
      'SELECT c.x, p.y FROM c JOIN p IN c.parts ORDER BY c.a, c["b"] DESC',
      `SELECT c.x, p.y, ${KEYS} AS millraceOrder FROM c JOIN p IN c.parts WHERE T ORDER BY c.a, c["b"] DESC`,
    ],
    [
      'SELECT TOP 4 VALUE c.x FROM c ORDER BY c.a',
      'SELECT TOP 4 VALUE {"k": [{"v": c.a}], "p": c.x} FROM c WHERE T AND IS_DEFINED(c.x) ORDER BY c.a',
    ],
  ])('%s', (query, wanted) => expect(asked(query)).toBe(wanted));
});

describe('what can’t be merged is refused', () => {
  it.each([
    ['SELECT * FROM c JOIN p IN c.parts ORDER BY c.a', 'SELECT * has no JOIN'],
    ['SELECT TOP 5 c.a FROM c ORDER BY RANK FullTextScore(c.a, "x")', 'its order is a rank'],
    ['SELECT TOP 5 c.a FROM c ORDER BY VectorDistance(c.a, [1])', 'its order is a rank'],
    ['SELECT TOP 5 c.a FROM c OFFSET 1 LIMIT 2', 'TOP and LIMIT'],
    ['SELECT TOP -1 c.a FROM c', 'a whole number'],
    ['SELECT TOP @other c.a FROM c', 'a whole number'],
    ['SELECT TOP 1.5 c.a FROM c', 'a whole number'],
    ['SELECT c.a FROM c OFFSET 1', 'not followed by one LIMIT'],
    ['SELECT c.a FROM c ORDER c.a', 'without BY'],
    ['SELECT c.a FROM c ORDER BY c.a,', 'lacks an expression'],
    ['SELECT TOP 3 FROM c', 'no columns'],
    ['SELECT * FROM p IN c.parts', 'does not begin with the whole document'],
    ['SELECT 1', 'has no FROM'],
    ['SELECT DISTINCT c.x FROM c', 'DISTINCT'],
  ])('%s', (query, why) => {
    const error = (() => {
      try {
        return asked(query);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: 'query-unsupported' });
    expect(String(error)).toContain(why);
  });

  it.each([
    'SELECT VALUE COUNT(1) FROM c',
    'SELECT VALUE {"n": COUNT(1)} FROM c',
    'SELECT VALUE ABS(SUM(c.a)) FROM c',
    'SELECT MAKELIST(c.a) AS all FROM c',
    'SELECT c.a FROM c GROUP BY c.a',
    'SELECT * FROM c GROUP BY c.a',
    'SELECT c.a, MAX(c.b) AS most FROM c GROUP BY c.a ORDER BY c.a',
  ])('an aggregate or a group: %s', (query) =>
    expect(() => asked(query)).toThrow(expect.objectContaining({ code: 'query-unsupported' })),
  );

  it('a parameter of a name that Millrace uses', () => {
    const query = { query: 'SELECT * FROM c', parameters: [{ name: '@millraceStrays', value: 1 }] };
    expect(() => shardPlanOf(query)).toThrow('@millraceStrays');
  });

  it('aggregates of subqueries are the document’s own', () => {
    const query = 'SELECT VALUE (SELECT VALUE COUNT(1) FROM p IN c.parts) FROM c';
    expect(asked(query)).toBe(`${query} WHERE T`);
  });
});
