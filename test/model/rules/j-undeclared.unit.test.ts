import { expect, test } from 'vitest';
import { UNDECLARED } from '../../../src/model/rules/j-undeclared.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 9 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const keyed = (line: number, container: string) => ({ kind: 'container', ...at(line), container, key: ['/userId'] });
const type = (facts: object = {}) => ({
  kind: 'type',
  ...at(3),
  type: 'post',
  container: 'posts',
  complete: true,
  fields: [{ path: 'id' }, { path: 'createdAt' }],
  ...facts,
});
const read = (facts: object) => ({
  kind: 'access',
  ...at(4),
  name: 'List',
  operation: 'query',
  container: 'posts',
  type: 'post',
  ...facts,
});
const found = (...annotations: object[]) => annotated(LINES, annotations, UNDECLARED);
const messages = (...annotations: object[]) => found(...annotations).map(({ message }) => message);

test('a field that no definition has is named, with the one that may be meant', () => {
  const [one] = found(
    keyed(1, 'posts'),
    type(),
    read({ sql: 'SELECT * FROM c WHERE c.userId = @u ORDER BY c.createdAtt' }),
  );
  expect(one?.message).toContain('"List" (createdAtt): post has no such field (line 3)');
  expect(one?.hint).toContain('Name createdAt, if that is meant');
});

test('fields under another spelling, of the key, of the service and of ids are known', () => {
  expect(
    messages(
      keyed(1, 'posts'),
      type(),
      read({ equals: ['user_id', 'postId', 'authorId', 'created_at'], order: [{ path: '_ts' }] }),
    ),
  ).toEqual([]);
});

test('a type of which not all is known may have any field', () => {
  expect(messages(keyed(1, 'posts'), type({ complete: false }), read({ equals: ['state'] }))).toEqual([]);
  expect(
    messages(
      keyed(1, 'posts'),
      type({ fields: [{ path: 'id' }, { path: 'attributes', type: 'object' }] }),
      read({ equals: ['state'] }),
    ),
  ).toEqual([]);
  expect(messages(keyed(1, 'posts'), type(), read({ equals: ['state'] }))).toHaveLength(1);
});

test('a container that is used and not declared, beside others that are', () => {
  const use = read({ container: 'audits', type: 'audit' });
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), use)[0]).toContain(
    'audits is used by "List", and no place declares such a container',
  );
  expect(messages(keyed(1, 'posts'), use)).toEqual([]);
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), read({}))).toEqual([]);
});

test('a type that is written to no container', () => {
  const write = { kind: 'access', ...at(5), name: 'Start', operation: 'upsert', type: 'manifest' };
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), write)[0]).toContain(
    'manifest is written ("Start"), and no place says in which container',
  );
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), { ...write, operation: 'query' })).toEqual([]);
});

test('a type that is looked up often and described nowhere, beside others that are', () => {
  const lookup = read({ container: 'users', type: 'user', equals: ['name'], returns: 'one', often: 'often' });
  const user = { kind: 'type', ...at(2), type: 'user', container: 'users' };
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), type(), user, lookup)[0]).toContain(
    'user in users ("List"): looked up often',
  );
  expect(messages(keyed(1, 'posts'), keyed(2, 'users'), user, lookup)).toEqual([]);
  expect(
    messages(keyed(1, 'posts'), keyed(2, 'users'), type(), { ...user, fields: [{ path: 'name' }] }, lookup),
  ).toEqual([]);
});

test('a container of which no place states the key', () => {
  const posts = { kind: 'container', ...at(1), container: 'posts' };
  expect(messages(posts, type(), read({}))[0]).toContain('posts: no place states the partition key');
  expect(messages(posts, keyed(2, 'posts'), type(), read({}))).toEqual([]);
});

test('a document that describes none of its documents', () => {
  const reads = [read({}), read({ name: 'Get' }), read({ name: 'Find' })];
  const post = { kind: 'type', ...at(3), type: 'post', container: 'posts' };
  const design = [...LINES, '## Data model'];
  expect(annotated(design, [keyed(1, 'posts'), post, ...reads], UNDECLARED)[0]?.message).toContain(
    'post: no place gives the fields of a document',
  );
  // A text on costs or operation needn’t show documents.
  expect(messages(keyed(1, 'posts'), post, ...reads)).toEqual([]);
  expect(messages(keyed(1, 'posts'), type(), ...reads)).toEqual([]);
  expect(messages(keyed(1, 'posts'), post, { kind: 'id', ...at(5), type: 'post', from: ['slug'] }, ...reads)).toEqual(
    [],
  );
});

test('a key that the text has beside the name was only not annotated', () => {
  const posts = { kind: 'container', ...at(1), container: 'posts' };
  const text = LINES.with(7, '| `posts` | `/userId` | line number 8.');
  expect(annotated(text, [posts, type(), read({})], UNDECLARED)).toEqual([]);
  const use = read({ container: 'audits', type: 'audit' });
  const audits = LINES.with(7, 'audits, partition key: user, line number 8.');
  expect(annotated(audits, [keyed(1, 'posts'), keyed(2, 'users'), use], UNDECLARED)).toEqual([]);
});

test('a read of a container whose key only another place knows is a finding', () => {
  const games = { kind: 'container', ...at(2), container: 'games', existing: true };
  const use = read({ container: 'games', type: 'game', equals: ['profileId'] });
  expect(messages(keyed(1, 'scores'), games, use)[0]).toContain(
    '"List" reads games by profileId, and no place states the key of games, as for scores',
  );
  const line = LINES.with(7, 'games has the partition key /profileId: line number 8.');
  expect(annotated(line, [keyed(1, 'scores'), games, use], UNDECLARED)).toEqual([]);
  expect(messages(games, use)).toEqual([]);
  expect(messages(keyed(1, 'scores'), games, { ...use, often: 'rarely' })).toEqual([]);
});

test('nothing is asked of the fields of a type that is there already', () => {
  const use = read({ equals: ['rank'] });
  expect(messages(keyed(1, 'posts'), type(), use)).toHaveLength(1);
  expect(messages(keyed(1, 'posts'), type({ existing: true }), use)).toEqual([]);
});

test('a note that a program keeps with its own data needs no container', () => {
  const written = (text: string, facts: object = {}) =>
    annotated(
      LINES.with(3, `${text}, line number 4.`),
      [
        keyed(1, 'posts'),
        { ...keyed(2, 'users'), container: 'users' },
        { kind: 'type', line: 4, words: text, type: 'note', ...facts },
        { kind: 'access', line: 4, words: text, name: 'Note it', operation: 'update', type: 'note' },
      ],
      UNDECLARED,
    ).map(({ message }) => message);
  expect(written('the note is written beside the leases')).toEqual([]);
  expect(written('log it in a separate audit trail')).toEqual([]);
  expect(written('log it in the audit container')).toHaveLength(1);
  expect(written('the note is written', { existing: true })).toEqual([]);
  expect(written('the note is written by the leaseholder')[0]).toContain('no place says in which container');
});

test('a type to which stored documents refer has a container', () => {
  const domain = (facts: object = {}) => ({
    kind: 'type',
    ...at(5),
    type: 'domain',
    complete: true,
    fields: [{ path: 'id' }, { path: 'name' }, { path: 'owner' }],
    ...facts,
  });
  const post = type({ fields: [{ path: 'id' }, { path: 'createdAt' }, { path: 'domainId', refersTo: 'domain' }] });
  const two = [keyed(1, 'posts'), keyed(2, 'users')];
  expect(messages(...two, post, domain())[0]).toContain('domain has fields and an id, post.domainId refers to it');
  expect(messages(...two, type(), domain())).toEqual([]);
  expect(messages(...two, post, domain({ container: 'users' }))).toEqual([]);
  expect(messages(...two, post, domain({ existing: true }))).toEqual([]);
});

test('a container that is named in passing needs no key here', () => {
  const backups = { kind: 'container', ...at(6), container: 'backups' };
  const named = { kind: 'type', ...at(6), type: 'backup', container: 'backups' };
  const all = (...more: object[]) =>
    messages(keyed(1, 'posts'), type(), backups, ...more).filter((text) => /backups/.test(text));
  expect(all(named)).toEqual([]);
  expect(all({ ...named, fields: [{ path: 'id' }] })[0]).toContain('backups: no place states the partition key');
});
