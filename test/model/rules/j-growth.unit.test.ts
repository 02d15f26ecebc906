import { describe, expect, test } from 'vitest';
import { GROWING } from '../../../src/model/rules/j-growth.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, GROWING);
const typeWith = (field: object, rest: object = {}): object => ({
  kind: 'type',
  type: 'Chat',
  container: 'chats',
  fields: [field],
  ...rest,
});
const messages = { path: 'messages', type: 'array', grows: true };

describe('J38, who reads', () => {
  const list = { kind: 'access', name: 'List the chats', operation: 'query', type: 'Chat', returns: 'list' };
  const heavy = (access: object): number =>
    found(typeWith(messages), access).filter((one) => one.startsWith('J38')).length;

  test('work, guards, accepted reads, ids that the caller has, and general methods', () => {
    expect(heavy(list)).toBe(1);
    for (const aim of ['work', 'guard', 'maintenance']) expect(heavy({ ...list, aim })).toBe(0);
    expect(heavy({ ...list, accepted: true })).toBe(0);
    expect(heavy({ ...list, name: 'Poll the open chats' })).toBe(0);
    expect(heavy({ ...list, ranges: ['id'] })).toBe(0);
    expect(heavy({ ...list, sql: 'SELECT TOP @k * FROM c' })).toBe(0);
    expect(heavy({ ...list, sql: 'SELECT * FROM c' })).toBe(1);
  });

  test('an answer of figures, and few documents', () => {
    const all = { ...list, type: 'Win', paged: false };
    const win = { kind: 'type', type: 'Win', container: 'wins' };
    expect(found(win, all)).toHaveLength(1);
    expect(found(win, { ...all, name: 'Statistics of a player' })).toEqual([]);
    expect(found(win, all, { kind: 'scale', type: 'Win', documents: 50, bounded: true })).toEqual([]);
    const each = { kind: 'scale', type: 'Win', within: ['playerId'], bounded: true };
    expect(found(win, { ...all, equals: ['playerId'] }, each)).toEqual([]);
    expect(found(win, { ...all, equals: ['level'] }, each)).toHaveLength(1);
  });
});

describe('J28', () => {
  test('a list without an end; with one, or small by its nature, nothing', () => {
    expect(found(typeWith(messages))).toEqual([expect.stringContaining('Chat.messages grows inside one document')]);
    expect(found(typeWith({ ...messages, max: 100 }))).toEqual([]);
    expect(found(typeWith({ ...messages, path: 'pets' }))).toEqual([]);
    expect(found(typeWith({ ...messages, path: 'venueIds' }))).toEqual([]);
    expect(found(typeWith({ ...messages, path: 'followerIds' }))).toHaveLength(1);
  });

  test('a document that ends before its list matters', () => {
    const id = { kind: 'id', type: 'Chat', from: ['userId', 'date'] };
    expect(found(typeWith(messages), id)).toEqual([]);
    expect(found(typeWith(messages), { ...id, from: ['userId'] })).toHaveLength(1);
    expect(found(typeWith(messages), { kind: 'scale', type: 'Chat', bytes: 1e6, bounded: true })).toEqual([]);
    expect(found(typeWith(messages), { kind: 'scale', type: 'Chat', bytes: 1e6 })).toHaveLength(1);
    expect(found(typeWith(messages, { type: 'match' }))).toEqual([]);
    expect(found(typeWith(messages, { existing: true }))).toEqual([]);
    const below = (heading: string): number =>
      annotated([heading, 'messages of a chat'], [{ ...typeWith(messages), line: 2 }], GROWING).length;
    expect(below('## Non-Goals')).toBe(0);
    expect(below('## Types')).toBe(1);
  });

  test('large content in the item', () => {
    const html = { path: 'html', large: true };
    expect(found(typeWith(html))).toEqual([
      expect.stringContaining('Chat.html in chats is large and lies in the item itself'),
    ]);
    expect(found(typeWith({ path: 'embedding', type: 'vector', large: true }))).toEqual([]);
    expect(found(typeWith({ path: 'secrets', large: true }))).toEqual([]);
    expect(
      found(typeWith({ path: 'secrets', large: true }), { kind: 'limit', limit: 'item-size', value: 2e6 }),
    ).toHaveLength(1);
    // An index may name a field that no document has.
    const example = { kind: 'example', type: 'Chat', line: 2, to: 2, words: '{ "id": "1" }' };
    expect(annotated(['a b c', '{ "id": "1" }'], [typeWith(html), example], GROWING)).toEqual([]);
  });

  test('a size that is assumed of lists', () => {
    const size = { kind: 'fact', of: 'Chat', property: 'size', value: '< 2 MB' };
    expect(found(typeWith({ path: 'parts', type: 'array' }), size)).toEqual([
      expect.stringContaining('Chat is assumed to stay below 2 MB, but parts has no limit'),
    ]);
    expect(found(typeWith({ path: 'parts', type: 'array', max: 5 }), size)).toEqual([]);
  });
});

describe('J38', () => {
  const list = { kind: 'access', name: 'List chats', operation: 'query', type: 'Chat', returns: 'list' };
  const wholes = (...all: object[]): string[] => found(...all).filter((one) => one.startsWith('J38'));

  test('a list of whole documents that grow', () => {
    expect(wholes(typeWith(messages), list)).toEqual([
      expect.stringContaining('"List chats" returns whole documents of Chat with their messages'),
    ]);
    expect(wholes(typeWith(messages), { ...list, paged: true })).toEqual([]);
    expect(wholes(typeWith(messages), { ...list, sql: 'SELECT c.id, c.title FROM c' })).toEqual([]);
    expect(wholes(typeWith(messages), { ...list, sql: 'SELECT * FROM c' })).toHaveLength(1);
    expect(wholes(typeWith(messages), { ...list, often: 'rarely' })).toEqual([]);
    expect(wholes(typeWith({ path: 'title' }), list)).toEqual([]);
  });

  test('all at once, by the text', () => {
    expect(wholes({ ...list, paged: false })).toEqual([expect.stringContaining('returns all documents at once')]);
    expect(wholes({ ...list, type: 'Category', paged: false })).toEqual([]);
  });
});
