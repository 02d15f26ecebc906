import { describe, expect, test } from 'vitest';
import { ACCESS_RULES } from '../../../src/model/rules/j-access.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, ACCESS_RULES);

describe('J30', () => {
  test('a wildcard in a resource token', () => {
    const token = { kind: 'tenancy', field: 'sessionId', by: 'resource-token' };
    expect(annotated([], [{ ...token, wildcard: true }], ACCESS_RULES)).toMatchObject([
      { severity: 'error', message: expect.stringContaining('A resource token with a wildcard in sessionId') },
    ]);
    expect(found(token)).toEqual([]);
  });

  const route = { kind: 'tenancy', field: 'userId', from: 'route', by: 'key' };
  const token = { kind: 'tenancy', field: 'userId', from: 'token', checked: true };

  test('a user that the client names', () => {
    expect(found(route)).toEqual([
      expect.stringMatching(/userId comes from the route.*That userId is the partition key doesn’t help/),
    ]);
    expect(found({ ...route, checked: true })).toEqual([]);
    expect(found(route, token)).toEqual([]);
    expect(found({ ...route, from: 'token' })).toEqual([]);
  });

  test('a token that a request may leave out checks nothing', () => {
    const optional = { kind: 'fact', of: 'auth token of the list', property: 'required', value: false };
    expect(found(route, token, optional)).toEqual([expect.stringContaining('who may send no token at all')]);
  });

  test('who may see it is decided elsewhere', () => {
    const beside = (text: string): string[] => annotated([text], [route], ACCESS_RULES).map(({ rule }) => rule);
    expect(beside('by the existing identity model')).toEqual([]);
    expect(beside('authentication is out of scope')).toEqual([]);
    expect(beside('by the existing route')).toEqual(['J30']);
  });

  test('one value for all', () => {
    const chats = { kind: 'container', container: 'chats', key: ['/userId'] };
    const one = { kind: 'keyValue', container: 'chats', format: 'sha256(token)', distinct: 'one' };
    expect(found(token, chats, one)).toEqual([
      expect.stringContaining('userId says whose the documents of chats are, but sha256(token) gives one value'),
    ]);
    expect(found(token, chats, { ...one, distinct: 'many' })).toEqual([]);
    expect(found(chats, one)).toEqual([]);
    // A club shares its documents on purpose.
    const club = { ...chats, key: ['/clubId'] };
    expect(found({ ...token, field: 'clubId' }, club, one)).toEqual([]);
  });
});
