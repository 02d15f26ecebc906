import { expect, test } from 'vitest';
import { MARKS } from '../../src/engine/runners.ts';
import { toChange } from '../../src/feed/reading/mapper.ts';
import { restoredMark } from '../../src/kinds/archive/restored.ts';
import { backfilledOwn } from '../../src/kinds/backfilled.ts';

const source = { name: 'C', keyPaths: [['k']], types: new Map([['thing', {}]]), marks: MARKS };
const before = { id: 'a', k: 'k', type: 'thing', n: 1 };
const doc = { ...before, tenant: 't' };
const system = { _etag: '"9"', _lsn: 9, _ts: 1 };
const read = (of: object, own: object) => toChange(source, { ...of, ...system, _mr: own }, 1);

test('a document as a backfill left it is known, and shows projections its content alone', () => {
  const change = read(doc, backfilledOwn(undefined, before, doc));
  expect(change).toMatchObject({ backfilled: true, doc });
  expect(change).not.toHaveProperty('restored');
});

test('one that was changed and written back with all that was read is a change like any other', () => {
  const own = backfilledOwn(undefined, before, doc);
  expect(read({ ...doc, n: 2 }, own)).not.toHaveProperty('backfilled');
  expect(read({ ...doc, tenant: 'u' }, own)).not.toHaveProperty('backfilled');
  expect(read({ ...doc, ttl: 5 }, own)).not.toHaveProperty('backfilled');
});

test('a restored document stays one, and one that changed since its restore does not become one', () => {
  const restored = restoredMark({ epoch: 1, lsn: 7, etag: '"7"' }, before);
  expect(read(doc, backfilledOwn({ restored }, before, doc))).toMatchObject({ restored: true, backfilled: true });
  const changed = { ...before, n: 2 };
  expect(
    read({ ...changed, tenant: 't' }, backfilledOwn({ restored }, changed, { ...changed, tenant: 't' })),
  ).not.toHaveProperty('restored');
});

test('other marks of the document stay', () => {
  expect(backfilledOwn({ moved: { lsn: 1 }, 'names@1': {} }, before, doc)).toMatchObject({
    moved: { lsn: 1 },
    'names@1': {},
  });
});
