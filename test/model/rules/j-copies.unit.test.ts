import { describe, expect, test } from 'vitest';
import { COPIES } from '../../../src/model/rules/j-copies.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, COPIES);
const comment = { kind: 'type', type: 'Comment', fields: [{ path: 'authorName', copyOf: 'User.name' }] };
const copy = { kind: 'derived', what: 'name', form: 'copy', type: 'Comment', field: 'authorName', of: 'User' };

describe('J27, copies', () => {
  test('a copy that nothing refreshes, by a field or by an annotation of its own', () => {
    const message = expect.stringContaining('Comment.authorName repeats values of User');
    expect(found(comment)).toEqual([message]);
    expect(found(comment, copy)).toEqual([message]);
    expect(found(comment, { ...copy, keptBy: 'change-feed' })).toEqual([]);
    expect(found(comment, { ...copy, snapshot: true })).toEqual([]);
  });

  test('a use, a write or a sentence that refreshes the copy', () => {
    const steps = ['User', 'Comment'].map((type) => ({ operation: 'patch', type }));
    expect(found(comment, { kind: 'flow', name: 'Rename', many: true, steps })).toEqual([]);
    const set = { kind: 'access', name: 'Rename', operation: 'patch', type: 'Comment', sets: ['authorName'] };
    expect(found(comment, set)).toEqual([]);
    expect(found(comment, { ...set, sets: ['text'] })).toHaveLength(1);
    const among = (sentence: string): number => annotated(['a comment', sentence], [comment], COPIES).length;
    expect(among('authorName: updated when the user is renamed')).toBe(0);
    expect(among('authorName: shown beside the text')).toBe(1);
  });

  test('a document that reserves a value is shown to nobody', () => {
    const reserved = { kind: 'type', type: 'email reservation', fields: [{ path: 'email', copyOf: 'User.email' }] };
    expect(found(reserved)).toEqual([]);
    expect(found({ ...reserved, type: 'email' })).toHaveLength(1);
    expect(found({ ...reserved, type: 'email', existing: true })).toEqual([]);
  });

  test('ids, records of the past and orders keep what they have', () => {
    const field = (type: string, path: string, rest: object = {}): object => ({
      kind: 'type',
      type,
      fields: [{ path, copyOf: 'User.name' }],
      ...rest,
    });
    expect(found(field('Comment', 'authorId'))).toEqual([]);
    expect(found(field('Entry', 'authorName', { purpose: 'audit' }))).toEqual([]);
    expect(found(field('OrderLine', 'productName'))).toEqual([]);
  });
});

describe('J27, the change feed', () => {
  const cache = { kind: 'derived', what: 'cache of users', form: 'cache', of: 'User', keptBy: 'change-feed' };
  const remove = { kind: 'access', name: 'Delete a user', operation: 'delete', type: 'User' };

  test('what is deleted stays in what the feed keeps', () => {
    expect(found(cache, remove)).toEqual([
      expect.stringContaining('cache of users is kept by the change feed, and User can be deleted'),
    ]);
    expect(found(cache)).toEqual([]);
    expect(found({ ...cache, onDelete: 'tombstone' }, remove)).toEqual([]);
    expect(found({ ...cache, keptBy: 'queue' }, remove)).toEqual([]);
    expect(found(cache, { kind: 'deletion', type: 'User', way: 'soft', field: 'isDeleted' })).toEqual([]);
  });

  test('a TTL removes too, and a field of the deleted document goes with it', () => {
    const users = { kind: 'container', container: 'users', ttl: 60 };
    expect(found(cache, users, { kind: 'type', type: 'User', container: 'users' })).toHaveLength(1);
    expect(found({ ...cache, form: 'view', type: 'User', field: 'result', onRepeat: 'safe' }, remove)).toEqual([]);
  });
});

describe('J37', () => {
  const view = { kind: 'derived', what: 'parts of a file', form: 'view', type: 'Part', of: 'File' };
  const read = { kind: 'flow', name: 'Read a file', many: true, steps: [{ operation: 'upsert', type: 'Part' }] };

  test('a run that only upserts', () => {
    expect(found(view, read)).toEqual([
      expect.stringContaining('"Read a file" upserts Part, and nothing deletes one that the File no longer has'),
    ]);
    expect(found(view, { ...read, steps: [...read.steps, { operation: 'delete', type: 'Part' }] })).toEqual([]);
    expect(found({ ...view, onDelete: 'removed' }, read)).toEqual([]);
    expect(found(read)).toEqual([]);
  });
});

describe('J35', () => {
  const ingest = { kind: 'flow', name: 'Ingest', many: true, steps: [{ operation: 'upsert', type: 'Sighting' }] };
  const review = { kind: 'access', name: 'Review', operation: 'patch', type: 'Sighting', sets: ['verdict'] };

  test('a run that writes over what people entered', () => {
    expect(found(ingest, review)).toEqual([
      expect.stringContaining('"Ingest" upserts whole documents of Sighting, and "Review" sets verdict in them'),
    ]);
    expect(found({ ...ingest, steps: [{ operation: 'create', type: 'Sighting' }] }, review)).toEqual([]);
    expect(found(ingest, { ...review, sets: undefined })).toEqual([]);
    expect(found({ ...ingest, many: undefined }, review)).toEqual([]);
  });
});

describe('J27, what is said beside', () => {
  test('a whole copy that something keeps, and deletes that are taken out again', () => {
    const whole = { kind: 'derived', what: 'comments', form: 'copy', type: 'Comment', of: 'User' };
    expect(found(comment, { ...whole, keptBy: 'change-feed' })).toEqual([]);
    expect(found(comment, whole)).toHaveLength(1);
    expect(found(comment, { ...whole, type: 'Note', keptBy: 'change-feed' })).toHaveLength(1);
    const view = { kind: 'derived', what: 'by tag', form: 'view', type: 'Tag', of: 'Post', keptBy: 'change-feed' };
    const gone = { kind: 'deletion', type: 'Post', way: 'hard' };
    const beside = (text: string): string[] => annotated([text], [view, gone], COPIES).map(({ rule }) => rule);
    expect(beside('posts by tag')).toEqual(['J27']);
    expect(beside('posts by tag; a tombstone takes them away')).toEqual([]);
  });
});

describe('J32', () => {
  const own = { kind: 'derived', what: 'result', form: 'aggregate', type: 'Mail', field: 'result', of: 'Mail' };

  test('a reader that writes what it reads', () => {
    expect(found({ ...own, keptBy: 'change-feed' })).toEqual([
      expect.stringContaining('writes Mail.result into the same documents whose changes it reads'),
    ]);
    expect(found({ ...own, keptBy: 'change-feed', onRepeat: 'safe' })).toEqual([]);
    expect(found({ ...own, keptBy: 'change-feed', of: 'Attachment' })).toEqual([]);
    expect(found({ ...own, keptBy: 'same-request' })).toEqual([]);
  });
});

describe('J37, a run that is repeated', () => {
  const scan = { kind: 'flow', name: 'Re-run the scan', many: true, steps: [{ operation: 'upsert', type: 'Signal' }] };
  const id = { kind: 'id', type: 'Signal', from: ['ticker', 'date'] };
  const list = {
    kind: 'access',
    name: 'Signals of a day',
    operation: 'query',
    type: 'Signal',
    returns: 'list',
    equals: ['date'],
  };
  const signal = { kind: 'type', type: 'Signal', container: 'signals', fields: [{ path: 'date' }] };

  test('what it finds no more is still listed', () => {
    expect(found(scan, id, list, signal)).toEqual([
      expect.stringContaining('what the run finds no more stays: "Signals of a day"'),
    ]);
    expect(found({ ...scan, name: 'Scan' }, id, list, signal)).toEqual([]);
    expect(found(scan, id, signal)).toEqual([]);
    expect(found(scan, id, list, signal, { kind: 'deletion', type: 'Signal', way: 'hard' })).toEqual([]);
  });

  test('what many sources share isn’t left over', () => {
    const view = { kind: 'derived', what: 'entity', form: 'view', type: 'Entity', of: 'Text' };
    const entity = { kind: 'type', type: 'Entity', fields: [{ path: 'name' }] };
    const process = { kind: 'flow', name: 'Process', many: true, steps: [{ operation: 'upsert', type: 'Entity' }] };
    expect(found(process, view, entity)).toEqual([expect.stringContaining('"Process" upserts Entity')]);
    const shared = { ...entity, fields: [{ path: 'evidence', type: 'array' }] };
    expect(found(process, view, shared)).toEqual([]);
  });
});
