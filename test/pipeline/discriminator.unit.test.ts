import { expect, test } from 'vitest';
import { isOfType } from '../../src/pipeline/discriminator.ts';
import { entryId, sinkDocumentId } from '../../src/pipeline/derived-ids.ts';
import { toChange, toDocument, typeOf } from '../../src/feed/reading/mapper.ts';
import { refusalOf } from '../../src/access/size.ts';

const types = new Map([
  ['order', {}],
  ['refund', { discriminator: 'kind' }],
  ['note', { discriminator: (doc: Record<string, unknown>) => 'note' in doc }],
]);
const stored = (more: object) => ({ id: 'a', pk: 'k', _etag: '"1"', _lsn: 1, _ts: 1, ...more });

test.each([
  [{ type: 'order' }, 'order'],
  [{ type: 'refund' }, undefined],
  [{ kind: 'refund' }, 'refund'],
  [{ kind: 'refund', type: 'order' }, 'order'],
  [{ note: 'x' }, 'note'],
  [{ type: 'other' }, undefined],
  [{ type: 'millrace.tombstone', note: 'x' }, 'note'],
])('the type of %j', (doc, type) => {
  expect(typeOf(types, doc)).toBe(type);
});

test('a change and a document that was read go by the same discriminator, and never by one of ours', () => {
  const source = { name: 'C', keyPaths: [['pk']], types };
  expect(toChange(source, stored({ kind: 'refund' }), 1)).toMatchObject({ type: 'refund', op: 'upsert' });
  expect(toDocument(source, stored({ note: 'x' }))).toMatchObject({ note: 'x' });
  expect(toChange(source, stored({ type: 'millrace.tombstone', note: 'x' }), 1)).toBeUndefined();
  expect(isOfType('order', {}, { type: 'order' })).toBe(true);
});

test('an id that Cosmos DB would not take is hashed, or parked where that is declared', () => {
  for (const id of ['a/b', 'a\\b', 'a#b']) expect(sinkDocumentId(id)).toMatch(/^~~/);
  for (const id of ['a?b', 'a b', '?']) expect(sinkDocumentId(id, 'park')).toBe(id);
  expect(sinkDocumentId('fine', 'park')).toBe('fine');
  expect(() => sinkDocumentId('a/b', 'park')).toThrow(expect.objectContaining({ code: 'value-invalid' }));
  expect(() => sinkDocumentId('x'.repeat(1_100), 'park')).toThrow('1,100 bytes');
});

test('an entry is told by key and id, and by a digest where that is too long', () => {
  expect(entryId(['store-1'], 'o/1')).toBe('store-1|o~2F1');
  expect(entryId(['s', 'o1'], 'o1')).toBe('s|o1');
  expect(entryId([null, 5, true], 'a')).toBe('~z|~n5|~t|a');
  expect(entryId([{}, null], 'a')).toBe('~u|~z|a');
  expect(entryId(['x'.repeat(300)], 'a')).toMatch(/^~~.{43}$/);
});

test('a refusal says what is too large, as deep as it can be told', () => {
  const body = { id: 'a', head: { small: 1, text: 'x'.repeat(2_200_000) }, tail: 'y'.repeat(1_000) };
  expect(refusalOf('C', body, 'refused')).toMatchObject({
    code: 'too-large',
    message: expect.stringContaining('/head/text'),
  });
  expect(refusalOf('C', { id: 'a' }, 'C answered 400')).toMatchObject({
    code: 'sink-refused',
    message: 'C answered 400',
  });
});
