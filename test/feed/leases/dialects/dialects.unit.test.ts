import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DIALECTS, type NewLease } from '../../../../src/feed/leases/dialects/dialect.ts';
import { readDocument } from '../../../../src/feed/leases/dialects/read.ts';
import { parseTimestamp } from '../../../../src/feed/leases/dialects/timestamp.ts';
import { foreignFields, writeDocument } from '../../../../src/feed/leases/dialects/write.ts';
import { inOurDialect, parseLease } from '../../../../src/feed/leases/lease-document.ts';
import { LEASE_FIXTURES, leaseFixtures } from '../../../fixtures/leases/index.ts';
import { suiteSeed } from '../../../support/seed.ts';

describe.each(LEASE_FIXTURES)('%s', (name) => {
  it.each(leaseFixtures(name))('$what', ({ document, reads }) => {
    expect(readDocument(document)).toEqual(reads);
  });
});

it.each([[undefined], [null], ['x'], [[]], [{}], [{ id: 7 }]])('%j is no document of a lease container', (raw) => {
  expect(readDocument(raw)).toEqual({ kind: 'unknown', why: 'it has no id' });
});

it.each([
  ['2026-01-02T03:04:05.1234567Z', 1767323045123],
  ['2026-01-02T03:04:05Z', 1767323045000],
  ['2026-01-02T03:04:05.123456Z[UTC]', 1767323045123],
  ['2026-01-02T04:04:05.123+01:00', 1767323045123],
  ['2026-01-02T04:04:05.123+01:00[Europe/Berlin]', 1767323045123],
  ['2026-01-02T03:04:05.123', 1767323045123],
  [1767323045, 1767323045000],
  ['1767323045', 1767323045000],
  ['yesterday', undefined],
  ['', undefined],
  [null, undefined],
  [Number.NaN, undefined],
])('the timestamp %j is read', (value, expected) => {
  expect(parseTimestamp(value)).toBe(expected);
});

const position = fc.nat(10 ** 9).map((lsn) => `"${lsn}"`);
const ranges = fc.constantFrom({ min: '', max: 'FF' }, { min: '', max: '1F' }, { min: '05C1', max: '3F' });
const newLease = fc
  .record({
    range: ranges,
    position: fc.option(position, { nil: undefined }),
    mode: fc.constantFrom('latest-version' as const, 'all-versions' as const),
    owner: fc.constantFrom(null, 'host-1', 'ö'),
    partition: fc.option(fc.nat(500).map(String), { nil: undefined }),
  })
  .map((lease): NewLease => ({ ...lease, prefix: 'P', rid: 'collRid=' }));
const foreign = fc.dictionary(fc.constantFrom('StartTime', 'team', 'x'), fc.jsonValue());

const says = ({ range, position: at, mode, owner }: Partial<NewLease>) => ({ range, position: at, mode, owner });

it('a lease says in every dialect what it said in the first, and keeps what no dialect knows', () => {
  const dialects = fc.array(fc.constantFrom(...DIALECTS), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(newLease, dialects, foreign, (lease, through, extra) => {
      let document: Record<string, unknown> = extra;
      for (const dialect of through) {
        const whole = dialect === 'dotnet-v0' || dialect === 'java-pk';
        if (whole && lease.partition === undefined) continue;
        if (dialect === 'java-pk' && lease.mode === 'all-versions') continue;
        document = writeDocument(dialect, lease, document);
        const reading = readDocument(document);
        if (reading.kind !== 'lease') throw new Error(JSON.stringify(reading));
        expect(reading.dialect).toBe(dialect);
        expect(says({ range: lease.range, ...reading })).toEqual(says(lease));
        expect(foreignFields(document)).toEqual(extra);
      }
    }),
    { seed: suiteSeed(), numRuns: 500 },
  );
});

it('an export names a range as each of the two epk dialects does, whatever the document had before', () => {
  const lease = { prefix: 'P', range: { min: '', max: '1F' }, rid: 'r', position: '"1"' };
  const dotnet = writeDocument('dotnet-v1', lease);
  const java = writeDocument('java-epk', lease, dotnet);
  expect(java).toMatchObject({ feedRange: { Range: { ...lease.range, isMinInclusive: true, isMaxInclusive: false } } });
  expect(Object.keys(java)).not.toContain('FeedRange');
  expect(Object.keys(writeDocument('dotnet-v1', lease, java))).not.toContain('feedRange');
});

it.each([
  ['dotnet-v0', {}],
  ['java-pk', {}],
  ['java-pk', { partition: '0', mode: 'all-versions' }],
  ['java-epk', { rid: undefined, position: '"1"' }],
] as const)('%s can’t store %j, and says so', (dialect, over) => {
  const lease = { prefix: 'P', range: { min: '', max: '1F' }, rid: 'r', ...over };
  expect(() => writeDocument(dialect, lease)).toThrow(
    expect.objectContaining({
      code: 'lease-not-expressible',
      hint: expect.stringContaining('another dialect') as string,
    }),
  );
});

describe('written back by us', () => {
  const RANGE = { min: '', max: 'FF' };
  const back = (document: Record<string, unknown>, partition?: string) => {
    const lease = parseLease(document, () => RANGE);
    if (!lease) throw new Error('It is no lease');
    return inOurDialect(document as never, lease, partition);
  };

  it.each([...leaseFixtures('dotnet-v0'), ...leaseFixtures('dotnet-v1')])(
    '.NET’s stays as it is: $what',
    ({ document }) => {
      expect(back(document, '0')).toEqual({ FeedRange: { Range: RANGE }, ...document });
    },
  );

  it.each([...leaseFixtures('java-pk'), ...leaseFixtures('java-epk')])(
    'Java’s becomes .NET’s, at the same place: $what',
    ({ document, reads }) => {
      const written = back({ ...document, mine: 1 }, '0');
      expect(written).toMatchObject({ id: document.id, LeaseToken: reads['token'], mine: 1 });
      const { dialect: _dialect, writtenAt: _at, kind: _kind, ...same } = reads;
      expect(readDocument(written)).toMatchObject({
        ...same,
        dialect: reads['dialect'] === 'java-pk' ? 'dotnet-v0' : 'dotnet-v1',
      });
    },
  );
});
