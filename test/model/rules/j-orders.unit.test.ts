import { expect, test } from 'vitest';
import { ORDERS } from '../../../src/model/rules/j-orders.ts';
import { annotated } from './annotated.ts';

const LINES = [
  ...Array.from({ length: 8 }, (_, index) => `This is line number ${index + 1}.`),
  'Lookups use LOWER() in line number 9.',
];
const at = (line: number) => ({ line, words: `line number ${line}.` });
const posts = { kind: 'container', ...at(1), container: 'posts', key: ['/userId'] };
const read = (line: number, facts: object) => ({
  kind: 'access',
  ...at(line),
  name: `Read ${line}`,
  operation: 'query',
  container: 'posts',
  ...facts,
});
const index = (...composites: object[]) => ({ kind: 'index', ...at(2), container: 'posts', composites });
const found = (...annotations: object[]) => annotated(LINES, [posts, ...annotations], ORDERS);
const messages = (...annotations: object[]) => found(...annotations).map(({ rule, message }) => `${rule} ${message}`);
const BY = [{ path: 'priority', descending: true }, { path: 'due' }];

test('an order of two fields takes a composite index of the same paths', () => {
  const [one] = found(read(3, { order: BY }));
  expect(one).toMatchObject({ rule: 'J8', severity: 'error' });
  expect(one?.message).toContain('"Read 3" orders by priority DESC, due, and no composite index is stated');
  expect(messages(read(3, { order: BY }), index(BY))).toEqual([]);
  expect(messages(read(3, { order: BY }), index([{ path: 'priority' }, { path: 'due', descending: true }]))).toEqual(
    [],
  );
  expect(
    messages(read(3, { order: BY }), index([{ path: 'due' }, { path: 'priority', descending: true }]))[0],
  ).toContain('no composite index has these paths in this order');
  expect(messages(read(3, { order: BY }), index([...BY, { path: 'id' }]))).toHaveLength(1);
  expect(messages(read(3, { sql: 'SELECT * FROM c WHERE c.userId = @u ORDER BY c.a, c.b' }))).toHaveLength(1);
  expect(messages(read(3, { order: [{ path: 'due' }] }))).toEqual([]);
});

test('a text that speaks of composite indexes may have one that nobody annotated', () => {
  expect(
    annotated(LINES.with(7, 'Add composite indexes. It is line number 8.'), [posts, read(3, { order: BY })], ORDERS),
  ).toEqual([]);
});

test('a composite index whose first paths are only filtered by isn’t used', () => {
  const composite = index([{ path: 'status' }, { path: 'due', descending: true }]);
  const [one] = messages(
    read(3, { equals: ['userId', 'status'], order: [{ path: 'due', descending: true }] }),
    composite,
  );
  expect(one).toContain(
    'the composite index (status, due DESC) isn’t used by "Read 3", which orders by due DESC alone',
  );
  expect(
    messages(
      read(3, { equals: ['userId'], order: [{ path: 'status' }, { path: 'due', descending: true }] }),
      composite,
    ),
  ).toEqual([]);
});

test('words that stand for a rank are sorted by letters', () => {
  const type = (values: string[]) => ({
    kind: 'type',
    ...at(4),
    type: 'post',
    container: 'posts',
    fields: [{ path: 'priority', type: 'string', values }],
  });
  const byRank = read(3, { equals: ['userId'], order: [{ path: 'priority' }] });
  expect(messages(type(['low', 'medium', 'high']), byRank)[0]).toContain('sorted by letters, high, low and medium');
  expect(messages(type(['1', '2', '3']), byRank)).toEqual([]);
});

test.each([
  ["WHERE content CONTAINS 'weather'", 'CONTAINS as an operator'],
  ['SELECT * FROM posts p JOIN users u ON p.userId = u.id', 'JOIN … ON'],
  ['SELECT TOP 1 * FROM c GROUP BY c.a HAVING COUNT(1) > 1', 'HAVING'],
])('SQL of other databases is an error: %s', (sql, what) => {
  expect(messages(read(3, { sql, equals: ['userId'] }))).toContainEqual(expect.stringContaining(`has no ${what}`));
});

test('SQL of Cosmos DB is fine', () => {
  expect(
    messages(
      read(3, { sql: "SELECT * FROM c WHERE c.userId = @u AND CONTAINS(c.content, 'weather') OFFSET 0 LIMIT 5" }),
    ),
  ).toEqual([]);
});

test('an aggregate without a filter reads everything', () => {
  expect(messages(read(3, { sql: 'SELECT c.type, AVG(LENGTH(ToString(c))) FROM c GROUP BY c.type' }))[0]).toMatch(
    /reads every document of posts in all partitions and makes each of them/,
  );
  expect(messages(read(3, { sql: 'SELECT COUNT(1) FROM c WHERE c.userId = @u' }))).toEqual([]);
});

test('a comparison within LOWER loads the documents, a search by a part reads the index', () => {
  const [one, ...others] = messages(
    read(9, { equals: ['userId'], searches: ['name'] }),
    read(3, { searches: ['title'] }),
  );
  expect(others).toEqual([]);
  expect(one).toContain('"Read 9" compares name within a function such as LOWER');
  expect(messages(read(3, { unknownKey: true, searches: ['title'] }))[0]).toContain(
    '"Read 3" searches in title by a part of the text, which reads the whole index of the field or every document, in all partitions',
  );
});

test('a rare search, one by vector and one that a search index serves are silent', () => {
  expect(messages(read(3, { often: 'rarely', searches: ['title'] }))).toEqual([]);
  expect(messages(read(3, { searches: ['embedding'] }))).toEqual([]);
  const type = { kind: 'type', ...at(4), type: 'post', container: 'posts' };
  expect(
    messages(type, read(3, { searches: ['title'] }), {
      kind: 'derived',
      ...at(5),
      what: 'index',
      form: 'search-index',
      of: 'post',
    }),
  ).toEqual([]);
});

test('a composite index that begins with the key isn’t needed', () => {
  const composite = index([{ path: 'userId' }, { path: 'due', descending: true }]);
  const [one] = messages(read(3, { equals: ['userId'], order: [{ path: 'due', descending: true }] }), composite);
  expect(one).toContain('the composite index (userId, due DESC) isn’t needed. userId is the partition key');
});

test('a property has the alias of its container', () => {
  const sql = (text: string) => messages(read(3, { sql: text, equals: ['userId'] }));
  expect(sql("WHERE type = 'post' AND userId = 'u1'")[0]).toContain('stands without the alias of its container');
  expect(sql("SELECT * FROM c WHERE c.type = 'post'")).toEqual([]);
  expect(sql("SELECT VALUE t FROM c JOIN t IN c.tags WHERE t = 'new'")).toEqual([]);
  // Words for a query are no query.
  expect(sql('WHERE userId = X')).toEqual([]);
});

test('a search in the elements of a document, or one that is accepted, is silent', () => {
  const search = (facts: object) => messages(read(3, { equals: ['userId'], searches: ['title'], ...facts }));
  expect(search({})).toHaveLength(1);
  expect(search({ searches: ['tags[].name'] })).toEqual([]);
  expect(search({ accepted: true })).toEqual([]);
});
