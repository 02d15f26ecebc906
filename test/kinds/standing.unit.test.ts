import { expect, it } from 'vitest';
import type { Change } from '../../src/feed/reading/change.ts';
import { standing } from '../../src/kinds/standing.ts';
import { UNFENCED } from './history.ts';

const change = (etag: string, moved?: true): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['s1'],
  id: 'o1',
  version: { epoch: 1, lsn: 7, etag },
  at: 0,
  op: 'upsert',
  doc: {},
  ...(moved && { moved }),
});
/** The document of the target: its ETag is none of the two. */
const access = {
  fence: UNFENCED,
  read: async () => [{ id: 'o1', _etag: 'of-the-target' }],
  query: async () => [],
  commit: async () => ({ kind: 'conflict' as const }),
};

it('the copy of a move wins at equal lsn, because the document has another ETag on the target', async () => {
  const stored = { epoch: 1, lsn: 7, etag: 'before' };
  expect(await standing(change('after', true), stored, access)).toBe('newer');
  expect(await standing(change('after'), stored, access)).toBe('older');
  expect(await standing(change('before', true), stored, access)).toBe('same');
  expect(await standing(change('after', true), { ...stored, lsn: 8 }, access)).toBe('older');
});
