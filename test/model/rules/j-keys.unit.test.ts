import { expect, test } from 'vitest';
import { STATED_KEYS } from '../../../src/model/rules/j-keys.ts';
import { annotated } from './annotated.ts';

const LINES = ['Posts has the key /userId.', 'Create Posts with /id.', 'The log: Posts, /id', 'Users has the key /id.'];
const posts = (line: number, key: string) => ({
  kind: 'container',
  line,
  words: LINES[line - 1],
  container: 'Posts',
  key: [key],
});

test('two keys of a container are named with their lines, the rarer place first', () => {
  const [found, ...others] = annotated(LINES, [posts(1, '/userId'), posts(2, '/id'), posts(3, '/id')], STATED_KEYS);
  expect(others).toEqual([]);
  expect(found?.message).toMatch(/^Posts: the partition key is \/id \(lines 2 and 3\) and \/userId \(line 1\)\./);
  expect(found?.at.line).toBe(1);
  expect(found?.related?.map(({ line }) => line)).toEqual([2, 3]);
});

test('keys that differ only in letters are said to', () => {
  const [found] = annotated(LINES, [posts(1, '/userId'), posts(2, '/UserId')], STATED_KEYS);
  expect(found?.message).toContain('case-sensitive');
});

test('a hierarchical key in one path is a property within another', () => {
  const lines = ['Posts has the key /userId/postId (hierarchical).', 'Posts has the keys /userId and /postId.'];
  const stated = (line: number) => ({
    kind: 'container',
    line,
    words: lines[line - 1],
    container: 'Posts',
    key: ['/userId', '/postId'],
  });
  const [found] = annotated(lines, [stated(1)], STATED_KEYS);
  expect(found?.message).toContain('/userId/postId is one path, of a property within userId');
  expect(found?.hint).toContain('[/userId, /postId]');
  expect(annotated(lines, [stated(2)], STATED_KEYS)).toEqual([]);
});

test('one key in several places, and keys of two containers, are fine', () => {
  const users = { kind: 'container', line: 4, words: 'Users has the key /id', container: 'Users', key: ['/id'] };
  expect(annotated(LINES, [posts(1, '/userId'), posts(2, '/userId'), users], STATED_KEYS)).toEqual([]);
});

test('the key in other letters is named in queries and literal declarations', () => {
  const lines = ['Posts has the key /userId.', 'userid: str', 'SELECT * FROM c WHERE c.userid = @id'];
  const type = (line: number, path: string) => ({
    kind: 'type',
    line,
    type: 'post',
    container: 'Posts',
    fields: [{ path }],
  });
  const read = (field: string) => ({
    kind: 'access',
    line: 3,
    name: 'Read',
    operation: 'query',
    container: 'Posts',
    sql: `SELECT * FROM c WHERE c.${field} = @id`,
  });
  const all = (...annotations: object[]) =>
    annotated(lines, [{ ...posts(1, '/userId'), words: lines[0] }, ...annotations], STATED_KEYS);
  expect(all(read('userid'))[0]?.message).toContain('line 3 has userid');
  expect(all(read('userId'))).toEqual([]);
  expect(all(type(1, 'userId'), type(2, 'userid'))[0]?.message).toContain('line 2 has userid');
  expect(all(type(1, 'userId'), { ...type(1, 'UserId'), words: 'Posts' })).toEqual([]);
});
