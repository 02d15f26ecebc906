import { describe, expect, it } from 'vitest';
import { LEAVING_TTL_S } from '../../../src/projections/archive/leaving.ts';
import type { DocumentAccess } from '../../../src/sinks/document-access.ts';
import { ttlAfter } from '../../../src/operations/tenants/life.ts';
import { ServiceClock } from '../../../src/operations/tenants/service-clock.ts';
import { type ValuesInput, lookupOf, openValues } from '../../../src/operations/tenants/values.ts';
import { ManualClock } from '../../support/clock.ts';

const UNUSED = {} as DocumentAccess;
const found = (input: ValuesInput, doc: object) => openValues(input, 'tenant', []).of([{ ...doc }], UNUSED);

describe('a value', () => {
  it.each([
    ['t', { value: 't' }],
    ['x'.repeat(1_000), { value: 'x'.repeat(1_000) }],
    [0, { value: 0 }],
    [undefined, { why: 'it has no a.b' }],
    [null, { why: 'it has no a.b' }],
    ['', { why: 'it has "" as a.b, which can\'t be a tenant' }],
    [true, { why: "it has true as a.b, which can't be a tenant" }],
    [['t'], { why: "it has an array as a.b, which can't be a tenant" }],
  ])('%j of a field is %j', async (value, expected) => {
    expect(await found({ from: 'a.b' }, { a: { b: value } })).toEqual([expected]);
  });

  it('of more than 1,000 characters is none', async () => {
    expect(await found({ from: 'a' }, { a: 'x'.repeat(1_001) })).toMatchObject([{ why: /can't be a tenant/ }]);
  });

  it('given for all documents is taken as text', async () => {
    expect(await found({ value: '7' }, {})).toEqual([{ value: '7' }]);
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

  it.each([
    [{}, 'either --from or --value'],
    [{ from: 'a', value: 'b' }, 'either --from or --value'],
    [{ value: '' }, '--value'],
    [{ value: 'x'.repeat(1_001) }, '--value'],
    [{ from: 'Customers', by: 'customerId' }, 'CONTAINER.FIELD'],
    [{ from: 'C.t', by: 'id=' }, '--by'],
    [{ from: 'C.t', by: 'a,b' }, '--by'],
  ])('%j are refused', (input, message) => {
    expect(() => openValues(input, 'tenant', [])).toThrow(expect.objectContaining({ code: 'input-invalid' }));
    expect(() => openValues(input, 'tenant', [])).toThrow(message);
  });

  it('are refused where the other document can only be read with the missing value', () => {
    const input = { from: 'Customers.tenant', by: 'customerId' };
    expect(() => openValues(input, 'tenant', [['tenant'], ['id']])).toThrow('without the missing tenant');
    expect(() => openValues({ ...input, by: 'id=customerId,tenant=shop' }, 'tenant', [['tenant']])).not.toThrow();
    expect(() => openValues({ ...input, by: 'id=customerId,regoin=x' }, 'tenant', [['region']])).toThrow('regoin');
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
  ])('is %s', (_, ttl, defaultTtl, seconds, left) => {
    expect(at(ttl, defaultTtl, seconds)).toBe(left);
  });
});

it('counts by this machine’s clock until the service has been asked', () => {
  const clock = new ManualClock();
  expect(new ServiceClock(clock).now()).toBe(1_000);
});
