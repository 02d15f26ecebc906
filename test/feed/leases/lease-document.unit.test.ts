import { describe, expect, it } from 'vitest';
import { leasePrefix } from '../../../src/feed/leases/cosmos-lease-store.ts';
import { newLeaseDocument, parseLease } from '../../../src/feed/leases/lease-document.ts';

const RANGE = { min: '', max: '1F' };
const nowhere = () => undefined;
/** As .NET and Functions store it. */
const stored = (over: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'P..0',
  version: 0,
  LeaseToken: '0',
  FeedRange: { Range: { min: '', max: '1F' } },
  Mode: 'Incremental Feed',
  ContinuationToken: '"42"',
  Owner: 'host-1',
  timestamp: '2026-01-02T03:04:05.1234567Z',
  properties: {},
  _etag: '"e"',
  ...over,
});

describe('a stored lease', () => {
  it('a stored lease of .NET version 0 is read', () => {
    expect(parseLease(stored(), nowhere)).toEqual({
      id: 'P..0',
      token: '0',
      range: RANGE,
      owner: 'host-1',
      position: '"42"',
      etag: '"e"',
    });
  });

  it('a stored lease of .NET version 1 is read, its token being its range', () => {
    const v1 = stored({ id: 'P..-1F', version: 1, LeaseToken: '-1F' });
    expect(parseLease(v1, nowhere)).toMatchObject({ token: '-1F', range: RANGE });
  });

  it('a stored lease without a feed range has that of its partition', () => {
    const old = stored({ FeedRange: undefined });
    expect(parseLease(old, (token) => (token === '0' ? RANGE : undefined))?.range).toEqual(RANGE);
    expect(parseLease(stored({ FeedRange: null }), () => RANGE)?.range).toEqual(RANGE);
    expect(parseLease(old, nowhere)).toBeUndefined();
  });

  it('a stored lease of the second .NET library is read by its PartitionId', () => {
    const v2 = stored({ LeaseToken: undefined, PartitionId: '7', FeedRange: undefined });
    expect(parseLease(v2, (token) => (token === '7' ? RANGE : undefined))).toMatchObject({ token: '7', range: RANGE });
  });

  it.each([null, undefined, ''])('a stored lease owned by %j is free', (Owner) => {
    expect(parseLease(stored({ Owner }), nowhere)?.owner).toBeNull();
  });

  it.each([null, undefined, ''])('a stored lease with continuation %j was never checkpointed', (ContinuationToken) => {
    expect(parseLease(stored({ ContinuationToken }), nowhere)).not.toHaveProperty('position');
  });

  it.each([
    ['the marker', { id: 'P.info', _etag: '"e"' }],
    ['the lock', { id: 'P.lock', ttl: 30, _etag: '"e"' }],
    ['a lease without etag', stored({ _etag: undefined })],
    ['text', 'P..0'],
    ['nothing', undefined],
  ])('a stored lease is not %s', (_what, raw) => {
    expect(parseLease(raw, () => RANGE)).toBeUndefined();
  });
});

it('a new lease is one that .NET and Functions read', () => {
  const lease = newLeaseDocument('P', '3', RANGE, null);
  expect(lease).toEqual({
    id: 'P..3',
    version: 0,
    LeaseToken: '3',
    FeedRange: { Range: { min: '', max: '1F' } },
    Mode: 'Incremental Feed',
    ContinuationToken: null,
    Owner: null,
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/) as string,
    properties: {},
  });
  expect(parseLease({ ...lease, _etag: '"e"' }, nowhere)).toMatchObject({ id: 'P..3', range: RANGE, owner: null });
});

it('a range that is no physical partition gets a lease of version 1, told by its borders', () => {
  expect(newLeaseDocument('P', undefined, { min: '05', max: '1F' }, '"7"')).toMatchObject({
    id: 'P..05-1F',
    version: 1,
    LeaseToken: '05-1F',
    FeedRange: { Range: { min: '05', max: '1F' } },
    ContinuationToken: '"7"',
  });
});

it('the prefix is the one under which .NET and Functions look', () => {
  expect(leasePrefix('shop', 'https://acc.documents.azure.com:443/', 'dbRid==', 'collRid=')).toBe(
    'shopacc.documents.azure.com_dbRid==_collRid=',
  );
});
