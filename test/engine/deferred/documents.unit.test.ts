import { expect, it } from 'vitest';
import { BUNDLE, bundlesOf } from '../../../src/engine/deferred/documents.ts';
import type { Change } from '../../../src/feed/reading/change.ts';

const change = (lsn: number, id: string, key = 'k'): Change => ({
  container: 'c',
  type: 't',
  key: [key],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
  doc: { id, large: 'x'.repeat(10_000) },
});

it('a bundle takes a hundred identities, in their order and without their documents', () => {
  const bundles = bundlesOf(Array.from({ length: 250 }, (_, at) => change(at, `d${at}`)));
  expect(bundles.map(({ length }) => length)).toEqual([BUNDLE, BUNDLE, 50]);
  expect(bundles.flat().map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, at) => `d${at}`));
  expect(JSON.stringify(bundles).length).toBeLessThan(250 * 200);
});

it('a bundle keeps the last change of each document', () => {
  const [items] = bundlesOf([change(1, 'a'), change(2, 'b'), change(3, 'a'), change(4, 'a', 'other')]);
  expect(items?.map(({ version }) => version.lsn)).toEqual([2, 3, 4]);
});

it('a bundle of the longest keys and ids fits a document', () => {
  const long = Array.from({ length: BUNDLE }, (_, at) => change(at, `${at}`.padEnd(1_023, 'i'), 'k'.repeat(2_048)));
  expect(Buffer.byteLength(JSON.stringify(bundlesOf(long)[0]))).toBeLessThan(500_000);
});
