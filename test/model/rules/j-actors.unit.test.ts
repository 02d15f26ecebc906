import { describe, expect, test } from 'vitest';
import { ACTORS } from '../../../src/model/rules/j-actors.ts';
import { said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, ACTORS);

describe('J54', () => {
  const code = { kind: 'type', type: 'LoginCode', container: 'codes', purpose: 'token' };
  const step = (operation: string, type = 'LoginCode'): object => ({ operation, type });
  const verify = { kind: 'flow', name: 'Verify', steps: [step('query'), step('delete'), step('create', 'Session')] };

  test('a code that is read and then deleted', () => {
    expect(found(code, verify)).toEqual([
      expect.stringContaining('J54 "Verify" reads a LoginCode, checks it and deletes it, with no condition'),
    ]);
    expect(found({ ...code, guard: 'etag' }, verify)).toEqual([]);
    expect(found({ ...code, purpose: 'state' }, verify)).toEqual([]);
    expect(found(code, { ...verify, steps: [step('delete'), step('create', 'Session')] })).toEqual([]);
    expect(found(code, { ...verify, together: 'batch' })).toEqual([]);
  });

  test('a decision by a token', () => {
    const approval = {
      kind: 'type',
      type: 'Approval',
      container: 'approvals',
      fields: [{ path: 'token', secret: 'unsaid', random: true }, { path: 'decision' }],
    };
    const look = {
      kind: 'access',
      name: 'Find',
      operation: 'query',
      type: 'Approval',
      equals: ['token'],
      returns: 'one',
    };
    const decide = { ...look, name: 'Decide', operation: 'update', sets: ['decision'], returns: undefined };
    expect(found(approval, look, decide)).toEqual([
      expect.stringContaining('J54 "Decide" sets decision of an Approval found by its token'),
    ]);
    expect(found(approval, look, { ...decide, guard: 'patch-condition' })).toEqual([]);
    expect(found(approval, look, { ...decide, sets: ['comment'] })).toEqual([]);
    expect(found(approval, decide)).toEqual([]);
  });
});

describe('J55', () => {
  const user = { kind: 'type', type: 'User', container: 'users', fields: [{ path: 'allergens', type: 'array' }] };
  const signIn = {
    kind: 'access',
    name: 'Create the user at sign-in',
    operation: 'upsert',
    type: 'User',
    unread: true,
  };
  const add = { kind: 'access', name: 'Add an allergen', operation: 'replace', type: 'User', sets: ['allergens'] };

  test('an upsert at sign-in over what others change', () => {
    expect(found(user, signIn, add)).toEqual([
      expect.stringMatching(/J55 "Create the user at sign-in" writes the whole User.*allergens of it is gone/),
    ]);
    expect(found(user, { ...signIn, ifAbsent: true }, add)).toEqual([]);
    expect(found(user, { ...signIn, unread: undefined }, add)).toHaveLength(1);
    expect(found(user, { ...signIn, unread: undefined, readFirst: true }, add)).toEqual([]);
    expect(found(user, { ...signIn, unread: undefined, name: 'Create the user' }, add)).toEqual([]);
    expect(found(user, { ...signIn, operation: 'create' }, add)).toEqual([]);
    expect(found(user, signIn)).toEqual([]);
    expect(found(user, { ...signIn, name: 'Save the form' }, add)).toEqual([]);
  });
});

describe('J56', () => {
  const watch = { kind: 'type', type: 'Watch', container: 'watches', fields: [{ path: 'status' }] };
  const cancel = { kind: 'access', name: 'Cancel', operation: 'patch', type: 'Watch', sets: ['status'], by: 'API' };
  const found2 = { ...cancel, name: 'Set found', by: 'poller' };

  test('two programs that set one status', () => {
    expect(found(watch, cancel, found2)).toEqual([
      expect.stringContaining('J56 API and poller set Watch.status ("Cancel" and "Set found")'),
    ]);
    expect(found(watch, cancel, { ...found2, by: 'API' })).toEqual([]);
    expect(found(watch, cancel, { ...found2, sets: ['price'] })).toEqual([]);
    expect(found(watch, { ...cancel, by: 'user' }, { ...found2, by: 'admin' })).toEqual([]);
    expect(found(watch, cancel, { ...found2, guard: 'patch-condition' })).toEqual([]);
    expect(found({ ...watch, guard: 'etag' }, cancel, found2)).toEqual([]);
  });
});

describe('J59', () => {
  const one = { kind: 'type', type: 'Diagnostics', container: 'app', purpose: 'log' };
  const id = { kind: 'id', type: 'Diagnostics', constant: true };
  const write = { kind: 'access', name: 'Save', operation: 'update', type: 'Diagnostics', often: 'often' };

  test('one document that each request writes', () => {
    expect(found(one, id, write)).toEqual([expect.stringContaining('J59 There is one Diagnostics for all')]);
    expect(found(one, id, { ...write, often: 'rarely' })).toEqual([]);
    expect(found(one, { ...id, constant: undefined, random: true }, write)).toEqual([]);
    const spread = { kind: 'keyValue', container: 'app', type: 'Diagnostics', from: ['userId'] };
    expect(found(one, id, write, spread)).toEqual([]);
    expect(found({ ...one, purpose: 'lease' }, id, write)).toEqual([]);
  });
});

describe('J55, ids of the time', () => {
  test('a run writes another document each time', () => {
    const run = { kind: 'type', type: 'Run', container: 'runs', fields: [{ path: 'failed', type: 'array' }] };
    const create = { kind: 'access', name: 'Create a run', operation: 'upsert', type: 'Run', unread: true };
    const update = { kind: 'access', name: 'Update', operation: 'patch', type: 'Run', sets: ['failed'] };
    expect(found(run, create, update)).toEqual([expect.stringContaining('as after a repeated request')]);
    expect(found(run, create, update, { kind: 'id', type: 'Run', from: ['timestamp'] })).toEqual([]);
    expect(found(run, create, update, { kind: 'id', type: 'Run', from: ['day'] })).toHaveLength(1);
  });
});
