import { describe, expect, test } from 'vitest';
import { KEPT } from '../../../src/model/rules/j-kept.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, KEPT);

describe('J51', () => {
  const forever = { kind: 'retention', type: 'LoginHistory', forever: true };
  const history = {
    kind: 'type',
    type: 'LoginHistory',
    container: 'history',
    purpose: 'audit',
    fields: [{ path: 'ip', personal: true }],
  };

  test('data about persons that grow, and what is used up', () => {
    expect(found(history, forever)).toEqual([expect.stringContaining('J51 LoginHistory (ip) is kept for ever')]);
    expect(found({ ...history, fields: [{ path: 'ip' }] }, forever)).toEqual([]);
    // A profile stays until it is deleted.
    expect(found({ ...history, purpose: 'state' }, forever)).toEqual([]);
    expect(found({ ...history, existing: true }, forever)).toEqual([]);
    expect(found(history, { ...forever, forever: undefined, seconds: 60, by: 'ttl' })).toEqual([]);
    expect(found(history, forever, { kind: 'deletion', type: 'User', way: 'hard', also: ['LoginHistory'] })).toEqual(
      [],
    );
    const chat = { kind: 'type', type: 'ChatSession', container: 'chats', purpose: 'session' };
    expect(found(chat, { ...forever, type: 'ChatSession' })).toEqual([]);
    const bought = { kind: 'type', type: 'Receipt', container: 'shop', purpose: 'state' };
    expect(found(bought, { ...forever, type: 'Receipt' })).toEqual([]);
    const receipt = { kind: 'type', type: 'receipt', container: 'history', purpose: 'log' };
    expect(found(receipt, { ...forever, type: 'receipt' })).toEqual([
      expect.stringContaining('J51 receipt is kept for ever, though nobody needs one'),
    ]);
  });
});

describe('J52', () => {
  const code = {
    kind: 'type',
    type: 'LoginAttempt',
    container: 'codes',
    purpose: 'token',
    fields: [{ path: 'otp_hash' }, { path: 'expires_at' }],
  };
  const ttl = { kind: 'retention', type: 'LoginAttempt', seconds: 300, by: 'ttl' };
  const life = { kind: 'fact', of: 'OTP', property: 'lifetime', value: 3, unit: 'min' };

  test('a TTL that is longer than the code is valid', () => {
    expect(found(code, ttl, life)).toEqual([
      expect.stringMatching(
        /valid for 180 s by expires_at, and its TTL keeps it for 300 s.*accepted for 120 s too long/,
      ),
    ]);
    expect(found(code, ttl, { ...life, value: '180 seconds', unit: undefined })).toHaveLength(1);
    expect(found(code, ttl, { ...life, value: 5 })).toEqual([]);
    expect(found(code, ttl)).toEqual([]);
  });

  test('a read that compares the field, and a lifetime of something else', () => {
    const read = { kind: 'access', name: 'Verify', operation: 'query', type: 'LoginAttempt', equals: ['email'] };
    expect(found(code, ttl, life, read)).toHaveLength(1);
    expect(found(code, ttl, life, { ...read, ranges: ['expires_at'] })).toEqual([]);
    expect(found(code, ttl, { ...life, of: 'approval' })).toEqual([]);
  });
});

describe('J53', () => {
  const match = { kind: 'type', type: 'Offer', container: 'offers' };
  const ttl = { kind: 'retention', type: 'Offer', seconds: 86_400, by: 'ttl' };
  const payment = {
    kind: 'type',
    type: 'Payment',
    container: 'payments',
    fields: [{ path: 'offerId', refersTo: 'Offer' }],
  };

  test('a reference that stays longer than its target', () => {
    expect(found(match, ttl, payment)).toEqual([
      expect.stringContaining('Offer expires after 86,400 s, and Payment.offerId stays and has only its id'),
    ]);
    expect(found(match, payment)).toEqual([]);
    expect(found(match, ttl, payment, { ...ttl, type: 'Payment', seconds: 3600 })).toEqual([]);
    const copied = {
      ...payment,
      fields: [
        { path: 'offerId', refersTo: 'Offer' },
        { path: 'price', copyOf: 'Offer.price' },
      ],
    };
    expect(found(match, ttl, copied)).toEqual([]);
    expect(found({ ...match, purpose: 'session' }, ttl, payment)).toEqual([]);
    expect(found(match, ttl, { ...payment, purpose: 'audit' })).toEqual([]);
  });

  test('a full history that is promised', () => {
    const reading = { kind: 'type', type: 'Reading', container: 'readings', purpose: 'telemetry' };
    const ends = { kind: 'retention', type: 'Reading', seconds: 90 * 86_400, by: 'ttl' };
    const messages = (promise: string, ...all: object[]): string[] =>
      annotated([promise], [{ kind: 'fact', of: 'x', property: 'y', value: 1 }, ...all], KEPT).map(
        ({ message }) => message,
      );
    expect(messages('Complete historical data for analytics', reading, ends)).toEqual([
      expect.stringContaining('A full history is promised, and a TTL removes Reading after 90 days'),
    ]);
    expect(messages('No full history is kept', reading, ends)).toEqual([]);
    expect(messages('Complete historical data', { ...reading, purpose: 'session' }, ends)).toEqual([]);
  });

  test('a figure over what is trimmed or expires', () => {
    const student = {
      kind: 'type',
      type: 'Student',
      container: 'students',
      fields: [{ path: 'events', type: 'array', max: 700 }],
    };
    const count = {
      kind: 'access',
      name: 'Count the sessions',
      operation: 'query',
      type: 'Student',
      equals: ['events[].type'],
      returns: 'count',
    };
    expect(found(student, count)).toEqual([
      expect.stringContaining('"Count the sessions" counts elements of Student.events, of which only 700 stay'),
    ]);
    expect(found(student, { ...count, returns: 'list' })).toEqual([]);
    expect(found({ ...student, fields: [{ path: 'events', type: 'array' }] }, count)).toEqual([]);
    const total = { kind: 'derived', what: 'sales', form: 'aggregate', of: 'Offer', keptBy: 'query' };
    expect(found(match, ttl, total)).toEqual([expect.stringContaining('sales is counted over Offer')]);
    expect(found(match, ttl, { ...total, what: 'sales of today' })).toEqual([]);
    expect(found(match, { ...ttl, seconds: 7 * 365 * 86_400 }, total)).toEqual([]);
  });
});

describe('J53, a time for some', () => {
  test('what stays unless it is a draft', () => {
    const request = { kind: 'type', type: 'Request', container: 'requests', purpose: 'state' };
    const project = {
      kind: 'type',
      type: 'Project',
      container: 'projects',
      purpose: 'state',
      fields: [{ path: 'requestId', refersTo: 'Request' }],
    };
    const ttl = { kind: 'retention', type: 'Request', seconds: 7_776_000, by: 'ttl' };
    expect(found(request, project, ttl)).toEqual([expect.stringContaining('Request expires after')]);
    expect(found(request, project, ttl, { kind: 'retention', type: 'Request', forever: true })).toEqual([]);
  });
});

describe('J51, what is only marked', () => {
  test('deleted documents that stay, unless something takes them away', () => {
    const task = { kind: 'type', type: 'Task', container: 'tasks', purpose: 'state' };
    const soft = { kind: 'deletion', type: 'Task', way: 'soft', field: 'state' };
    const stays = { kind: 'retention', type: 'Task', forever: true };
    expect(found(task, soft, stays)).toEqual([expect.stringContaining('J51 Task is only marked as deleted')]);
    expect(found(task, stays)).toEqual([]);
    expect(found({ ...task, purpose: 'reference' }, soft, stays)).toEqual([]);
    expect(found(task, { ...soft, restorable: true }, stays)).toEqual([]);
    expect(found(task, soft, stays, { ...soft, way: 'hard' })).toEqual([]);
    expect(found(task, soft, stays, { kind: 'retention', type: 'Task', by: 'job' })).toEqual([]);
  });
});
