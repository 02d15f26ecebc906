import { expect, test } from 'vitest';
import { MARKS } from '../../src/engine/runners.ts';
import { feedLsnOf } from '../../src/feed/reading/change.ts';
import { toChange, toDocument } from '../../src/feed/reading/mapper.ts';
import { movedOwn } from '../../src/kinds/moved.ts';
import { concerns } from '../../src/kinds/react/react-runner.ts';
import { wantedChanges } from '../../src/kinds/runner.ts';

const source = { name: 'C', keyPaths: [['k']], types: new Map([['thing', {}]]), marks: MARKS };
const doc = { id: 'a', k: 'k', type: 'thing', n: 1 };
const system = { _etag: '"9"', _lsn: 9, _ts: 1 };
const raw = (of: object, own: object) => ({ ...of, ...system, _mr: own });
const read = (of: object, own: object) => toChange(source, raw(of, own), 3);
const copy = { rid: 'r', pk: ['k'], id: 'a', lsn: 70, etag: '"70"' };

test('a copy by a move has the epoch and the lsn of the version that it was copied from', () => {
  const change = read(doc, movedOwn(undefined, { ...copy, epoch: 2 }, doc));
  expect(change).toMatchObject({ moved: true, op: 'upsert', doc, version: { epoch: 2, lsn: 70, etag: '"9"' } });
  // Positions of this feed are compared with its own lsn.
  expect(feedLsnOf(change!)).toBe(9);
});

test('a copy by a migration, and a document that a move has renewed, have the version that they have there', () => {
  for (const mark of [copy, {}])
    expect(read(doc, movedOwn(undefined, mark, doc))).toMatchObject({
      moved: true,
      version: { epoch: 3, lsn: 9, etag: '"9"' },
    });
});

test('a marker is a deletion that keeps its document, in the epoch of its move; readers of the source find nothing', () => {
  const marked = { ...doc, ttl: 60 };
  const own = movedOwn(undefined, { gone: true, epoch: 2 }, marked);
  expect(read(marked, own)).toMatchObject({ moved: true, op: 'delete', doc: marked, version: { epoch: 2, lsn: 9 } });
  expect(toDocument(source, raw(marked, own))).toBeNull();
  const cancelled = movedOwn(undefined, { ...copy, gone: true, epoch: 2, lsn: 70.5 }, marked);
  expect(read(marked, cancelled)).toMatchObject({ op: 'delete', version: { epoch: 2, lsn: 70.5 } });
});

test('one that an application wrote since is a change like any other, also with the mark', () => {
  const own = movedOwn({ 'names@1': {} }, { ...copy, epoch: 2 }, doc);
  const change = read({ ...doc, n: 2 }, own);
  expect(change).toMatchObject({ version: { epoch: 3, lsn: 9 } });
  expect(change).not.toHaveProperty('moved');
  expect(read({ ...doc, n: 2 }, movedOwn(undefined, { gone: true, epoch: 2 }, doc))).toMatchObject({ op: 'upsert' });
  // A copy of an older version of Millrace has no digest.
  expect(read(doc, { moved: copy })).not.toHaveProperty('moved');
});

test('what keeps deleted documents takes back one that is elsewhere now', () => {
  const gone = read(doc, movedOwn(undefined, { gone: true, epoch: 2 }, doc))!;
  expect(wantedChanges([gone], { onDelete: 'keep' })).toEqual([gone]);
  expect(wantedChanges([{ ...gone, gone: false }], { onDelete: 'keep' })).toMatchObject([{ op: 'upsert' }]);
});

test('a copy of a document that counts as deleted is a deletion like any other, which keeps what is to be kept', () => {
  const marking = { ...source, types: new Map([['thing', { deleted: (one: object) => 'deletedAt' in one }]]) };
  const deleted = { ...doc, deletedAt: 'now' };
  for (const mark of [{ ...copy, epoch: 2 }, {}]) {
    const change = toChange(marking, raw(deleted, movedOwn(undefined, mark, deleted)), 3)!;
    expect(change).toMatchObject({ moved: true, op: 'delete', doc: deleted });
    expect(change).not.toHaveProperty('gone');
    expect(wantedChanges([change], { onDelete: 'keep' })).toMatchObject([{ op: 'upsert', moved: true }]);
  }
  expect(read(doc, movedOwn(undefined, { gone: true, epoch: 2 }, doc))).toMatchObject({ gone: true });
});

test('no reaction runs for what a move wrote', () => {
  const spec = { onDelete: 'keep', restored: true } as Parameters<typeof concerns>[0];
  for (const op of ['upsert', 'delete'] as const) expect(concerns(spec, { op, doc, moved: true })).toBe(false);
  expect(concerns(spec, { op: 'upsert', doc })).toBe(true);
});
