// The codes of keys against orders and forms that are worked out in another way.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyForm } from '../../src/shards/index.ts';
import { type KeyTypeName, type KeyValue, encodeKey, keyJson } from '../../src/shards/keys/key-type.ts';
import { suiteSeed } from '../support/seed.ts';

const seed = suiteSeed();
const holds = <T extends unknown[]>(property: fc.IProperty<T>): void => fc.assert(property, { seed, numRuns: 500 });
const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const sign = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

const LAST_TICK = 3_155_378_975_999_999_999n;
const bits64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const ticks = fc.bigInt({ min: 0n, max: LAST_TICK });

const INTEGERS = [
  ['int32', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map(BigInt)],
  ['int64', bits64],
  ['duration', bits64],
  ['dateTime', ticks],
  ['dateTimeOffset', ticks],
] as const satisfies (readonly [KeyTypeName, fc.Arbitrary<bigint>])[];

describe(`codes of keys (seed ${seed})`, () => {
  it.each(INTEGERS)(
    'codes of keys of %s sort as its numbers do, and have one form that is read back',
    (type, numbers) => {
      holds(
        fc.property(numbers, numbers, (a, b) => {
          expect(order(encodeKey(type, a), encodeKey(type, b))).toBe(sign(a, b));
          const code = encodeKey(type, a);
          expect(encodeKey(type, keyJson(type, code))).toBe(code);
          expect(code).toMatch(type === 'int32' ? /^[\da-f]{8}$/ : /^[\da-f]{16}$/);
        }),
      );
    },
  );

  it('codes of keys of bytes, GUIDs and text sort as Buffer.compare does', () => {
    holds(
      fc.property(fc.uint8Array({ maxLength: 128 }), fc.uint8Array({ maxLength: 128 }), (a, b) => {
        expect(order(encodeKey('bytes', a), encodeKey('bytes', b))).toBe(Buffer.compare(a, b));
        expect(Buffer.from(String(keyForm('bytes', a)), 'hex').equals(a)).toBe(true);
      }),
    );
    holds(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        expect(order(encodeKey('guid', a.toUpperCase()), encodeKey('guid', b))).toBe(order(a, b));
        expect(keyForm('guid', a.toUpperCase())).toBe(a);
      }),
    );
    holds(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 32 }),
        fc.string({ unit: 'binary', maxLength: 32 }),
        (a, b) => {
          expect(order(encodeKey('text', a), encodeKey('text', b))).toBe(
            Buffer.compare(Buffer.from(a), Buffer.from(b)),
          );
          expect(keyForm('text', a)).toBe(a);
        },
      ),
    );
  });

  it('codes of keys of times are those of Date, to the millisecond', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    holds(
      fc.property(dates, (date) => {
        const text = date.toISOString();
        expect(keyForm('dateTime', date)).toBe(text.replace('Z', '0000Z'));
        expect(keyForm('dateTimeOffset', date)).toBe(text.replace('Z', '0000+00:00'));
        expect(encodeKey('dateTime', text)).toBe(encodeKey('dateTime', date));
      }),
    );
  });
});

describe('the form of a key in documents', () => {
  it.each<[KeyTypeName, KeyValue, string | number]>([
    ['int32', -0, 0],
    ['int32', -2_147_483_648, -2_147_483_648],
    ['int64', 9_007_199_254_740_993n, '9007199254740993'],
    ['int64', '-9223372036854775808', '-9223372036854775808'],
    ['int64', 7, '7'],
    ['guid', '5C0F6A0E-3B1C-4E0A-9D53-0C9A4B1A7F11', '5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11'],
    ['bytes', new Uint8Array([1, 0]), '0100'],
    ['bytes', 'FF', 'ff'],
    // Ticks of .NET: DateTime.UnixEpoch, DateTime.MaxValue, and 2026-03-01 with seven digits.
    ['dateTime', 621_355_968_000_000_000n, '1970-01-01T00:00:00.0000000Z'],
    ['dateTime', 3_155_378_975_999_999_999n, '9999-12-31T23:59:59.9999999Z'],
    ['dateTime', 0n, '0001-01-01T00:00:00.0000000Z'],
    ['dateTime', '2026-03-01T00:00:00.1234567Z', '2026-03-01T00:00:00.1234567Z'],
    ['dateTimeOffset', '2026-03-01T00:30:00.5+01:00', '2026-02-28T23:30:00.5000000+00:00'],
    ['dateTimeOffset', '2026-02-28T13:00:00-10:30', '2026-02-28T23:30:00.0000000+00:00'],
    ['duration', '01:00:00', '0.01:00:00.0000000'],
    ['duration', '-1.02:03:04.5', '-1.02:03:04.5000000'],
    // TimeSpan.MinValue of .NET.
    ['duration', -(2n ** 63n), '-10675199.02:48:05.4775808'],
    ['text', 'É', 'É'],
  ])('the form of a key in documents of %s %s is %s', (type, value, form) => {
    expect(keyForm(type, value)).toBe(form);
    expect(keyForm(type, form)).toBe(form);
  });

  it.each<[KeyTypeName, unknown]>([
    ['int32', 2_147_483_648],
    ['int32', 1.5],
    ['int32', '1'],
    ['int64', 9_007_199_254_740_992],
    ['int64', 9_223_372_036_854_775_808n],
    ['int64', '01'],
    ['int64', '-0'],
    ['guid', '{5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11}'],
    ['guid', '5c0f6a0e3b1c4e0a9d530c9a4b1a7f11'],
    ['bytes', new Uint8Array(129)],
    ['bytes', 'f'],
    ['dateTime', '2026-03-01T00:00:00'],
    ['dateTime', '2026-03-01T00:00:00+00:00'],
    ['dateTime', '2026-02-30T00:00:00Z'],
    ['dateTime', '2026-03-01T00:00:00.12345678Z'],
    ['dateTime', 3_155_378_976_000_000_000n],
    ['dateTime', -1n],
    ['dateTime', new Date(Number.NaN)],
    ['dateTimeOffset', '2026-03-01T00:00:00+14:01'],
    ['dateTimeOffset', '0001-01-01T00:00:00+01:00'],
    ['duration', '25:00:00'],
    ['duration', '10675199.02:48:05.4775808'],
    ['text', '\ud800'],
    ['text', 'x'.repeat(129)],
    ['text', null],
  ])('the form of a key in documents is refused for %s %s', (type, value) => {
    expect(() => encodeKey(type, value)).toThrow(expect.objectContaining({ code: 'shard-key-invalid' }));
  });

  it('the form of a key in documents is one for bytes that end with a zero and one for those that don’t', () => {
    expect(encodeKey('bytes', new Uint8Array([1]))).not.toBe(encodeKey('bytes', new Uint8Array([1, 0])));
    expect(encodeKey('bytes', new Uint8Array([1])) < encodeKey('bytes', new Uint8Array([1, 0]))).toBe(true);
  });
});
