import { expect, test } from 'vitest';
import { ANNOTATED_INDEXES } from '../../../src/model/rules/j-indexes.ts';
import { HEAVY_FIELDS } from '../../../src/model/rules/j-vectors.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 8 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const posts = { kind: 'container', ...at(1), container: 'posts', key: ['/userId'] };
const type = (...fields: object[]) => ({
  kind: 'type',
  ...at(2),
  type: 'post',
  container: 'posts',
  complete: true,
  fields: [{ path: 'id' }, { path: 'title' }, ...fields],
});
const index = (facts: object) => ({ kind: 'index', ...at(3), container: 'posts', ...facts });
const read = (facts: object) => ({
  kind: 'access',
  ...at(4),
  name: 'Read',
  operation: 'query',
  container: 'posts',
  type: 'post',
  ...facts,
});
const found = (...annotations: object[]) =>
  annotated(LINES, [posts, ...annotations], [...ANNOTATED_INDEXES, ...HEAVY_FIELDS]);
const messages = (...annotations: object[]) => found(...annotations).map(({ rule, message }) => `${rule} ${message}`);
const WHOLE = { whole: true, excluded: ['/*'] };

test.each([
  [{ excluded: ['raw/*'] }, 'raw/*, which has no leading slash'],
  [{ included: ['/lines/*/sku/?'], excluded: ['/*'] }, 'has * before its end'],
  [{ ...WHOLE, included: ['/title'] }, 'ends neither with /? nor with /*'],
  [{ whole: true, included: ['/title/?'] }, 'the root path /*'],
  [{ mode: 'Lazy' }, 'mode lazy'],
])('a policy that the service refuses: %o', (facts, says) => {
  expect(messages(index(facts))[0]).toContain(says);
});

test('a path in prose without a slash names a field', () => {
  expect(messages(index({ included: ['review/state'], excluded: ['/*'] }))).toEqual([]);
});

test('a malformed path is corrected, and what no document has is said with it', () => {
  const [one, ...others] = found(type(), index({ excluded: ['raw/*'] }));
  expect(others).toEqual([]);
  expect(one?.message).toContain('and post has no such field');
  expect(one?.hint).toBe('Write /raw/*.');
});

test('a path of a field that no definition has does nothing', () => {
  const [one] = found(
    type({ path: 'hashiSecrets' }),
    index({ included: ['/namespace/?', '/title/?'], excluded: ['/secrets/*'] }),
  );
  expect(one?.message).toContain('no document has the fields of the index paths /namespace/? and /secrets/*');
  expect(one?.hint).toContain('Name hashiSecrets');
  expect(messages(type(), index({ included: ['/title/?', '/userId/?', '/_ts/?', '/*'] }))).toEqual([]);
  // A type of which not all fields are known may have it.
  expect(
    messages(
      { kind: 'type', ...at(2), type: 'post', container: 'posts', fields: [{ path: 'title' }] },
      index({ included: ['/namespace/?'] }),
    ),
  ).toEqual([]);
});

test('a policy of several containers is asked for the fields of all of them, once', () => {
  const users = { kind: 'container', ...at(5), container: 'users', key: ['/userId'] };
  const user = {
    kind: 'type',
    ...at(6),
    type: 'user',
    container: 'users',
    complete: true,
    fields: [{ path: 'imageUrls' }],
  };
  const shared = [{ kind: 'index', ...at(3), excluded: ['/imageUrls/*', '/logo/*'] }];
  const [one, ...others] = messages(users, user, type(), ...shared);
  expect(others).toEqual([]);
  expect(one).toContain('posts and users: no document has the field of the index path /logo/*');
  const each = ['posts', 'users'].map((container) => ({
    kind: 'index',
    ...at(3),
    container,
    excluded: ['/imageUrls/*'],
  }));
  expect(messages(users, user, type(), ...each)).toEqual([]);
});

test('a field that a selective policy leaves out can’t be ordered by', () => {
  const policy = index({ ...WHOLE, included: ['/title/?', '/userId/?'] });
  expect(found(policy, read({ equals: ['userId'], order: [{ path: 'at' }] }))[0]).toMatchObject({ severity: 'error' });
  expect(messages(policy, read({ equals: ['userId', 'state'] }))[0]).toContain(
    'posts: "Read" (state) – a filter by a field that the indexing policy (line 3) leaves out',
  );
  expect(messages(policy, read({ equals: ['userId', 'title', 'id'], order: [{ path: 'title' }] }))).toEqual([]);
  expect(messages(index({ included: ['/title/?'] }), read({ equals: ['state'] }))).toEqual([]);
});

test('the key of a selective policy is included, if queries are by it', () => {
  const policy = index({ excluded: ['/*'], included: ['/title/?'] });
  const [one] = found(policy, read({ equals: ['userId', 'title'] }));
  expect(one?.message).toContain('posts: "Read" (userId) – the partition key isn’t among the included paths');
  expect(one?.hint).toBe('Include /userId/?.');
  expect(messages(policy, read({ equals: ['title'] }))).toEqual([]);
  expect(
    messages(index({ excluded: ['/*'], included: ['/title/?', '/userId/?'] }), read({ equals: ['userId'] })),
  ).toEqual([]);
});

test('vector search takes a policy and an index', () => {
  const search = read({ searches: ['embedding'] });
  const vector = type({ path: 'embedding', type: 'vector' });
  expect(messages(vector, search, index({ vectorIndexes: [] }))).toContainEqual(
    expect.stringContaining('has no vector embedding policy and vector index (line 3)'),
  );
  expect(messages(vector, search, index({ vectorIndexes: ['/embedding'], vectorPolicy: ['/embedding'] }))).toEqual([]);
  expect(
    annotated(
      LINES.with(7, 'The vector embedding policy has /embedding, the vector index is diskANN.'),
      [posts, vector, search],
      HEAVY_FIELDS,
    ),
  ).toEqual([]);
  expect(messages(vector, search, { kind: 'derived', ...at(5), what: 'vectors', form: 'search-index' })).toEqual([]);
});

test('a large field that no read asks for costs writes', () => {
  const raw = { path: 'payload', large: true };
  const [one] = found(type(raw));
  expect(one).toMatchObject({ rule: 'J19' });
  expect(one?.message).toContain('post.payload in posts: never filtered or ordered by');
  expect(messages(type(raw), index({ excluded: ['/payload/*'] }))).toEqual([]);
  expect(messages(type(raw), index({ mode: 'none' }))).toEqual([]);
  expect(messages(type(raw), read({ equals: ['payload.kind'] }))).toEqual([]);
  const result = { ...type({ path: 'parts', type: 'array' }), purpose: 'result' };
  expect(messages(result, { kind: 'index', line: 3, words: LINES[2] })).toEqual([]);
  expect(
    annotated(
      LINES.with(2, 'The default policy.'),
      [posts, result, { kind: 'index', line: 3, words: 'The default policy.' }],
      HEAVY_FIELDS,
    )[0]?.message,
  ).toContain('post.parts in posts');
});

test('a composite index has two paths or more', () => {
  const composite = (...paths: string[]) => index({ composites: [paths.map((path) => ({ path }))] });
  const said = (one: object) => annotated(LINES, [posts, type(), one], ANNOTATED_INDEXES).map(({ message }) => message);
  expect(said(composite('title'))[0]).toContain('The composite index of title (posts) has one path');
  expect(said(composite('title', 'id'))).toEqual([]);
});

test('a planned policy serves the same queries, and a job finds its documents by the index', () => {
  const planned = index({ ...WHOLE, included: ['/title/?'], planned: true });
  expect(messages(type({ path: 'score' }), planned, read({ order: [{ path: 'score' }] }))[0]).toContain(
    'refuses an ORDER BY',
  );
  expect(messages(type({ path: 'score' }), planned, read({ order: [{ path: 'title' }] }))).toEqual([]);
  const job = { equals: ['score'], unknownKey: true };
  const policy = index({ ...WHOLE, included: ['/title/?'] });
  expect(messages(type({ path: 'score' }), policy, read({ ...job, aim: 'work' }))[0]).toContain('a filter by a field');
  expect(messages(type({ path: 'score' }), policy, read(job))).toEqual([]);
});
