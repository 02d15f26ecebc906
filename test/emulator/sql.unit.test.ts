import { describe, expect, test } from 'vitest';
import { prepareQuery } from '../../src/emulator/sql/prepare.ts';
import { SqlError } from '../../src/emulator/sql/tokens.ts';

const documents = [
  {
    id: '1',
    n: 3,
    name: 'Ada',
    tags: ['x', 'y'],
    address: { city: 'Bern' },
    lines: [
      { q: 1, p: 2 },
      { q: 3, p: 4 },
    ],
  },
  { id: '2', n: 1, name: 'Bob', tags: ['y'], address: { city: 'Basel' }, flag: true },
  { id: '3', n: 2, name: 'Cy', tags: [], gone: null, flag: false },
  { id: '4', name: 'Dan_50%', n: '2' },
];

function run(
  query: string,
  params: Record<string, unknown> = {},
  docs: Record<string, unknown>[] = documents,
): unknown[] {
  const prepared = prepareQuery(query, new Map(Object.entries(params)));
  return [...prepared.run(docs.map((doc) => ({ doc, text: JSON.stringify(doc) })))].map(
    (text) => JSON.parse(text) as unknown,
  );
}

const value = (expression: string, params: Record<string, unknown> = {}): unknown =>
  run(`SELECT VALUE ${expression}`, params)[0];
const ids = (where: string, params: Record<string, unknown> = {}): unknown =>
  run(`SELECT VALUE c.id FROM c WHERE ${where}`, params).join('');

describe('projection', () => {
  test.each<[string, unknown[]]>([
    ['SELECT * FROM c WHERE c.id = "2"', [documents[1]]],
    ['SELECT VALUE c FROM c WHERE c.id = "2"', [documents[1]]],
    ["select value x from x where x.id = '2'", [documents[1]]],
    [
      'SELECT c.id, c.address.city, c.n AS number, c.missing FROM c WHERE c.id = "1"',
      [{ id: '1', city: 'Bern', number: 3 }],
    ],
    ['SELECT c.n + 1, c.n - 1 FROM c WHERE c.id = "1"', [{ $1: 4, $2: 2 }]],
    ['SELECT c["id"] FROM c WHERE c.id = "1"', [{ id: '1' }]],
    ['SELECT VALUE {a: [c.id, c.missing, 1], "b c": {}} FROM c WHERE c.id = "1"', [{ a: ['1', 1], 'b c': {} }]],
    ['SELECT VALUE c.gone FROM c', [null]],
    ['SELECT TOP 2 VALUE c.id FROM c', ['1', '2']],
    ['SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags', ['x', 'y']],
    ['SELECT VALUE 1', [1]],
    ['SELECT VALUE t FROM t IN c.tags', ['x', 'y', 'y']],
    ['SELECT VALUE a.city FROM c.address a', ['Bern', 'Basel']],
    ['SELECT VALUE city FROM c.address.city', ['Bern', 'Basel']],
    ['SELECT c.id, l.q FROM c JOIN l IN c.lines WHERE l.q > 1', [{ id: '1', q: 3 }]],
    ['SELECT VALUE COUNT(1) FROM c JOIN a IN c.tags JOIN b IN c.tags', [5]],
    ['SELECT VALUE c.id FROM c ORDER BY c.id DESC OFFSET 1 LIMIT 2', ['3', '2']],
    ['SELECT VALUE s.id FROM (SELECT c.id FROM c WHERE c.n > 1) s', ['1', '3']],
    ['SELECT VALUE c.id -- why\nFROM c', ['1', '2', '3', '4']],
  ])('%s', (query, expected) => expect(run(query)).toEqual(expected));
});

describe('conditions', () => {
  test.each<[string, string]>([
    ['c.n = 2', '3'],
    // A text is no number: it differs from each, and none comes before or behind it.
    ['c.n != 2', '124'],
    ['NOT (c.n = 2)', '124'],
    ['c.n < 2 OR c.n >= 2', '123'],
    ['c.name != null', '1234'],
    ['c.gone != null', ''],
    ['c.gone >= null', '3'],
    ['c.n = "2" OR c.n = 1', '24'],
    ['c.n > 1', '13'],
    ['c.n >= 1 AND c.n < 3', '23'],
    ['c.n BETWEEN 1 AND 2', '23'],
    ['c.n NOT BETWEEN 1 AND 2', '1'],
    ['c.id IN ("1", "4", "9")', '14'],
    ['c.id NOT IN ("1", "4", "9")', '23'],
    ['c.flag', '2'],
    ['c.flag = false', '3'],
    ['NOT c.flag', '3'],
    ['c.missing = 1 OR c.id = "1"', '1'],
    ['NOT (c.missing = 1)', ''],
    ['c.gone = null', '3'],
    ['IS_NULL(c.gone)', '3'],
    ['IS_DEFINED(c.gone)', '3'],
    ['NOT IS_DEFINED(c.flag)', '14'],
    ['c.name LIKE "%a%"', '14'],
    ['c.name LIKE "_o_"', '2'],
    ['c.name LIKE "[AB]%"', '12'],
    ['c.name LIKE "[^AB]%"', '34'],
    ['c.name LIKE "%!%" ESCAPE "!"', '4'],
    ['c.name LIKE "%50!%" ESCAPE "!"', '4'],
    ['c.name NOT LIKE "%a%"', '23'],
    ['ARRAY_CONTAINS(c.tags, "y")', '12'],
    ['ARRAY_CONTAINS(c.lines, {q: 3}, true)', '1'],
    ['ARRAY_CONTAINS(["2", "3"], c.id)', '23'],
    ['EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = "x")', '1'],
    ['ARRAY_LENGTH(ARRAY(SELECT VALUE l.q FROM l IN c.lines WHERE l.p > 2)) = 1', '1'],
    ['(SELECT VALUE COUNT(1) FROM t IN c.tags) = 0', '34'],
    ['c.address = {city: "Bern"}', '1'],
    ['c.address != {city: "Bern"}', '2'],
    ['c.tags != ["y"]', '13'],
    ['c.id = "1" AND c.n = 3 OR c.id = "2"', '12'],
  ])('%s', (where, expected) => expect(ids(where)).toBe(expected));

  test('parameters are values, whatever they hold', () => {
    expect(ids('c.name = @name', { '@name': 'Ada' })).toBe('1');
    expect(ids('c.name = @name', { '@name': '" OR true OR "' })).toBe('');
    expect(ids('ARRAY_CONTAINS(@ids, c.id)', { '@ids': ['4', '1'] })).toBe('14');
    expect(ids('c[@field] = @value', { '@field': 'n', '@value': 1 })).toBe('2');
  });
});

describe('expressions', () => {
  test.each<[string, unknown]>([
    ['1 + 2 * 3 - 4 / 2', 5],
    ['-(2 + 3) % 3', -2],
    ['7 & 3 | 8', 11],
    ['"a" || "b" || "c"', 'abc'],
    ['null ?? 1', null],
    ['undefined ?? 1', 1],
    ['true ? "y" : "n"', 'y'],
    ['1 < 2 ? 1 < 0 ? "a" : "b" : "c"', 'b'],
    ['"it\\"s \\u00e9"', 'it"s é'],
    ['0x10 + .5e1', 21],
    ['1 = "1"', false],
    ['1 != "1"', true],
    ['null != {}', true],
    ['[1] = [1.0]', true],
    ['undefined = undefined', undefined],
    ['undefined != 1', undefined],
    ['1 < "1"', undefined],
    ['[1] < [2]', undefined],
    ['null BETWEEN null AND null', true],
    ['1 / 0', undefined],
    ['[1, 2][1]', 2],
    ['{a: {b: 5}}.a.b', 5],
    ['"x".length', undefined],
    ['{}.constructor', undefined],
    ['{"__proto__": 5}["__proto__"]', 5],
    ['STARTSWITH("Ab", "aB", true)', true],
    ['ENDSWITH("abc", "bc")', true],
    ['CONTAINS("abc", "d")', false],
    ['LOWER("AB") || UPPER("cd")', 'abCD'],
    ['LENGTH("abc")', 3],
    ['SUBSTRING("abcdef", 1, 3)', 'bcd'],
    ['CONCAT("a", "b", "c")', 'abc'],
    ['CONCAT("a", 1)', undefined],
    ['INDEX_OF("abc", "c")', 2],
    ['REPLACE("aXbX", "X", "-")', 'a-b-'],
    ['LEFT("abc", 2) || RIGHT("abc", 2)', 'abbc'],
    ['TRIM("  a ")', 'a'],
    ['REGEXMATCH("abC", "C$")', true],
    ['ToString(1.5) || ToString(true) || ToString("x")', '1.5truex'],
    ['StringToNumber("12")', 12],
    ['ARRAY_CONCAT([1], [2, 3])', [1, 2, 3]],
    ['ARRAY_SLICE([1, 2, 3, 4], 1, 2)', [2, 3]],
    ['ARRAY_LENGTH("no")', undefined],
    ['ABS(-2) + FLOOR(1.9) + CEILING(1.1) + ROUND(2.5) + ROUND(-2.5)', 5],
    ['ROUND(3.14159, 2)', 3.14],
    ['POWER(2, 10)', 1024],
    ['SQRT(-1)', undefined],
    [
      'IS_STRING("a") AND IS_NUMBER(1) AND IS_BOOL(false) AND IS_ARRAY([]) AND IS_OBJECT({}) AND IS_PRIMITIVE(null)',
      true,
    ],
    ['IS_OBJECT([]) OR IS_OBJECT(null) OR IS_PRIMITIVE({})', false],
    ['SetIntersect([1, 2, 3], [3, 1])', [3, 1]],
    ['IIF(1 = 1, "a", "b")', 'a'],
  ])('%s', (expression, expected) => expect(value(expression)).toEqual(expected));

  test('logic is three-valued', () => {
    const table = ['true', 'false', 'undefined'].map((a) =>
      ['true', 'false', 'undefined'].map((b) => [value(`${a} AND ${b}`), value(`${a} OR ${b}`)]),
    );
    expect(table).toEqual([
      [
        [true, true],
        [false, true],
        [undefined, true],
      ],
      [
        [false, true],
        [false, false],
        [false, undefined],
      ],
      [
        [undefined, true],
        [false, undefined],
        [undefined, undefined],
      ],
    ]);
    expect(value('NOT undefined')).toBeUndefined();
  });
});

describe('aggregates and order', () => {
  test.each<[string, unknown[]]>([
    ['SELECT VALUE COUNT(c.flag) FROM c', [2]],
    ['SELECT VALUE SUM(c.n) FROM c WHERE IS_NUMBER(c.n)', [6]],
    ['SELECT VALUE SUM(c.n) FROM c', []],
    ['SELECT VALUE AVG(c.n) FROM c WHERE c.n > 0', [2]],
    ['SELECT MIN(c.n) AS lo, MAX(c.n) AS hi, COUNT(1) AS n FROM c', [{ lo: 1, hi: '2', n: 4 }]],
    ['SELECT VALUE COUNT(1) FROM c WHERE false', [0]],
    ['SELECT VALUE MAX(c.n) FROM c WHERE false', []],
    ['SELECT COUNT(1) AS n, c.flag FROM c GROUP BY c.flag', [{ n: 2 }, { n: 1, flag: true }, { n: 1, flag: false }]],
    ['SELECT VALUE SUM(c.n) + 1 FROM c WHERE c.n < 3 GROUP BY IS_DEFINED(c.tags)', [4]],
    ['SELECT VALUE c.id FROM c ORDER BY c.n', ['2', '3', '1', '4']],
    ['SELECT VALUE c.id FROM c ORDER BY c.flag DESC, c.id DESC', ['2', '3', '4', '1']],
    ['SELECT VALUE c.id FROM c WHERE c.id IN ("2","4","3") ORDER BY IS_STRING(c.n), c.id', ['2', '3', '4']],
  ])('%s', (query, expected) => expect(run(query)).toEqual(expected));

  test('every type has its place', () => {
    const values = [{}, [], 'a', 1, true, false, null];
    const docs = values.map((v, i) => ({ id: String(i), v }));
    expect(run('SELECT VALUE c.v FROM c ORDER BY c.v', {}, [{ id: 'none' }, ...docs])).toEqual(values.toReversed());
  });
});

describe('mistakes', () => {
  test.each<[string, string, number]>([
    ['SELECT * FORM c', 'FORM', 9],
    ['SELECT * FROM c WHERE', 'the end of the query', 21],
    ['SELECT * FROM c WHERE c.a = ', 'the end of the query', 28],
    ['SELECT c.1 FROM c', "'.1'", 8],
    ['SELECT VALUE "open', 'not closed', 13],
    ['SELECT VALUE #', "invalid token '#'", 13],
    ['SELECT VALUE x.a FROM c', "'x' could not be resolved", 13],
    ['SELECT VALUE NOPE(1)', "'NOPE' is not a recognized", 13],
    ['SELECT VALUE ABS(1, 2)', 'wrong number of arguments', 13],
    ['SELECT VALUE c.id FROM c WHERE COUNT(1) > 1', 'aggregate', 31],
    ['SELECT VALUE @p', "'@p' is not supplied", 13],
    ['SELECT VALUE udf.mine(1)', 'user-defined', 17],
    ['SELECT * FROM c JOIN t IN c.tags', 'SELECT *', 0],
  ])('%s', (query, message, start) => {
    const error = (() => {
      try {
        run(query);
      } catch (caught) {
        return caught;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(SqlError);
    expect((error as SqlError).message).toContain(message);
    expect((error as SqlError).start).toBe(start);
  });

  test('deep nesting is refused, not run into', () => {
    expect(() => run(`SELECT VALUE ${'('.repeat(5000)}1${')'.repeat(5000)}`)).toThrow(SqlError);
    expect(() => run(`SELECT VALUE ${'- '.repeat(5000)}1`)).toThrow(SqlError);
  });
});

const of = (where: string): unknown =>
  prepareQuery(`SELECT * FROM c WHERE ${where}`, new Map([['@p', 'v']])).restrictions;

describe('restrictions', () => {
  test('restrictions are found among the conditions that must all hold', () => {
    expect(of('c.a.b = @p AND (c.id IN ("1", "2") AND c.x > 1) AND ARRAY_CONTAINS(["k"], c.pk)')).toEqual([
      { path: ['a', 'b'], values: ['v'] },
      { path: ['id'], values: ['1', '2'] },
      { path: ['x'], low: 1 },
      { path: ['pk'], values: ['k'] },
    ]);
    expect(of('c.id = "1" OR c.id = "2"')).toEqual([{ path: ['id'], values: ['1', '2'] }]);
    expect(of('c.a = 1 AND c.b > 2 OR c.b = 3 OR STARTSWITH(c.s, "ab")')).toEqual([
      {
        anyOf: [
          [
            { path: ['a'], values: [1] },
            { path: ['b'], low: 2 },
          ],
          [{ path: ['b'], values: [3] }],
          [{ path: ['s'], low: 'ab', high: 'ac' }],
        ],
      },
    ]);
    expect(of('c.a = 1 OR c.b != 2')).toEqual([]);
    expect(of('c.s LIKE "a_b%"')).toEqual([{ path: ['s'], low: 'a', high: 'b' }]);
    expect(of('c.s LIKE "%b" AND STARTSWITH(c.s, "A", true)')).toEqual([]);
    expect(of('STARTSWITH(c.s, "a\uffff")')).toEqual([{ path: ['s'], low: 'a\uffff', high: 'b' }]);
    expect(of('STARTSWITH(c.s, "\uffff")')).toEqual([{ path: ['s'], low: '\uffff' }]);
    expect(of('NOT c.id = "1"')).toEqual([]);
    expect(of('c.id = c.other')).toEqual([]);
  });
});
