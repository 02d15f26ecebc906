import { describe, expect, test } from 'vitest';
import { WRITERS } from '../../../src/model/rules/j-writers.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, WRITERS);

describe('J29', () => {
  const append = {
    kind: 'access',
    name: 'Append a post',
    operation: 'upsert',
    type: 'Tag',
    sets: ['topPosts'],
    readFirst: true,
  };

  test('a write of what was read; a guard at any place makes it silent', () => {
    expect(found(append)).toEqual([
      expect.stringMatching(/^J29 "Append a post" of Tag reads a document.*no ETag.*\(topPosts\)/),
    ]);
    expect(found(append, { ...append, guard: 'etag' })).toEqual([]);
    expect(found(append, { kind: 'type', type: 'Tag', guard: 'etag' })).toEqual([]);
    expect(found({ ...append, operation: 'patch' })).toEqual([]);
    expect(found({ ...append, readFirst: undefined })).toEqual([]);
  });

  test('a creation, a single user, and writes that one document serializes', () => {
    expect(found({ ...append, ifAbsent: true })).toEqual([]);
    expect(found({ ...append, unread: true })).toEqual([]);
    expect(found({ ...append, sets: undefined })).toEqual([]);
    expect(found({ ...append, sets: undefined }, { ...append, name: 'Hide', operation: 'patch' })).toHaveLength(1);
    for (const aim of ['guard', 'maintenance']) expect(found({ ...append, aim })).toEqual([]);
    expect(found(append, { kind: 'scale', users: 1 })).toEqual([]);
    expect(found(append, { kind: 'unique', type: 'Tag', fields: ['name'], by: 'serialized' })).toEqual([]);
  });

  test('a soft delete with a ttl loses nothing that stays', () => {
    const mark = { kind: 'deletion', type: 'Tag', way: 'soft', field: 'deletedAt' };
    const withdraw = { ...append, name: 'Withdraw', operation: 'replace', sets: ['deletedAt', 'ttl'] };
    expect(found(withdraw)).toHaveLength(1);
    expect(found(withdraw, mark)).toEqual([]);
    expect(found({ ...withdraw, sets: ['deletedAt'] }, mark)).toHaveLength(1);
    expect(found({ ...withdraw, sets: ['topPosts', 'ttl'] }, mark)).toHaveLength(1);
    expect(found(withdraw, { ...mark, restorable: true })).toHaveLength(1);
    expect(found(withdraw, append, mark)).toEqual([expect.stringMatching(/^J29 "Append a post" of Tag reads/)]);
  });

  test('a state is patched with a condition', () => {
    const [state] = annotated([], [{ ...append, sets: ['status'] }], WRITERS);
    expect(state?.hint).toContain('patch with a condition on the status');
    expect(annotated([], [append], WRITERS)[0]?.hint).toContain('patch only topPosts');
  });

  test('a count before one of the last is removed', () => {
    const check = {
      kind: 'access',
      name: 'Check for the last admin',
      operation: 'query',
      type: 'User',
      returns: 'count',
      aim: 'guard',
    };
    expect(found(check)).toEqual([expect.stringContaining('both count the other one, both go on, and none is left')]);
    expect(found({ ...check, name: 'Check the name' })).toEqual([]);
    expect(found({ ...check, aim: 'show' })).toEqual([]);
    expect(found({ ...check, guard: 'batch' })).toEqual([]);
  });

  test('writes of several types are one finding', () => {
    expect(found(append, { ...append, name: 'Hide a post', type: 'Post' })).toEqual([
      expect.stringContaining('"Append a post" of Tag, "Hide a post" of Post read a document'),
    ]);
  });

  test('a whole document with a list in it', () => {
    const cart = { kind: 'type', type: 'Cart', fields: [{ path: 'items[].sku' }] };
    const update = { kind: 'access', name: 'Update the cart', operation: 'upsert', type: 'Cart' };
    expect(found(cart, update)).toEqual([
      expect.stringContaining(
        '"Update the cart" of Cart writes a whole document with its lists over the one that is there',
      ),
    ]);
    expect(found({ ...cart, purpose: 'view' }, update)).toEqual([]);
    expect(found(cart, { ...update, sets: ['couponCode'] })).toEqual([]);
    expect(found(cart, { ...update, sets: ['items'] })).toHaveLength(1);
    expect(found({ ...cart, fields: [{ path: 'pets', type: 'array' }] }, update)).toEqual([]);
  });

  const values = ['PENDING', 'IN-PROGRESS', 'DONE'];
  const app = { kind: 'type', type: 'App', fields: [{ path: 'status', values }] };
  const next = { kind: 'access', name: 'Find pending apps', operation: 'query', type: 'App', equals: ['status'] };

  test('work that two workers find', () => {
    expect(found(app, next)).toEqual([
      expect.stringContaining(
        '"Find pending apps" finds App by status = PENDING, and nothing says how one worker takes it',
      ),
    ]);
    const take = { kind: 'access', name: 'Take', operation: 'patch', type: 'App', guard: 'patch-condition' };
    expect(found(app, next, take)).toEqual([]);
    expect(found(app, next, { kind: 'type', type: 'App', fields: [{ path: 'leasedBy' }] })).toEqual([]);
  });

  test('a list of orders by state is no work', () => {
    expect(found(app, { ...next, name: 'List apps by status' })).toEqual([]);
    const states = { kind: 'type', type: 'App', fields: [{ path: 'status', values: ['pending', 'paid'] }] };
    expect(found(states, next)).toEqual([]);
  });
});

describe('J29, abandoned work', () => {
  const values = ['queued', 'processing', 'done'];
  const job = { kind: 'type', type: 'Job', purpose: 'job', fields: [{ path: 'status', values }] };
  const claim = { kind: 'access', name: 'Claim', operation: 'patch', type: 'Job', guard: 'patch-condition' };

  test('a worker that dies', () => {
    expect(found(job, claim)).toEqual([expect.stringContaining('A Job whose worker dies stays processing for ever')]);
    expect(found(job, { ...claim, guard: 'lease' })).toEqual([]);
    expect(found({ ...job, fields: [...job.fields, { path: 'leaseUntil' }] }, claim)).toEqual([]);
    expect(found(job, claim, { ...claim, name: 'Reset stuck jobs' })).toEqual([]);
    expect(found(job, claim, { kind: 'fact', of: 'queue', property: 'name', value: 'jobs' })).toEqual([]);
    expect(found({ ...job, purpose: 'state' }, claim)).toEqual([]);
  });
});

describe('J29, caps', () => {
  const files = { kind: 'quota', what: 'files of a user', type: 'File', max: 50, by: 'count-first' };

  test('a cap that is counted first', () => {
    expect(found(files)).toEqual([
      expect.stringContaining('A count before the write doesn’t keep the cap on files of a user (50)'),
    ]);
    expect(found({ ...files, by: undefined })).toEqual([expect.stringContaining('Nothing is said to keep the cap')]);
    for (const by of ['reservation', 'etag', 'batch', 'patch-condition']) expect(found({ ...files, by })).toEqual([]);
    expect(found(files, { ...files, by: 'etag' })).toEqual([]);
    expect(found({ ...files, what: 'requests a minute', by: undefined, type: undefined })).toEqual([]);
  });

  test('a counter with a guard', () => {
    const counter = { ...files, by: 'counter' };
    expect(found(counter)).toHaveLength(1);
    const raise = { kind: 'access', name: 'Raise', operation: 'patch', type: 'File', guard: 'patch-condition' };
    expect(found(counter, raise)).toEqual([]);
  });
});

describe('J39', () => {
  test('a number that a process hands out, and one whose source is named', () => {
    const entry = { kind: 'type', type: 'Entry', container: 'log', fields: [{ path: 'sequence', type: 'number' }] };
    const once = { kind: 'unique', type: 'Entry', fields: ['sequence'] };
    const messages = (...lines: string[]): string[] =>
      annotated(lines, [entry, once], WRITERS).map(({ message }) => message);
    expect(messages('an entry', 'sequence by Interlocked.Increment')).toEqual([
      expect.stringContaining('Entry.sequence is counted in the memory of a process'),
    ]);
    expect(messages('an entry', 'sequence of a counter document')).toEqual([]);
    expect(messages('an entry', 'sequence is there once')).toEqual([
      expect.stringContaining('nothing says what hands out the next one'),
    ]);
  });

  const number = { kind: 'unique', type: 'Entry', fields: ['usn'] };

  test('a number that is counted up', () => {
    expect(found(number)).toEqual([expect.stringContaining('J39 Entry.usn is a number that is counted up')]);
    expect(found(number, { kind: 'fact', of: 'regions', property: 'writes', value: 'multi-region' })).toEqual([
      expect.stringContaining('with writes in several regions no counter can be shared'),
    ]);
    const save = { kind: 'access', name: 'Save', operation: 'upsert', type: 'Entry', sets: ['usn'] };
    expect(found(number, { ...save, guard: 'etag' })).toEqual([]);
    expect(found({ ...number, by: 'unique-key' })).toEqual([]);
    expect(found({ ...number, fields: ['stepNumber'] })).toEqual([]);
    const phone = { kind: 'type', type: 'Entry', fields: [{ path: 'phoneNumber', type: 'number' }] };
    expect(found(phone, { ...number, fields: ['phoneNumber'] })).toEqual([]);
  });

  test('ids such as "1", if the text says that they are counted up', () => {
    const id = { kind: 'id', type: 'Player', format: '1' };
    const player = { kind: 'type', type: 'Player' };
    const numbered = (text: string, ...all: object[]): string[] =>
      annotated([text], all, WRITERS).map(({ message }) => message);
    expect(numbered('the next number', player, id)).toEqual([
      expect.stringContaining('Player.id is a number that is counted up'),
    ]);
    expect(numbered('| id | INTEGER AUTOINCREMENT |', log, player, id)).toHaveLength(1);
    expect(numbered('a player', player, id)).toEqual([]);
    expect(numbered('the sequential number in the file', player, id)).toEqual([]);
    expect(numbered('the next number', player, { ...id, random: true })).toEqual([]);
    expect(numbered('the next number', player, { ...id, from: ['region', 'name'] })).toEqual([]);
    expect(numbered('the next number', player, { ...id, format: 'player-1' })).toEqual([]);
  });
});

const log = { kind: 'type', type: 'Log' };

describe('J29, two checks that meet', () => {
  const node = { kind: 'type', type: 'Node', container: 'nodes', fields: [{ path: 'parentId' }] };
  const check = { kind: 'access', operation: 'query', type: 'Node', aim: 'guard' };
  const parent = { ...check, name: 'Check that the parent exists', equals: ['id'] };
  const children = { ...check, name: 'Check that it has no children', equals: ['parentId'] };
  const remove = { kind: 'access', name: 'Delete', operation: 'delete', type: 'Node' };

  test('a parent that is deleted while a child is created', () => {
    expect(found(node, parent, children, remove)).toEqual([expect.stringContaining('are asked before the write')]);
    expect(found(node, parent, children)).toEqual([]);
    expect(found(node, parent, remove)).toEqual([]);
    expect(
      found(node, parent, children, remove, { kind: 'deletion', type: 'Node', way: 'soft', field: 'gone' }),
    ).toEqual([]);
    expect(found(node, parent, { ...children, guard: 'batch' }, remove)).toEqual([]);
    expect(found({ ...node, purpose: 'log' }, parent, children, remove)).toEqual([]);
  });

  test('a method that updates by an upsert is no creation', () => {
    const update = { kind: 'access', name: 'Update a run', operation: 'upsert', type: 'Run', readFirst: true };
    expect(found(update)).toHaveLength(1);
    expect(found({ ...update, name: 'Save a run' })).toEqual([]);
  });
});
