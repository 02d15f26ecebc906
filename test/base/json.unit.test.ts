import { assert, jsonValue, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, digest, isObject, shown } from '../../src/base/json.ts';

describe('canonical JSON', () => {
  it('canonical JSON is one text for equal values, whatever the order of their members', () => {
    expect(canonical({ b: 1, a: [{ d: null, c: 'x' }] })).toBe('{"a":[{"c":"x","d":null}],"b":1}');
    expect(canonical({ a: 1, b: undefined })).toBe(canonical({ a: 1 }));
    expect(canonical([undefined])).toBe('[null]');
    expect(canonical(undefined)).toBe('null');
  });

  it('canonical JSON means what JSON means', () => {
    assert(
      property(jsonValue(), (value) => {
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonical(JSON.parse(canonical(value)))).toBe(canonical(value));
      }),
    );
  });

  it('canonical JSON tells apart what differs', () => {
    const different = [0, '0', null, false, [], {}, [0], [[0]], ['0'], { 0: 0 }, { a: { b: 1 } }, { a: 1, b: {} }];
    expect(new Set(different.map(canonical)).size).toBe(different.length);
  });
});

describe('a digest', () => {
  it('a digest is the same for equal values, and safe in an id', () => {
    expect(digest({ a: 1, b: 2 })).toBe(digest({ b: 2, a: 1 }));
    expect(digest({ a: 1 })).not.toBe(digest({ a: 2 }));
    for (let n = 0; n < 50; n++) expect(digest(n)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

it('an object is neither null nor an array', () => {
  expect([{}, Object.create(null), new Error('x')].every(isObject)).toBe(true);
  expect([null, undefined, [], 'x', 7, () => ({})].some(isObject)).toBe(false);
});

it('a value in a message can be told from text that looks like it', () => {
  const values = [5, '5', undefined, null, Number.NaN, 5n, {}, [1], 'x'.repeat(200)];
  expect(values.map(shown)).toEqual([
    '5',
    '"5"',
    'undefined',
    'null',
    'NaN',
    '5',
    'an object',
    'an array',
    `"${'x'.repeat(78)}…`,
  ]);
});
