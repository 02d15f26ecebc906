import { expect, test } from 'vitest';
import { compareVersions } from '../../../src/feed/reading/change.ts';

const version = (epoch: number, lsn: number, etag: string) => ({ epoch, lsn, etag });

test.each([
  ['the same etag is the same version', version(1, 5, 'a'), version(1, 5, 'a'), 'same'],
  ['a lower lsn is older', version(1, 4, 'a'), version(1, 5, 'b'), 'older'],
  ['a higher lsn is newer', version(1, 6, 'a'), version(1, 5, 'b'), 'newer'],
  ['the epoch goes before the lsn', version(2, 1, 'a'), version(1, 99, 'b'), 'newer'],
  ['an older epoch is older even at the same etag', version(1, 9, 'a'), version(2, 9, 'a'), 'older'],
  ['one lsn with two etags needs another look at the source', version(1, 5, 'a'), version(1, 5, 'b'), 'undecided'],
])('%s', (_title, a, b, expected) => {
  expect(compareVersions(a, b)).toBe(expected);
  const reverse = { same: 'same', undecided: 'undecided', older: 'newer', newer: 'older' }[expected];
  expect(compareVersions(b, a)).toBe(reverse);
});
