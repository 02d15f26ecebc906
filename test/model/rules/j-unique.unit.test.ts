import { describe, expect, test } from 'vitest';
import { UNIQUE_VALUES } from '../../../src/model/rules/j-unique.ts';
import { annotated, said } from './annotated.ts';

const users = { kind: 'container', container: 'users', key: ['/userId'] };
const user = { kind: 'type', type: 'User', container: 'users' };
const email = { kind: 'unique', type: 'User', fields: ['email'] };
const found = (...all: object[]): string[] => said(all, UNIQUE_VALUES);

describe('J20', () => {
  test('an e-mail that nothing keeps, and two fields of one type in one finding', () => {
    const findings = annotated([], [users, user, email, { ...email, fields: ['userName'] }], UNIQUE_VALUES);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ at: { line: 3 }, related: [{ line: 4 }, { line: 1 }], severity: 'warning' });
    expect(findings[0]?.message).toContain('Nothing keeps User.email and User.userName unique');
    expect(findings[0]?.message).toContain('users has the key /userId, so a unique key there holds only for one value');
    expect(findings[0]?.hint).toContain('for each of these fields');
    expect(annotated([], [users, user, email], UNIQUE_VALUES)[0]?.hint).toContain('id is made of email');
  });

  test('a unique key holds in one partition', () => {
    const key = { kind: 'container', container: 'users', uniqueKeys: [['email']] };
    expect(found(users, user, { ...email, by: 'unique-key' }, key)).toEqual([
      expect.stringContaining('Under another value the same email is stored again'),
    ]);
    expect(found(users, user, { ...email, within: ['userId'], by: 'unique-key' }, key)).toEqual([]);
    expect(found({ ...users, key: ['/email'] }, user, { ...email, by: 'unique-key' })).toEqual([]);
  });

  test('the key is made of the scope', () => {
    const pk = [{ ...users, key: ['/pk'] }, user, { ...email, within: ['tenantId'], by: 'unique-key' }];
    expect(found(...pk)).toHaveLength(1);
    expect(found(...pk, { kind: 'keyValue', container: 'users', from: ['tenantId'] })).toEqual([]);
    expect(found(...pk, { kind: 'keyValue', container: 'users', distinct: 'one' })).toEqual([]);
  });

  test('an id that is made of the value, as a place or every example says', () => {
    const byId = { ...users, key: ['/id'] };
    expect(found(byId, user, email)).toHaveLength(1);
    expect(found(byId, user, email, { kind: 'id', type: 'User', from: ['email'] })).toEqual([]);
    expect(found(byId, user, email, { kind: 'id', type: 'User', random: true })).toHaveLength(1);
    const example = { kind: 'example', type: 'User', line: 4, to: 4, words: '"email": "a@b.com"' };
    const lines = ['a b c', 'd e f', 'g h i', '{ "id": "a@b.com", "email": "a@b.com" }'];
    expect(annotated(lines, [byId, user, email, example], UNIQUE_VALUES)).toEqual([]);
    expect(
      annotated([...lines.slice(0, 3), '{ "id": "u1", "email": "a@b.com" }'], [byId, user, email, example]),
    ).toHaveLength(1);
  });

  test('an id that is said to keep it, and has more or is by chance', () => {
    const vote = { kind: 'unique', type: 'Vote', fields: ['userId', 'postId'], by: 'id' };
    expect(found(vote)).toEqual([]);
    expect(found(vote, { kind: 'id', type: 'Vote', from: ['userId', 'postId', 'votedAt'] })).toEqual([
      expect.stringContaining('the id also has votedAt'),
    ]);
    expect(found(vote, { kind: 'id', type: 'Vote', random: true })).toEqual([
      expect.stringContaining('the id is a value by chance'),
    ]);
    expect(found(vote, { kind: 'id', type: 'Vote', from: ['userId', 'postId'] })).toEqual([]);
  });

  test('a query before the write and an index are no guard; a reservation is one', () => {
    expect(found(users, user, { ...email, by: 'check-first' })).toEqual([
      expect.stringContaining('two requests at the same time both find nothing'),
    ]);
    expect(found(users, user, { ...email, by: 'index' })).toEqual([expect.stringContaining('an index doesn’t refuse')]);
    expect(found(users, user, { ...email, by: 'check-first' }, { ...email, by: 'reservation' })).toEqual([]);
  });

  test('an upsert finds what was there by its id, unless a read must search', () => {
    const upsert = { kind: 'access', name: 'Save', operation: 'upsert', type: 'User' };
    const search = {
      kind: 'access',
      name: 'Sign in',
      operation: 'query',
      type: 'User',
      equals: ['Email'],
      unknownKey: true,
    };
    expect(found(user, email, upsert)).toEqual([]);
    expect(found(user, email, upsert, search)).toHaveLength(1);
    expect(found(user, email, { ...upsert, operation: 'create' })).toHaveLength(1);
    expect(found({ ...user, purpose: 'cache' }, email)).toEqual([]);
  });

  test('writes that one document serializes, and what isn’t designed here', () => {
    const other = { kind: 'type', type: 'Team', container: 'users' };
    const serialized = { kind: 'unique', type: 'Team', fields: ['name'], by: 'serialized' };
    expect(found(users, user, other, email, serialized)).toEqual([]);
    expect(found(users, user, { ...other, container: 'teams' }, email, serialized)).toHaveLength(1);
    expect(found(users, { ...user, existing: true }, email)).toEqual([]);
    // A message that is only sent.
    expect(found(users, user, { kind: 'container', container: 'b' }, { ...email, type: 'SMS' })).toEqual([]);
  });

  test('tokens, and what is compared with the last one', () => {
    expect(found(users, user, { ...email, fields: ['callbackToken'] })).toEqual([]);
    const chance = { ...user, fields: [{ path: 'code', random: true }] };
    expect(found(users, chance, { ...email, fields: ['code'], by: 'check-first' })).toEqual([]);
    const last = annotated(
      ['users by id', 'a user', 'differs from the last match'],
      [users, user, email],
      UNIQUE_VALUES,
    );
    expect(last).toEqual([]);
  });

  test('causes of one type in one finding, and an upsert that is to replace', () => {
    const [both, more] = annotated(
      [],
      [users, user, email, { ...email, fields: ['userName'], by: 'check-first' }],
      UNIQUE_VALUES,
    );
    expect(both?.message).toMatch(/of email, neither the id.*; of userName, a query before the write/);
    expect(more).toBeUndefined();
    const byMail = { ...users, key: ['/email'] };
    const upsert = { kind: 'access', name: 'Request', operation: 'upsert', type: 'User' };
    const random = { kind: 'id', type: 'User', random: true };
    const [replaced] = annotated([], [byMail, user, email, random, upsert], UNIQUE_VALUES);
    expect(replaced?.hint).toContain('then an upsert replaces the document of before');
  });

  test('a kind in the id tells nothing apart, and an id of another document is fixed there', () => {
    const id = { kind: 'id', type: 'User', from: ['type', 'email'] };
    expect(found({ ...users, key: ['/email'] }, user, { ...email, by: 'id' }, id)).toEqual([]);
    const game = { kind: 'type', type: 'Game', container: 'games' };
    const byGame = { ...email, fields: ['gameId'], by: 'id' };
    const gameId = { ...id, from: ['gameId'] };
    const look = {
      kind: 'access',
      name: 'Find',
      operation: 'query',
      type: 'User',
      equals: ['gameId'],
      unknownKey: true,
    };
    expect(found(users, user, byGame, gameId, look)).toHaveLength(1);
    expect(found(users, user, game, byGame, gameId, look)).toEqual([]);
  });

  test('a value that somebody else keeps, a copy, and an id that is made anew with the document', () => {
    const beside = (text: string): string[] =>
      annotated([text], [email, users, user], UNIQUE_VALUES).map(({ rule }) => rule);
    expect(beside('unique by the catalogue team’s care')).toEqual([]);
    expect(beside('numbers are assigned by the supplier')).toEqual([]);
    expect(beside('checked by the service with care')).toEqual(['J20']);
    const card = { kind: 'derived', what: 'cards', form: 'copy', type: 'User', of: 'Person', keptBy: 'change-feed' };
    const person = { kind: 'type', type: 'Person', fields: [{ path: 'email' }] };
    expect(found(users, user, email, card, person)).toEqual([]);
    expect(found(users, user, email, card)).toHaveLength(1);
    expect(found(users, user, email, { ...card, keptBy: undefined }, person)).toHaveLength(1);
    const login = { ...user, fields: [{ path: 'loginId', refersTo: 'Login' }] };
    const steps = ['Login', 'User'].map((type) => ({ operation: 'create', type }));
    const byLogin = { ...email, fields: ['loginId'] };
    expect(found(users, login, byLogin, { kind: 'flow', name: 'Register', steps })).toEqual([]);
    expect(found(users, login, byLogin)).toHaveLength(1);
  });

  test('a value that is made of the key', () => {
    const tasks = { kind: 'container', container: 'tasks', key: ['/jobId'] };
    const task = { kind: 'type', type: 'Task', container: 'tasks' };
    const once = { kind: 'unique', type: 'Task', fields: ['onceKey'] };
    const hints = (text: string): unknown[] =>
      annotated([text], [once, tasks, task], UNIQUE_VALUES).map(({ hint }) => hint);
    expect(hints('each task has `onceKey = jobId:chapterId`')).toEqual([
      expect.stringContaining('a unique key on /onceKey'),
    ]);
    expect(hints('each task has `onceKey = chapterId:part`')).toEqual([
      expect.stringContaining('in a container with the key /id'),
    ]);
  });

  test('identifiers and values by chance need nothing', () => {
    expect(found({ kind: 'unique', type: 'Job', fields: ['job_id'] })).toEqual([]);
    expect(found({ kind: 'unique', type: 'Job', fields: ['id'] })).toEqual([]);
    expect(found({ kind: 'unique', type: 'ChatDocument', fields: ['sessionId'] })).toEqual([]);
    expect(found({ kind: 'unique', type: 'Step', fields: ['stepNumber'], within: ['planId'] })).toEqual([]);
    const invoice = { kind: 'type', type: 'Invoice', fields: [{ path: 'invoiceNumber' }] };
    expect(found(invoice, { kind: 'unique', type: 'Invoice', fields: ['invoiceNumber'] })).toHaveLength(1);
    expect(
      found(
        { kind: 'unique', type: 'Job', fields: ['token'] },
        { kind: 'fact', of: 'token', property: 'form', value: 'UUID' },
      ),
    ).toEqual([]);
  });
});

describe('J20, remedies and what is none', () => {
  const hint = (...all: object[]): string => annotated([], all, UNIQUE_VALUES)[0]?.hint ?? '';
  const node = { kind: 'container', container: 'nodes', key: ['/environment'] };
  const type = {
    kind: 'type',
    type: 'Node',
    container: 'nodes',
    fields: [{ path: 'name' }, { path: 'code' }, { path: 'parentId' }, { path: 'isActive', type: 'boolean' }],
  };
  const once = {
    kind: 'unique',
    type: 'Node',
    fields: ['name'],
    within: ['environment', 'parentId'],
    by: 'check-first',
  };

  test('a unique key has the scope without the partition key, and names that people enter make no id', () => {
    expect(hint(node, type, once)).toBe(
      'Give nodes a unique key on /parentId,/name when it is created; the id can stay as it is.',
    );
    expect(hint(node, type, { ...once, fields: ['code'] })).toMatch(
      /^Make the id of Node from environment, parentId, code .* a unique key on \/parentId,\/code when/,
    );
    expect(hint({ ...node, key: ['/region'] }, type, once)).toContain('made of a hash of environment, parentId, name');
  });

  test('a boolean is named by a document with a fixed id', () => {
    const active = hint(node, type, { ...once, fields: ['isActive'] });
    expect(active).toContain('in a document with a fixed id for each environment, parentId');
    expect(active).toContain('No unique key on /isActive');
    expect(active).not.toContain('Give nodes');
  });

  test('an e-mail of an identity provider, unless it is looked up', () => {
    const account = { kind: 'type', type: 'Admin', container: 'admins', fields: [{ path: 'email' }] };
    const by = { kind: 'unique', type: 'Admin', fields: ['email'] };
    const uid = { kind: 'id', type: 'Admin', from: ['adminId'], format: 'Firebase uid' };
    expect(found(account, by, { ...uid, format: 'uid' })).toHaveLength(1);
    expect(found(account, by, uid)).toEqual([]);
    const read = { kind: 'access', name: 'Find', operation: 'query', type: 'Admin', equals: ['email'] };
    expect(found(account, by, uid, read)).toHaveLength(1);
  });

  test('a rhythm is no demand, and a slug is made of its name', () => {
    const briefing = { kind: 'type', type: 'Briefing', container: 'briefings', fields: [{ path: 'date' }] };
    const of = (words: string): string[] =>
      annotated(
        [words],
        [
          { kind: 'unique', type: 'Briefing', fields: ['date'] },
          { ...briefing, line: 2 },
        ].map((one, index) => ({ line: index + 1, ...one })),
        UNIQUE_VALUES,
      ).map(({ rule }) => rule);
    expect(of('a daily briefing')).toEqual([]);
    expect(of('one daily briefing')).toEqual(['J20']);
    const named = { kind: 'unique', type: 'Node', fields: ['team_name'] };
    const byTeam = { ...node, key: ['/id'] };
    expect(found(byTeam, type, named, { kind: 'id', type: 'Node', from: ['team_slug'] })).toEqual([]);
    expect(found(byTeam, type, named, { kind: 'id', type: 'Node', from: ['country_slug'] })).toHaveLength(1);
  });
});
