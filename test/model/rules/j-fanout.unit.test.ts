import { expect, test } from 'vitest';
import { FAN_OUTS } from '../../../src/model/rules/j-fanout.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 12 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const keyed = (container: string, key: string, line = 1) => ({ kind: 'container', ...at(line), container, key: [key] });
const read = (line: number, facts: object) => ({
  kind: 'access',
  ...at(line),
  name: `Read ${line}`,
  operation: 'query',
  ...facts,
});
const found = (...annotations: object[]) => annotated(LINES, annotations, FAN_OUTS);
const messages = (...annotations: object[]) => found(...annotations).map(({ rule, message }) => `${rule} ${message}`);

const users = keyed('users', '/userId');
const byMail = { container: 'users', type: 'user', equals: ['email'], unknownKey: true, returns: 'one' };

test('lookups without the key are one finding of their container, with what each asks by', () => {
  const [one, ...others] = found(
    users,
    read(2, { ...byMail, often: 'often' }),
    read(3, { ...byMail, equals: ['phone'] }),
  );
  expect(others).toEqual([]);
  expect(one).toMatchObject({ rule: 'J5', severity: 'warning', at: { line: 2 } });
  expect(one?.message).toContain(
    'users is keyed by userId, and "Read 2" (often, by email) and "Read 3" (by phone) don’t have it',
  );
  expect(one?.hint).toContain('email and phone as its id and key');
});

test('lists are told to keep a copy', () => {
  const [one] = found(
    users,
    read(2, { container: 'users', type: 'user', equals: ['plan'], unknownKey: true, returns: 'list' }),
  );
  expect(one?.hint).toBe(
    'Keep in a container of its own, under one or few keys and filled by the change feed, only the user documents and fields that these lists need.',
  );
  const [other] = found(
    users,
    read(2, { container: 'users', type: 'user', equals: ['teamId'], unknownKey: true, returns: 'list' }),
  );
  expect(other?.hint).toContain('a copy of user keyed by teamId');
});

test('a rare read, one that the text accepts, and reference data are silent', () => {
  expect(messages(users, read(2, { ...byMail, often: 'rarely' }))).toEqual([]);
  expect(messages(users, read(2, { ...byMail, says: ['all partitions'] }))).toEqual([]);
  expect(messages(users, read(2, { ...byMail, says: ['all partitions'], often: 'often' }))).toHaveLength(1);
  expect(
    messages(
      { ...keyed('countries', '/id'), purpose: 'reference' },
      read(2, { container: 'countries', unknownKey: true }),
    ),
  ).toEqual([]);
});

test('a read has the key by the field, by what it is made of, or by the id', () => {
  expect(messages(users, read(2, { container: 'users', equals: ['user_id'] }))).toEqual([]);
  const graph = [
    keyed('graph', '/partitionKey'),
    {
      kind: 'keyValue',
      ...at(2),
      container: 'graph',
      format: '{tenantId}:{projectId}',
      from: ['tenantId', 'projectId'],
    },
  ];
  expect(
    messages(...graph, read(3, { container: 'graph', equals: ['tenantId', 'projectId'], unknownKey: true })),
  ).toEqual([]);
  expect(messages(...graph, read(3, { container: 'graph', equals: ['tenantId'], unknownKey: true }))[0]).toContain(
    'partitionKey ({tenantId}:{projectId})',
  );
  // The id is the user's, so the id of a user is the key.
  expect(
    messages(
      users,
      { kind: 'id', ...at(2), type: 'user', from: ['userId'] },
      read(3, { container: 'users', type: 'user', equals: ['id'] }),
    ),
  ).toEqual([]);
  expect(
    messages(
      keyed('users', '/id'),
      read(3, { container: 'users', type: 'user', equals: ['userId'], unknownKey: true }),
    ),
  ).toEqual([]);
});

test('SQL in full shows whether it has the key; words without SQL may leave it out', () => {
  const sql = { container: 'users', sql: 'SELECT * FROM c WHERE c.plan = @plan' };
  expect(messages(users, read(2, sql))).toHaveLength(1);
  expect(messages(users, read(2, { ...sql, equals: ['userId'] }))).toEqual([]);
  expect(messages(users, read(2, { container: 'users', equals: ['plan'] }))).toEqual([]);
});

test('where two keys are stated, neither is taken for right', () => {
  expect(messages(users, keyed('users', '/id', 2), read(3, byMail))).toEqual([]);
});

test('whole lists of several containers with one key are one finding', () => {
  const [one, ...others] = messages(
    keyed('songs', '/id'),
    keyed('films', '/id', 2),
    read(3, { container: 'songs', unknownKey: true }),
    read(4, { container: 'films', unknownKey: true }),
  );
  expect(others).toEqual([]);
  expect(one).toContain('songs and films are keyed by id');
});

test('a point read without the key is an error if the text calls it one', () => {
  const [one, ...others] = found(
    keyed('venues', '/city'),
    read(2, { container: 'venues', operation: 'point-read', equals: ['id'], unknownKey: true, says: ['point read'] }),
  );
  expect(others).toEqual([]);
  expect(one).toMatchObject({ rule: 'J6', severity: 'error' });
  expect(one?.message).toContain('called point read, but venues is keyed by city');
  expect(one?.hint).toContain('Carry city beside the id');
});

test('what is said of a claim isn’t said again of the same read', () => {
  const list = { container: 'venues', unknownKey: true, name: 'List' };
  expect(messages(keyed('venues', '/city'), read(2, { ...list, says: ['efficient'] }), read(3, list))).toHaveLength(1);
});

test('a claim of one partition without a word of the key is an error, except by what a signed-in caller has', () => {
  const list = { equals: ['status'], says: ['one partition'] };
  expect(messages(keyed('venues', '/city'), read(2, { ...list, container: 'venues' }))[0]).toContain(
    'J6 "Read 2" (by status): called one partition',
  );
  expect(messages(users, read(2, { ...list, container: 'users' }))).toEqual([]);
});

test('of a key whose name says nothing, a claim of one partition is believed', () => {
  const list = { equals: ['tenantId'], says: ['one partition'], container: 'docs' };
  expect(messages(keyed('docs', '/partitionKey'), read(2, list))).toEqual([]);
  expect(messages(keyed('docs', '/partitionKey'), read(2, { ...list, unknownKey: true }))).toHaveLength(1);
});

test('a point read takes an id that the caller knows', () => {
  const cache = keyed('cache', '/kind');
  const point = read(3, {
    container: 'cache',
    type: 'entry',
    operation: 'point-read',
    equals: ['kind', 'url'],
    says: ['point read'],
  });
  // Of an id of which the text says nothing, nobody knows; a fixed one is always at hand.
  expect(messages(cache, point)).toEqual([]);
  expect(messages(cache, { kind: 'id', ...at(2), type: 'entry', constant: true }, point)).toEqual([]);
  expect(messages(cache, { kind: 'id', ...at(2), type: 'entry', from: ['url'], format: 'sha256(url)' }, point)).toEqual(
    [],
  );
  expect(messages(cache, { kind: 'id', ...at(2), type: 'entry', from: ['url', 'locale'] }, point)[0]).toContain(
    'the caller has no locale',
  );
  expect(messages(cache, { kind: 'id', ...at(2), type: 'entry', random: true }, point)[0]).toContain(
    'the id is random',
  );
});

test('a container that the text bounds, maintenance, and a check that another rule tells are silent', () => {
  const lookup = read(2, { ...byMail, often: 'often' });
  expect(
    messages(users, lookup, { kind: 'scale', ...at(3), container: 'users', documents: 200, bounded: true }),
  ).toEqual([]);
  expect(messages(users, { ...lookup, aim: 'maintenance' })).toEqual([]);
  expect(messages(users, { ...lookup, accepted: true })).toEqual([]);
  const once = { kind: 'unique', ...at(3), type: 'user', fields: ['email'], by: 'check-first' };
  expect(messages(users, { ...lookup, aim: 'guard' }, once)).toEqual([]);
  // The id keeps it, so only the cost of the read is left to tell.
  expect(messages(users, { ...lookup, aim: 'guard' }, { ...once, by: 'id' })).toHaveLength(1);
});

test('a sweep, an archive or an export goes over all, at its own pace', () => {
  const all = (name: string, facts: object = {}) =>
    messages(
      users,
      read(2, { container: 'users', type: 'user', ranges: ['doneAt'], unknownKey: true, name, aim: 'work', ...facts }),
    );
  expect(all('Sweep the completed orders')).toEqual([]);
  expect(all('Nightly export of users', { aim: undefined })).toEqual([]);
  expect(all('Sweep expired users', { operation: 'delete' })).toEqual([]);
  expect(all('Take the orders to ship')).toHaveLength(1);
  expect(all('Archived orders')).toHaveLength(1);
  expect(all('Export the orders', { aim: 'show' })).toHaveLength(1);
  expect(all('Sweep the dispatch queue', { often: 'often' })).toHaveLength(1);
  expect(all('Restore a user', { returns: 'one', equals: ['email'] })).toHaveLength(1);
});

test('that a list is efficient is only a word: beside others it is one more read without the key', () => {
  const list = read(3, { container: 'users', type: 'user', unknownKey: true, says: ['efficient'], returns: 'list' });
  expect(messages(users, list)).toEqual([expect.stringMatching(/^J6 .*called efficient/)]);
  const all = messages(users, read(2, byMail), list);
  expect(all).toEqual([expect.stringMatching(/^J5 .*"Read 2" \(by email\) and "Read 3" don’t have it/)]);
  const claim = read(4, { ...byMail, says: ['one partition'] });
  expect(messages(users, read(2, byMail), claim)).toEqual([
    expect.stringMatching(/^J5 .*"Read 2"/),
    expect.stringMatching(/^J6 .*"Read 4" \(by email\): called one partition/),
  ]);
});
