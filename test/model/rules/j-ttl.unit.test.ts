import { describe, expect, test } from 'vitest';
import { TTLS } from '../../../src/model/rules/j-ttl.ts';
import { said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, TTLS);
const logs = { kind: 'container', container: 'logs', key: ['/tenantId'] };
const log = { kind: 'type', type: 'Log', container: 'logs', purpose: 'log' };

describe('J22', () => {
  test('a TTL on reference data, and on state beside logs', () => {
    const ttl = { ...logs, ttl: 86_400 };
    expect(found(ttl, { ...log, purpose: 'reference' })).toEqual([
      expect.stringContaining('removes Log in logs after 24 hours, and the document calls it reference data'),
    ]);
    const state = { kind: 'type', type: 'Setting', container: 'logs', purpose: 'state' };
    expect(found(ttl, log, state)).toEqual([expect.stringContaining('beside Log it removes Setting')]);
    expect(found(ttl, log, state, { kind: 'retention', type: 'Setting', seconds: 86_400 })).toEqual([]);
    expect(found(ttl, log)).toEqual([]);
  });

  test('a TTL of elements', () => {
    const chat = { kind: 'type', type: 'Chat', container: 'chats', fields: [{ path: 'messages', type: 'array' }] };
    const message = { kind: 'type', type: 'ChatMessage', purpose: 'message' };
    const ttl = { kind: 'retention', type: 'ChatMessage', by: 'ttl' };
    expect(found(chat, message, ttl)).toEqual([
      expect.stringContaining('they are elements of messages inside Chat, and a TTL removes whole documents'),
    ]);
    expect(found(chat, { ...message, container: 'messages' }, ttl)).toEqual([]);
    expect(found(chat, message, { ...ttl, by: 'job' })).toEqual([]);
  });

  test('a time from the creation, and a change', () => {
    const kept = { kind: 'retention', type: 'Log', by: 'ttl', from: 'creation', seconds: 604_800 };
    const change = { kind: 'access', name: 'Sync a log', operation: 'upsert', type: 'Log' };
    expect(found(log, kept, change)).toEqual([expect.stringContaining('"Sync a log" starts the 7 days again')]);
    expect(found(log, kept, { ...change, operation: 'create' })).toEqual([]);
    expect(found(log, { ...kept, from: 'last-write' }, change)).toEqual([]);
    expect(found(log, { ...kept, by: 'job' }, change)).toEqual([]);
  });

  test('a record of the past that is changed later', () => {
    const kept = { kind: 'retention', type: 'Log', by: 'ttl', seconds: 604_800 };
    const change = { kind: 'access', name: 'Override', operation: 'patch', type: 'Log' };
    expect(found(log, kept, change)).toEqual([expect.stringContaining('"Override" changes it later')]);
    expect(found({ ...log, purpose: 'session' }, kept, change)).toEqual([]);
    expect(found(log, kept, { ...change, operation: 'create' })).toEqual([]);
    expect(found(log, kept, { ...change, name: 'Write a log', operation: 'update' })).toEqual([]);
  });

  test('work that goes before it is done', () => {
    const review = {
      kind: 'type',
      type: 'Review',
      container: 'reviews',
      purpose: 'job',
      fields: [{ path: 'state', values: ['pending', 'done'] }],
    };
    const ttl = { kind: 'container', container: 'reviews', ttl: 2_592_000 };
    expect(found(review, ttl)).toEqual([expect.stringContaining('one that is still pending disappears')]);
    expect(found({ ...review, purpose: 'token', type: 'Invite' }, ttl)).toEqual([]);
    expect(found({ ...review, fields: [{ path: 'state', values: ['on', 'off'] }] }, ttl)).toEqual([]);
  });

  test('a time after which nothing removes them', () => {
    const kept = { kind: 'retention', type: 'Log', seconds: 2_592_000 };
    expect(found(logs, log, kept)).toEqual([expect.stringContaining('Log after 30 days: the document says how long')]);
    expect(found(logs, log, kept, { kind: 'retention', type: 'Log', by: 'job' })).toEqual([]);
    expect(found({ ...logs, ttl: 'item' }, log, kept)).toEqual([]);
  });

  test('ttl in documents of a container without one', () => {
    const withTtl = { ...log, fields: [{ path: 'ttl', type: 'number' }] };
    expect(found(logs, withTtl)).toEqual([expect.stringContaining('`ttl` of Log has no effect')]);
    expect(found({ ...logs, ttl: 'item' }, withTtl)).toEqual([]);
  });

  test('a TTL that a soft delete sets is for the deleted', () => {
    const archive = { kind: 'retention', type: 'Log', by: 'archive', seconds: 864_000 };
    const ttl = { kind: 'retention', type: 'Log', by: 'ttl', seconds: 86_400 };
    const mark = { kind: 'deletion', type: 'Log', way: 'soft', field: 'deletedAt' };
    expect(found(logs, log, archive, ttl)).toHaveLength(1);
    expect(found(logs, log, archive, ttl, { ...mark, line: 4 })).toEqual([]);
    expect(found(logs, log, archive, { ...ttl, line: 6 }, ttl, { ...mark, line: 5 })).toEqual([]);
    // A mark elsewhere, of another type or another time.
    expect(found(logs, log, archive, ttl, mark)).toHaveLength(1);
    expect(found(logs, log, archive, ttl, { ...mark, type: 'Note', line: 4 })).toHaveLength(1);
    expect(found(logs, log, archive, ttl, { ...ttl, seconds: 9, line: 4 }, { ...mark, line: 6 })).toHaveLength(1);
  });

  test('a TTL before the archive', () => {
    const archive = { kind: 'retention', type: 'Log', by: 'archive', seconds: 864_000 };
    expect(found({ ...logs, ttl: 86_400 }, log, archive)).toEqual([expect.stringContaining('before the archive')]);
    expect(found({ ...logs, ttl: 999_999 }, log, archive)).toEqual([]);
  });
});

describe('J22, what is added to a record', () => {
  test('a score, and another value', () => {
    const ttl = { ...logs, ttl: 31_536_000 };
    const change = { kind: 'access', name: 'Correct', operation: 'patch', type: 'Log', sets: ['text'] };
    expect(found(ttl, log, change)).toEqual([expect.stringContaining('"Correct" changes it later')]);
    expect(found(ttl, log, { ...change, sets: ['sentimentScore'] })).toEqual([]);
  });
});
