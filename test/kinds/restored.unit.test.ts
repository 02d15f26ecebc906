import { expect, test } from 'vitest';
import { MARKS } from '../../src/engine/runners.ts';
import { toChange } from '../../src/feed/reading/mapper.ts';
import { restoredMark } from '../../src/kinds/archive/restored.ts';

const source = { name: 'C', keyPaths: [['k']], types: new Map([['thing', {}]]), marks: MARKS };
const doc = { id: 'a', k: 'k', type: 'thing', n: 1 };
const mark = restoredMark({ epoch: 1, lsn: 7, etag: '"7"' }, doc);
const system = { _etag: '"9"', _lsn: 9, _ts: 1 };

test('a document as the archive gave it back is no new event, and says nothing of it to projections', () => {
  const change = toChange(source, { ...doc, ...system, _mr: { restored: mark } }, 1);
  expect(change?.restored).toBe(true);
  expect(change?.doc).toEqual(doc);
});

test('one that was changed and written back with all that was read is a change like any other', () => {
  expect(toChange(source, { ...doc, n: 2, ...system, _mr: { restored: mark } }, 1)).not.toHaveProperty('restored');
  expect(toChange(source, { ...doc, ...system }, 1)).not.toHaveProperty('restored');
});
