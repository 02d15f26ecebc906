import { constantFrom, array, assert, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuery, withConditions } from '../../src/client/query-text.ts';
import { namesOne } from '../../src/client/tenant-condition.ts';

const bound = (query: string): string => withConditions(readQuery(query), ['T']);

describe('a condition is added', () => {
  it.each([
    ['SELECT * FROM c', 'SELECT * FROM c WHERE T'],
    ['SELECT * FROM c WHERE c.a = 1', 'SELECT * FROM c WHERE T AND (c.a = 1)'],
    ['select * from c where c.a = 1 or c.b = 2', 'select * from c WHERE T AND (c.a = 1 or c.b = 2)'],
    ['SELECT * FROM c ORDER BY c.a', 'SELECT * FROM c WHERE T ORDER BY c.a'],
    [
      'SELECT c.a, COUNT(1) AS n FROM c WHERE c.b GROUP BY c.a OFFSET 0 LIMIT 1',
      'SELECT c.a, COUNT(1) AS n FROM c WHERE T AND (c.b) GROUP BY c.a OFFSET 0 LIMIT 1',
    ],
    [
      'SELECT p FROM c JOIN p IN c.parts WHERE p.n = 1 ORDER BY c.n',
      'SELECT p FROM c JOIN p IN c.parts WHERE T AND (p.n = 1) ORDER BY c.n',
    ],
    [
      'SELECT * FROM c WHERE EXISTS (SELECT 1 FROM t IN c.t WHERE t = 1 OR t = 2)',
      'SELECT * FROM c WHERE T AND (EXISTS (SELECT 1 FROM t IN c.t WHERE t = 1 OR t = 2))',
    ],
    ["SELECT * FROM c WHERE c.a = ') OR (1 = 1'", "SELECT * FROM c WHERE T AND (c.a = ') OR (1 = 1')"],
    [String.raw`SELECT * FROM c WHERE c.a = '\') OR ('`, String.raw`SELECT * FROM c WHERE T AND (c.a = '\') OR (')`],
    ['SELECT * FROM c WHERE c.a = 1 -- ) OR (true', 'SELECT * FROM c WHERE T AND (c.a = 1)'],
    ['SELECT * FROM c -- all\nWHERE c.a = "--"', 'SELECT * FROM c WHERE T AND (c.a = "--")'],
    [
      'SELECT c.order, c["where"], c.group AS "from" FROM c',
      'SELECT c.order, c["where"], c.group AS "from" FROM c WHERE T',
    ],
    ['SELECT c.a AS offset FROM c', 'SELECT c.a AS offset FROM c WHERE T'],
  ])('%s', (query, wanted) => expect(bound(query)).toBe(wanted));
});

it.each([
  ['SELECT * FROM c', 'c', true],
  ['SELECT TOP 5 * FROM root AS r', 'r', true],
  ['SELECT DISTINCT VALUE r FROM root r', 'r', true],
  ['SELECT VALUE c.a FROM c', 'c', false],
  ['SELECT c FROM c', 'c', false],
  ['SELECT VALUE c FROM c JOIN p IN c.parts', 'c', false],
])('%s names the document %s; whole: %s', (query, alias, whole) =>
  expect(readQuery(query)).toMatchObject({ alias, whole }),
);

describe('what isn’t certain is refused', () => {
  it.each([
    '',
    'SELECT 1',
    'SELECT * FROM c WHERE',
    'SELECT * FROM c WHERE ORDER BY c.a',
    'SELECT * FROM c.parts',
    'SELECT * FROM c["parts"]',
    'SELECT * FROM p IN c.parts',
    'SELECT * FROM (SELECT * FROM c) AS c',
    'SELECT * FROM c d e',
    'SELECT * FROM c, d',
    'SELECT * FROM c JOIN c IN c.parts',
    'SELECT * FROM c JOIN (SELECT VALUE 1) AS c',
    'SELECT * FROM c WHERE c.a = 1) OR (true',
    'SELECT * FROM c WHERE (c.a = 1',
    'SELECT * FROM c WHERE [c.a)',
    "SELECT * FROM c WHERE c.a = 'x",
    'SELECT * FROM c WHERE c.a /* ) OR ( */ = 1',
    'SELECT * FROM c WHERE c.a = 1; SELECT * FROM c',
    'SELECT * FROM c WHERE c.a = 1 WHERE true',
    'SELECT * FROM c UNION SELECT * FROM c',
    'SELECT * FROM c ORDER BY c.a WHERE c.b',
    'DELETE FROM c',
  ])('%s', (query) => expect(() => bound(query)).toThrow(expect.objectContaining({ code: 'query-unsupported' })));
});

it('no condition of pieces gets out of its brackets', () => {
  const pieces = [
    '(',
    ')',
    '[',
    ']',
    "'",
    '"',
    '\\',
    '--',
    '/*',
    '\n',
    ' OR ',
    ' AND ',
    'true',
    'WHERE',
    '@p',
    'c.a',
    '=',
  ];
  let read = 0;
  assert(
    property(array(constantFrom(...pieces), { minLength: 1, maxLength: 9 }), (some) => {
      let text;
      try {
        text = bound(`SELECT * FROM c WHERE ${some.join('')}`);
      } catch {
        return;
      }
      read += 1;
      const condition = /^SELECT \* FROM c WHERE T AND \(([^]*)\)$/.exec(text)?.[1];
      expect(condition).toBeDefined();
      // By a second way: without its strings, the condition has every bracket closed after it was opened.
      const bare = condition!.replace(/'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"/g, '');
      expect(bare).not.toMatch(/['"]|--|\/\*/);
      let depth = 0;
      for (const char of bare) {
        if ('(['.includes(char)) depth += 1;
        if (')]'.includes(char)) depth -= 1;
        expect(depth).toBeGreaterThanOrEqual(0);
      }
      expect(depth).toBe(0);
    }),
    { numRuns: 20_000 },
  );
  expect(read).toBeGreaterThan(100);
});

const p = { name: '@t', value: 'a' };
describe('a query names one tenant', () => {
  it.each([
    "SELECT * FROM c WHERE c.tenant = 'a'",
    'SELECT * FROM c WHERE c["tenant"] = 1',
    'SELECT * FROM x WHERE @t = x.tenant AND x.n > 1',
    'SELECT * FROM c WHERE (c.n BETWEEN 1 AND 2 AND (c.tenant = @t)) AND (c.a OR c.b)',
    'SELECT * FROM c JOIN d IN c.d WHERE d = 1 AND c.tenant = @t ORDER BY c.n',
  ])('%s', (query) => expect(namesOne({ query, parameters: [p] }, ['tenant'])).toBe(true));

  it.each([
    'SELECT * FROM c',
    'SELECT * FROM c WHERE c.n = @t',
    'SELECT * FROM c WHERE c.tenant != @t',
    'SELECT * FROM c WHERE c.tenant >= @t',
    'SELECT * FROM c WHERE NOT c.tenant = @t',
    'SELECT * FROM c WHERE NOT (c.tenant = @t)',
    'SELECT * FROM c WHERE c.tenant = @t OR true',
    'SELECT * FROM c WHERE (c.tenant = @t OR true) AND c.n = 1',
    'SELECT * FROM c WHERE c.tenant = @t ? true : true',
    'SELECT * FROM c WHERE c.tenant = @t ?? true',
    'SELECT * FROM c WHERE c.tenant = c.tenant',
    'SELECT * FROM c WHERE c.tenant = null',
    'SELECT * FROM c WHERE c.tenant = @none',
    'SELECT * FROM c WHERE c.n BETWEEN c.m AND c.tenant = @t',
    'SELECT * FROM c WHERE c.of.tenant = @t',
    'SELECT * FROM c JOIN d IN c.d WHERE d.tenant = @t',
    'SELECT * FROM c WHERE EXISTS (SELECT 1 FROM d IN c.d WHERE c.tenant = @t)',
    "SELECT c.tenant = 'a' FROM c",
    'SELECT * FROM c -- WHERE c.tenant = @t',
    'SELECT * FROM c.d WHERE c.tenant = @t',
  ])('a query doesn’t name one tenant in %s', (query) =>
    expect(namesOne({ query, parameters: [p] }, ['tenant'])).toBe(false),
  );

  it('a parameter must have a value', () => {
    const query = 'SELECT * FROM c WHERE c.tenant = @t';
    expect(namesOne({ query, parameters: [{ name: '@t', value: null }] }, ['tenant'])).toBe(false);
    expect(namesOne({ query: 'SELECT * FROM c WHERE c.of.tenant = @t', parameters: [p] }, ['of', 'tenant'])).toBe(true);
  });
});
