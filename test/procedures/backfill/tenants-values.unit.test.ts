import { describe, expect, it } from 'vitest';
import { LEAVING_TTL_S } from '../../../src/kinds/archive/leaving.ts';
import type { DocumentAccess } from '../../../src/access/document-access.ts';
import { ttlAfter } from '../../../src/procedures/backfill/ttl-after.ts';
import { ServiceClock } from '../../../src/procedures/backfill/service-clock.ts';
import { byLookup, lookupOf } from '../../../src/procedures/backfill/lookup.ts';
import { type ValuesInput, assertOne, fromField, sameValue } from '../../../src/procedures/backfill/values.ts';
import { ManualClock } from '../../support/clock.ts';

const UNUSED = {} as DocumentAccess;
const TEXT = { field: 'tenant', kind: 'string' } as const;
const NUMBER = { field: 'tenant', kind: 'number' } as const;
const invalid = (message: string) =>
  expect.objectContaining({ code: 'input-invalid', message: expect.stringContaining(message) });

describe('a value', () => {
  it.each([
    ['t', { value: 't' }],
    ['x'.repeat(1_000), { value: 'x'.repeat(1_000) }],
    [undefined, { why: 'it has no a.b' }],
    [null, { why: 'it has no a.b' }],
    ['', { why: 'it has "" as a.b, which is not a tenant: a text' }],
    [' ', { why: 'it has " " as a.b, which is not a tenant: a text' }],
    [7, { why: 'it has 7 as a.b, which is not a tenant: a text' }],
    [['t'], { why: 'it has an array as a.b, which is not a tenant: a text' }],
  ])('%j of a field is %j', async (value, expected) => {
    expect(await fromField('a.b', TEXT).of([{ a: { b: value } }], UNUSED)).toEqual([expected]);
  });

  it('a value of more than 1,000 characters isn’t a tenant', async () => {
    expect(await fromField('a', TEXT).of([{ a: 'x'.repeat(1_001) }], UNUSED)).toMatchObject([{ why: /not a tenant/ }]);
  });

  it('a value is a number where the tenants are numbers', async () => {
    expect(await fromField('a', NUMBER).of([{ a: 0 }, { a: '7' }], UNUSED)).toEqual([
      { value: 0 },
      { why: 'it has "7" as a, which is not a tenant: a finite number' },
    ]);
    expect(await sameValue('7', NUMBER).of([{}], UNUSED)).toEqual([{ value: 7 }]);
    expect(await sameValue('7', TEXT).of([{}], UNUSED)).toEqual([{ value: '7' }]);
  });

  it.each([
    ['', TEXT],
    ['x'.repeat(1_001), TEXT],
    ['', NUMBER],
    ['seven', NUMBER],
  ])('%j for all documents of %j is refused', (text, field) => {
    expect(() => sameValue(text, field)).toThrow(invalid('--value is not a tenant'));
  });
});

describe('the options', () => {
  it('name a container by fields: one for its id, or pairs', () => {
    const lookup = lookupOf({ from: 'Customers.shop.tenant', by: 'id=customerId, region = address.country' });
    expect(lookup).toEqual({
      container: 'Customers',
      path: ['shop', 'tenant'],
      by: new Map([
        ['id', ['customerId']],
        ['region', ['address', 'country']],
      ]),
    });
    expect(lookupOf({ from: 'C.t', by: 'customerId' })?.by).toEqual(new Map([['id', ['customerId']]]));
    expect(lookupOf({ from: 'shop.tenant' })).toBeUndefined();
  });

  it.each<[ValuesInput, string]>([
    [{}, 'either --from or --value'],
    [{ from: 'a', value: 'b' }, 'either --from or --value'],
    [{ from: 'Customers', by: 'customerId' }, 'CONTAINER.FIELD'],
    [{ from: 'C.t', by: 'id=' }, '--by'],
    [{ from: 'C.t', by: 'a,b' }, '--by'],
  ])('%j are refused', (input, message) => {
    const check = () => (assertOne(input), lookupOf(input));
    expect(check).toThrow(invalid(message));
  });

  it('the options are refused where the other document can only be read with the missing value', () => {
    const open = (by: string, keyPaths: string[][]) => () => {
      const lookup = lookupOf({ from: 'Customers.tenant', by });
      return lookup && byLookup(lookup, TEXT, keyPaths);
    };
    expect(open('customerId', [['tenant'], ['id']])).toThrow(invalid('without the missing tenant'));
    expect(open('id=customerId,tenant=shop', [['tenant']])).not.toThrow();
    expect(open('id=customerId,regoin=x', [['region']])).toThrow(invalid('regoin'));
  });
});

describe('what is left of a life', () => {
  const at = (ttl: number | undefined, defaultTtl: number | undefined, seconds: number) =>
    ttlAfter({ _ts: 1_000, ...(ttl !== undefined && { ttl }) }, defaultTtl, 1_000_000 + seconds * 1_000);

  it.each([
    ['its own', 100, -1, 30, 70],
    ['its container’s, from then on its own', undefined, 100, 30, 70],
    ['a second at least', 100, -1, 100, 1],
    ['nothing that ends', -1, 100, 30, undefined],
    ['nothing that ends, where the container has no time to live', 100, undefined, 30, undefined],
    ['never the number that means leaving', LEAVING_TTL_S + 1, -1, 1, LEAVING_TTL_S - 1],
  ])('what is left of a life is %s', (_, ttl, defaultTtl, seconds, left) => {
    expect(at(ttl, defaultTtl, seconds)).toBe(left);
  });
});

it('the life that is left counts by this machine’s clock until the service has been asked', () => {
  const clock = new ManualClock();
  expect(new ServiceClock(clock).now()).toBe(1_000);
});
