import { expect, test } from 'vitest';
import type { Doc, EmbedSpec, PublishSpec } from '../../src/pipeline/specs.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { fieldsDue, matchesOf } from '../../src/kinds/embed/fields.ts';
import { eventMessageOf } from '../../src/kinds/publish/event.ts';
import { assertStorable, misfitsOf } from '../../src/kinds/sink-type.ts';
import { fieldsOf } from '../../src/model/fields.ts';

const fields = fieldsOf([
  { id: 'a', n: 1, at: '2026-01-01', maybe: 'x', who: { name: 'Ada', age: null }, list: [{ sku: 's' }], any: [] },
  { id: 'b', n: 2, at: '2026-01-01', who: { name: 'Ada', age: 3 }, list: [], any: [] },
]);
const right = { id: 'a', n: 1, at: 'x', who: { name: 'y', age: null }, list: [], any: [1, 'a', null] };

test('what fits its type is left alone, other fields and dates too', () => {
  for (const doc of [right, { ...right, maybe: undefined, more: { deep: [1, 2 ** 53 - 1, 1e300] }, at: new Date(0) }])
    expect(misfitsOf(doc, fields)).toEqual({});
  expect(misfitsOf({ anything: 1 }, undefined)).toEqual({});
});

test.each([
  [{ ...right, n: NaN }, '/n', 'is NaN'],
  [{ ...right, n: -Infinity }, '/n', 'is -Infinity'],
  [{ ...right, n: undefined }, '/n', 'is undefined'],
  [{ ...right, n: () => 1 }, '/n', 'is undefined'],
  [{ ...right, who: { age: 1 } }, '/who/name', 'is undefined'],
  [{ ...right, list: [{ sku: 's' }, {}] }, '/list/1/sku', 'is undefined'],
  [{ ...right, other: { 'a/b~c': [0, NaN] } }, '/other/a~1b~0c/1', 'is NaN'],
  [{ ...right, at: new Date(NaN) }, '/at', 'invalid date'],
  [{ ...right, n: 1n }, '/n', 'BigInt'],
  [{ ...right, n: 2 ** 53 }, '/n', 'beyond 2^53'],
  [{ ...right, any: [-(2 ** 63)] }, '/any/0', 'beyond 2^53'],
])('what JSON cannot hold, or each document has, is never stored: %#', (doc, path, why) => {
  expect(misfitsOf(doc, fields).never).toEqual({ path, why: expect.stringContaining(why) as string });
});

test('what holds itself is named, and what is there twice is not', () => {
  const loop: Record<string, unknown> = { ...right };
  loop['self'] = [loop];
  expect(misfitsOf(loop, fields).never).toMatchObject({ path: '/self/0/self' });
  const twice = { name: 'y', age: 1 };
  expect(misfitsOf({ ...right, who: twice, again: twice }, fields)).toEqual({});
});

test.each([
  [{ ...right, n: '1' }, '/n', 'is "1", not a number'],
  [{ ...right, n: null }, '/n', 'is null, not a number'],
  [{ ...right, who: 'Ada' }, '/who', 'is "Ada", not an object'],
  [{ ...right, who: { name: 'x', age: true } }, '/who/age', 'is true, not a number or null'],
  [{ ...right, list: { 0: 'a' } }, '/list', 'is an object, not a list'],
  [{ ...right, n: [] }, '/n', 'is a list, not a number'],
  [{ ...right, list: [undefined] }, '/list/0', 'is null, not an object'],
])('what is of another type is told apart from that: %#', (doc, path, why) => {
  expect(misfitsOf(doc, fields)).toEqual({ type: { path, why } });
});

test('of a value without a type only what JSON cannot hold is refused', () => {
  for (const value of [null, undefined, 1, 'a', { a: undefined }, [undefined]]) assertStorable(value, 'it');
  expect(() => assertStorable({ a: [NaN] }, 'it')).toThrow("it: /a/0 is NaN, which JSON can't hold");
  expect(() => assertStorable(Infinity, 'it')).toThrow('it: the value is Infinity');
});

const parent: SourceContainer = { name: 'P', keyPaths: [['id']], types: new Map() };
const embedded = (value: unknown, each?: EmbedSpec['each']): Doc => {
  const child = { id: 'c', p: 'p', lines: [{ p: 'p' }] };
  const spec: EmbedSpec = {
    kind: 'embed',
    name: 'e',
    version: 1,
    from: { container: 'P', type: 'p' },
    into: { container: 'C', type: 'c' },
    on: each ? {} : { id: 'p' },
    ...(each && { each }),
    onDelete: 'remove',
    set: { share: () => value },
  };
  const matches = matchesOf(spec, parent, child);
  const version = { epoch: 1, lsn: 1, etag: 'a' };
  return fieldsDue(spec, matches, new Map(matches.map(({ ref }) => [ref, { version, doc: {} }])), child, undefined);
};

test('an embedded field is held to it, undefined aside: that takes the field away', () => {
  expect(embedded(1)).toEqual({ share: 1 });
  expect(embedded(undefined)).toEqual({});
  expect(() => embedded({ of: [NaN] })).toThrow("e@1: /share/of/0 is NaN, which JSON can't hold");
  const each = { field: 'lines', on: { id: 'p' } };
  expect(() => embedded(Infinity, each)).toThrow("e@1: /lines/*/share is Infinity, which JSON can't hold");
});

test('a published event is held to it', () => {
  const spec = (map: (doc: Doc) => unknown): PublishSpec => ({
    kind: 'publish',
    name: 'out',
    version: 1,
    from: { container: 'P', type: 'p' },
    to: 'hub',
    format: 'cloudevents',
    order: 'partitionKey',
    images: false,
    map,
  });
  const version = { epoch: 1, lsn: 1, etag: 'a' };
  const change = {
    container: 'P',
    type: 'p',
    key: ['p'],
    id: 'p',
    version,
    at: 0,
    op: 'upsert',
    doc: { n: -1 },
  } as const;
  expect(
    eventMessageOf(
      spec(({ n }) => ({ n })),
      change,
    )?.partitionKey,
  ).toBe('["p"]');
  expect(() =>
    eventMessageOf(
      spec(({ n }) => ({ n: Math.sqrt(Number(n)) })),
      change,
    ),
  ).toThrow('out@1: /n is NaN');
});
