// AGG-G12: of one page only the last version of each document is applied.
import { expect, test } from 'vitest';
import type { Change } from '../../src/feed/reading/change.ts';
import { Poison, lastOfEach, wantedChanges } from '../../src/kinds/runner.ts';

const change = (lsn: number, more: Partial<Change> = {}): Change => ({
  container: 'Orders',
  key: ['k'],
  id: 'a',
  type: 'order',
  version: { epoch: 0, lsn, etag: `e${lsn}` },
  at: 0,
  op: 'upsert',
  ...more,
});
const lsns = (changes: readonly Change[]): number[] => changes.map(({ version }) => version.lsn);

test('of a page the last version of each document is left, where it stands', () => {
  expect(lsns(lastOfEach([change(1), change(2, { id: 'b' }), change(3)]))).toEqual([2, 3]);
});

test('documents of one id are apart under two keys and in two containers', () => {
  const page = [change(1), change(2, { key: ['l'] }), change(3, { container: 'Others' })];
  expect(lsns(lastOfEach(page))).toEqual([1, 2, 3]);
});

test('a deletion supersedes the versions before it', () => {
  expect(lsns(wantedChanges([change(1), change(2, { op: 'delete' })], { onDelete: 'remove' }))).toEqual([2]);
  expect(wantedChanges([change(1), change(2, { op: 'delete' })], { onDelete: 'keep' })).toEqual([]);
});

test('Poison that names no change is refused where it is thrown, with what to pass', () => {
  expect(() => new Poison([])).toThrow(
    expect.objectContaining({
      code: 'option-invalid',
      message: expect.stringContaining('names no change'),
      hint: expect.stringContaining('new Poison([{ change, error'),
    }),
  );
});
