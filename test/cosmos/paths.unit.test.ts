import { describe, expect, it } from 'vitest';
import { fullKey, splitPath, valueAtPath } from '../../src/cosmos/paths.ts';
import { FULL_RANGE, rangeId } from '../../src/cosmos/ranges.ts';

describe('a partition key path', () => {
  it('a partition key path is split into its names, quoted or not', () => {
    expect(splitPath('/tenant')).toEqual(['tenant']);
    expect(splitPath('/address/city')).toEqual(['address', 'city']);
    expect(splitPath('/"the name"/id')).toEqual(['the name', 'id']);
  });

  it('a partition key path leads to a value, or nowhere', () => {
    const document = { a: { b: 0, list: [{ c: 1 }] }, n: null };
    expect(valueAtPath(document, ['a', 'b'])).toBe(0);
    expect(valueAtPath(document, [])).toBe(document);
    const nowhere = [['x'], ['a', 'x'], ['a', 'b', 'c'], ['n', 'x'], ['a', 'list', 'c'], ['id', 'name']];
    expect(nowhere.map((path) => valueAtPath(document, path))).toEqual(nowhere.map(() => undefined));
  });
});

describe('a full key', () => {
  const paths = [['tenant'], ['address', 'city']];

  it('a full key has one value a level, of any type that may be one', () => {
    expect(fullKey({ tenant: 't', address: { city: 'Oslo' } }, paths)).toEqual({ key: ['t', 'Oslo'] });
    expect(fullKey({ tenant: 0, address: { city: false } }, paths)).toEqual({ key: [0, false] });
    expect(fullKey({ tenant: null, address: { city: '' } }, paths)).toEqual({ key: [null, ''] });
  });

  it.each([
    [{ address: { city: 'Oslo' } }, '/tenant'],
    [{ tenant: undefined, address: { city: 'Oslo' } }, '/tenant'],
    [{ tenant: 't' }, '/address/city'],
    [{ tenant: 't', address: 'Oslo' }, '/address/city'],
    [{ tenant: 't', address: { city: ['Oslo'] } }, '/address/city'],
    [{ tenant: { id: 't' }, address: { city: 'Oslo' } }, '/tenant'],
    ['text', '/tenant'],
  ])('a full key of %j lacks %s', (document, missing) => {
    expect(fullKey(document, paths)).toEqual({ missing });
  });
});

it('a range is named by its bounds', () => {
  expect(rangeId(FULL_RANGE)).toBe('-FF');
  expect(rangeId({ min: '80', max: 'FF' })).toBe('80-FF');
});
