import { expect, test } from 'vitest';
import { prepareQuery } from '../../src/emulator/sql/prepare.ts';

// Each of these kept a server busy for longer than a test may take, or took gigabytes, before queries were bounded.

const DOC = { id: '1', s: `${'a'.repeat(41)}!`, list: Array.from({ length: 500 }, (_, i) => i) };

const run = (query: string): unknown[] =>
  [...prepareQuery(query, new Map()).run([{ doc: DOC, text: JSON.stringify(DOC) }])].map(
    (text) => JSON.parse(text) as unknown,
  );
const value = (expression: string): unknown => run(`SELECT VALUE ${expression} FROM c`)[0];

/** An expression in itself, so many levels deep. */
const nested = (levels: number, around: (inner: string) => string, core: string): string => {
  let text = core;
  for (let level = 0; level < levels; level++) text = around(text);
  return text;
};

test('a regular expression takes time linear in the text', () => {
  expect(value("RegexMatch(c.s, '^(a+)+$')")).toBe(false);
  expect(value("RegexMatch(c.s, '^(a+)+!$')")).toBe(true);
  expect(value("RegexExtract(c.s, '(a|aa)+$')")).toBeUndefined();
});

test.each([
  ["RegexMatch('abcd', 'ab c', 'x')", true],
  ["RegexMatch('abcd', 'aB c # the rest', 'ix')", true],
  ["RegexMatch('a b', 'a[ ]b', 'x')", true],
  ["RegexMatch('a b', 'a\\\\ b', 'x')", true],
  ["RegexMatch('one\\ntwo', '^two$')", false],
  ["RegexMatch('one\\ntwo', '^two$', 'm')", true],
  ["RegexMatch('one\\ntwo', 'one.two')", false],
  ["RegexMatch('one\\ntwo', 'one.two', 's')", true],
  ["RegexMatch('foobar', '(?<=foo)bar')", true],
  ["RegexExtract('key=value', '(?P<key>\\\\w+)=')", 'key'],
  ["RegexExtract('key=value', '=.*')", '=value'],
])('%s', (expression, expected) => expect(value(expression)).toBe(expected));

test.each([
  ['lookahead', "RegexMatch(c.s, 'a(?=b)')", 'Lookahead'],
  ['a reference back', "RegexMatch(c.s, '(a)\\\\1')", 'backreferences'],
  ['no expression', "RegexMatch(c.s, '[')", 'is not supported here'],
  ['an unknown modifier', "RegexMatch(c.s, 'a', 'q')", "no modifier 'q'"],
  ['a long expression', `RegexMatch(c.s, '${'a'.repeat(1001)}')`, '1001 characters'],
])('%s is refused, as it would mean something else', (_, expression, message) => {
  expect(() => value(expression)).toThrow(message);
});

test('LIKE tries nothing twice', () => {
  expect(value(`c.s LIKE '${'%a'.repeat(60)}b'`)).toBe(false);
  expect(value(`c.s LIKE '${'%a'.repeat(41)}%'`)).toBe(true);
  expect(value(`c.s LIKE '${'%a'.repeat(42)}%'`)).toBe(false);
  expect(value(`c.s LIKE '${'%_'.repeat(42)}'`)).toBe(true);
  expect(value(`c.s LIKE '${'%[a-b]'.repeat(41)}!'`)).toBe(true);
});

test.each<[string, string, boolean]>([
  ['aXbXc', 'a%X%c', true],
  ['ab', 'ab%b', false],
  ['abab', '%ab', true],
  ['aab', '%ab', true],
  ['a.c', 'a.c', true],
  ['abc', 'a.c', false],
  ['a\nb', 'a_b', true],
  ['', '%', true],
  ['', '_', false],
  ['b', '[a-c]', true],
  ['-', '[a-]', true],
  ['b', '[^a-c]', false],
  ['x]', 'x]', true],
])('%j LIKE %j is %j', (text, pattern, expected) => {
  expect(value(`${JSON.stringify(text)} LIKE ${JSON.stringify(pattern)}`)).toBe(expected);
});

test('a text is looked for in time linear in both', () => {
  const long = nested(2, (inner) => `REPLACE(${inner}, 'a', REPLICATE('a', 1000))`, "'a'");
  const part = "CONCAT(REPLICATE('a', 9000), 'b', REPLICATE('a', 9000))";
  expect(value(`CONTAINS(${long}, ${part})`)).toBe(false);
  expect(value(`CONTAINS(CONCAT(${long}, 'b', REPLICATE('a', 9000)), ${part})`)).toBe(true);
  expect(value(`INDEX_OF(CONCAT('x', ${part}), ${part})`)).toBe(1);
  expect(value("REPLACE('abcabcabd-abcabcabd', 'abcabcabd', '$&')")).toBe('$&-$&');
  expect(value("StringSplit('one--and--two--and--', '--and--')")).toEqual(['one', 'two', '']);
});

test('what is nested in itself is evaluated once', () => {
  expect(value(nested(60, (inner) => `(${inner} ?? undefined)`, '1'))).toBe(1);
  expect(value(nested(60, (inner) => `(${inner} BETWEEN false AND true)`, 'true'))).toBe(true);
});

test('many conditions are read in time linear in them', () => {
  const conditions = Array.from({ length: 1000 }, (_, i) => `c.p${i} > 1`);
  expect(run(`SELECT * FROM c WHERE ${conditions.join(' AND ')}`)).toEqual([]);
  expect(run(`SELECT * FROM c WHERE ${conditions.join(' OR ')}`)).toEqual([]);
});

const doubled = nested(22, (inner) => `REPLACE(${inner}, 'a', 'aa')`, "'a'");
const JOINED = 'x IN c.list JOIN y IN c.list JOIN z IN c.list';

test.each([
  ['REPLACE by a long text', nested(3, (inner) => `REPLACE(${inner}, 'a', REPLICATE('a', 10000))`, "'a'"), '4 MB'],
  ['REPLACE by twice the text', nested(60, (inner) => `REPLACE(${inner}, 'a', 'aa')`, "'a'"), '4 MB'],
  ['ToString of its own text', nested(40, (inner) => `ToString([${inner}])`, "'\"'"), 'MB'],
  ['LPAD', "LPAD('a', 500000000)", '4 MB'],
  ['several long texts', `[${Array.from({ length: 5 }, () => doubled).join(', ')}]`, '16 MB for one row'],
  ['an array of many rows', `ARRAY(SELECT VALUE x FROM ${JOINED})`, '16 MB for one row'],
])('%s is ended', (_, expression, message) => {
  expect(() => value(expression)).toThrow(message);
});

test.each([
  [
    'an array twice in itself',
    `a FROM ${nested(40, (inner) => `(SELECT VALUE [a, a] FROM ${inner} a)`, '(SELECT VALUE [1])')} a`,
    '16 MB for one row',
  ],
  ['ORDER BY of many rows', `x FROM c JOIN ${JOINED} ORDER BY c.list`, '256 MB to sort'],
  ['MAKELIST of many rows', `MAKELIST(c.list) FROM c JOIN ${JOINED}`, '256 MB to sort'],
  ['GROUP BY of large values', `COUNT(1) FROM c JOIN ${JOINED} GROUP BY c.list`, 'more work'],
  ['REVERSE in many rows', `LENGTH(REVERSE(REPLICATE('a', 10000))) FROM c JOIN ${JOINED}`, 'more work'],
  ['a large list of texts', `SetUnion([ToString(c.list)], [x]) FROM c JOIN ${JOINED}`, 'more work'],
  ['COUNT of many rows', `COUNT(1) FROM c JOIN ${JOINED}`, 'more work than one query may take'],
])('%s is ended', (_, query, message) => {
  expect(() => run(`SELECT VALUE ${query}`)).toThrow(message);
});

/** Each of these took one to thirty seconds of a processor, and was answered, or refused only then. */
const MANY = Array.from({ length: 20_000 }, (_, n) => {
  const doc = { id: `${n}`, n, s: `text ${n}`, tags: ['a', 'b', `${n}`], o: { p: { q: n } } };
  return { doc, text: '' };
});
const LONG = { doc: { id: '1', list: Array.from({ length: 1000 }, (_, n) => n), s: 'ab'.repeat(500_000) }, text: '' };
const chain = (length: number, part: (n: number) => string, by = ' OR '): string =>
  Array.from({ length }, (_, n) => part(n)).join(by);

test.each([
  ['a chain of 2,000 fields', `c FROM c WHERE ${chain(2_000, (n) => `c.q${n}`)}`, MANY],
  ['a chain of 1,500 comparisons', `c FROM c WHERE ${chain(1_500, (n) => `c.o.p.q = "x${n}"`)}`, MANY],
  ['a chain of 1,500 calls', `c FROM c WHERE ${chain(1_500, (n) => `IS_DEFINED(c.q${n})`)}`, MANY],
  ['a chain of 800 searches', `c FROM c WHERE ${chain(800, (n) => `CONTAINS(c.s, "x${n}", true)`)}`, MANY],
  [
    'a chain of 200 subqueries',
    `c FROM c WHERE ${chain(200, () => 'EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 1)')}`,
    MANY,
  ],
  ['a sum of 1,500 fields', `${chain(1_500, () => 'c.n', ' + ')} FROM c`, MANY],
  [
    'REPLACE in a long text, 100 times',
    'COUNT(REPLACE(c.s, "ab", "xyz")) FROM c JOIN x IN c.list WHERE x < 100',
    [LONG],
  ],
  [
    'StringSplit of a long text, 100 times',
    'COUNT(StringSplit(c.s, "b")) FROM c JOIN x IN c.list WHERE x < 100',
    [LONG],
  ],
  [
    'dates in a million rows',
    'COUNT(DateTimeAdd("d", x, "2020-01-01")) FROM c JOIN x IN c.list JOIN y IN c.list',
    [LONG],
  ],
  [
    'mathematics in a million rows',
    `COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list WHERE ${chain(5, () => 'SIN(POWER(x, LOG(y + 1)))', ' + ')} = 7`,
    [LONG],
  ],
  ['six million rows', 'COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list WHERE z < 6', [LONG]],
])('%s is ended before it holds the server for a second', (_, query, documents) => {
  const read = (): number => [...prepareQuery(`SELECT VALUE ${query}`, new Map()).run(documents)].length;
  expect(read).toThrow('more work than one query may take');
});

test('what an application asks for is far below the limit', () => {
  const answers = (query: string): number => [...prepareQuery(query, new Map()).run(MANY)].length;
  expect(answers(`SELECT * FROM c WHERE c.n IN (${chain(1_000, (n) => `${n}`, ', ')})`)).toBe(1_000);
  expect(answers(`SELECT VALUE c.n FROM c WHERE ${chain(200, (n) => `(c.n = ${n} AND c.id = "${n}")`)}`)).toBe(200);
  expect(answers('SELECT c.o.p.q, COUNT(1) AS n FROM c GROUP BY c.o.p.q')).toBe(20_000);
  expect(
    answers('SELECT c.id, c.s FROM c JOIN t IN c.tags WHERE CONTAINS(c.s, "9", true) ORDER BY c.s'),
  ).toBeGreaterThan(1_000);
});

test('many rows of one document are many, each with its own share', () => {
  const query = 'SELECT VALUE COUNT(REPLICATE("abcdefgh", 100)) FROM c JOIN x IN c.list JOIN y IN c.list';
  expect(run(query)).toEqual([250_000]);
});

test('a query longer than the service takes is refused', () => {
  expect(() => run(`SELECT VALUE 1 -- ${'x'.repeat(512 * 1024)}`)).toThrow('longer than 512 KB');
});
