import { expect, test } from 'vitest';
import * as fc from 'fast-check';
import { aggregateId } from '../../src/pipeline/derived-ids.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' ', '~', '|', 'a|b', '~n1', '1', 'true', 'null', '~z'),
);
const value = fc.oneof(
  text,
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  fc.boolean(),
  fc.constant(null),
);
const group = fc.record({ storeId: value, day: value });

const wellFormed = (of: Record<string, unknown>) =>
  JSON.stringify(Object.values(of).map((v) => (typeof v === 'string' ? v.toWellFormed() : v)));

test('an id says its type and its values, in the order of the field names', () => {
  expect(aggregateId('storeDay', { storeId: 'store-1', day: '2026-01-31' })).toBe('storeDay|2026-01-31|store-1');
  expect(aggregateId('storeDay', { day: '2026-01-31', storeId: 'store-1' })).toBe('storeDay|2026-01-31|store-1');
  expect(aggregateId('day', { day: '2001/01/31', n: 12, ok: true, none: null })).toBe('day|2001~2F01~2F31|~n12|~z|~t');
  expect(aggregateId('city', { name: 'Zürich' })).toBe('city|Z~C3~BCrich');
});

test('an id is one that Cosmos DB takes, of at most 255 bytes', () => {
  fc.assert(
    fc.property(text, group, (type, of) => {
      const id = aggregateId(type, of);
      expect(id).toMatch(/^[\w.:@ ~|-]+$|^$/);
      expect(id).not.toMatch(/ $/);
      expect(Buffer.byteLength(id)).toBeLessThanOrEqual(255);
    }),
  );
});

test('different groups have different ids, equal ones the same', () => {
  fc.assert(
    fc.property(group, group, (a, b) => {
      expect(aggregateId('t', a) === aggregateId('t', b)).toBe(wellFormed(a) === wellFormed(b));
    }),
    { numRuns: 2000 },
  );
});

test('a long group gets a digest, different for different groups', () => {
  const long = 'x'.repeat(300);
  const a = aggregateId('t', { name: `${long}a` });
  expect(a).toMatch(/^t\|~~[\w-]{43}$/);
  expect(a).not.toBe(aggregateId('t', { name: `${long}b` }));
  expect(aggregateId(long, { name: 'a' })).toMatch(/^~~[\w-]{43}$/);
});

test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, {}, []])('%s tells no groups apart', (bad) => {
  expect(() => aggregateId('t', { day: bad })).toThrow(expect.objectContaining({ code: 'value-invalid' }));
});
