import { describe, expect, it } from 'vitest';
import { redacted } from '../../src/model/redaction.ts';
import { momentOf } from '../../src/model/moments.ts';

const one = (...values: unknown[]): unknown[] =>
  redacted(
    values.map((value) => ({ value })),
    () => false,
  ).map(({ value }) => value);

describe('redacted examples', () => {
  it('A text gets other letters and digits, and keeps its length, its marks and its case', () => {
    const given = ['ada@example.com', 'Ada Lovelace', '+49 30 1234567', 'Ünal-Öz', 'EUR'];
    for (const [at, made] of one(...given).entries()) {
      const form = (text: unknown): string =>
        String(text).replaceAll(/[\p{L}\p{N}]/gu, (c) => (/\p{N}/u.test(c) ? '0' : /\p{Lu}/u.test(c) ? 'A' : 'a'));
      expect(form(made)).toBe(form(given[at]));
      expect(made).not.toBe(given[at]);
    }
  });

  it('Equal texts stay equal and different texts stay different, also as parts of an id', () => {
    const [order, store, sku, other] = one('store-12|sku-7', 'store-12', 'sku-7', 'store-13') as string[];
    expect(order).toBe(`${store}|${sku}`);
    expect(other).not.toBe(store);
    const many = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    expect(new Set(one(...many)).size).toBe(1_000);
  });

  it('A GUID becomes a GUID that keeps nothing of it', () => {
    const [made, again] = one('3f2504e0-4f89-41d3-9a0c-0305e82c3301', 'b7e7a1c2-4f89-41d3-9a0c-0305e82c3301');
    expect(made).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/);
    expect(made).not.toMatch(/[1-9a-f]/);
    expect(again).not.toBe(made);
  });

  it('Dates stay dates in their format and order, and a day still is the day of its moments', () => {
    const given = ['2026-03-01', '2026-03-01T10:15:00Z', '2026-03-01T09:00:00.1234567Z', '2026-03-17T10:15:00+02:00'];
    const [day, late, early, next] = one(...given, '2026-03', 's1|2026-03-01') as string[];
    expect(day).toMatch(/^2000-\d\d-\d\d$/);
    expect([late?.slice(0, 10), early?.slice(0, 10)]).toEqual([day, day]);
    expect(String(early) < String(late) && String(late) < String(next)).toBe(true);
    expect(early).toMatch(/T\d\d:\d\d:\d\d\.0000000Z$/);
    expect(next).toMatch(/\+02:00$/);
    for (const moment of [late, early, next]) expect(momentOf(moment?.replace(/0Z$/, 'Z') ?? '')).toHaveProperty('utc');
    const [, , , , month, joined] = one(...given, '2026-03', 's1|2026-03-01') as string[];
    expect([month, joined?.split('|')[1]]).toEqual([day?.slice(0, 7), day]);
  });

  it('.NET’s smallest and greatest dates stay, because they say that there is none', () => {
    const none = ['0001-01-01T00:00:00', '9999-12-31T23:59:59.9999999'];
    expect(one(...none)).toEqual(none);
  });

  it('A number keeps its sign, its digits and whether it is whole; one digit, true and null stay', () => {
    expect(one(3, 0, -1, true, null, '')).toEqual([3, 0, -1, true, null, '']);
    const given = [4_711, -52, 12.75, 0.5, -13.405, 1_772_359_200_000, 52.520_008];
    for (const [at, made] of one(...given).entries()) {
      const form = (value: unknown): string => String(value).replaceAll(/\d/g, '0');
      expect(form(made)).toBe(form(given[at]));
      expect(made).not.toBe(given[at]);
    }
    const prices = Array.from({ length: 900 }, (_, index) => 100 + index);
    expect(new Set(one(...prices)).size).toBe(900);
    expect(one(1e300, 1e-9, Number.MAX_SAFE_INTEGER).every(Number.isFinite)).toBe(true);
  });

  it('Names of members that are data are replaced, and shapes of GeoJSON aren’t', () => {
    const [map, place] = one({ 'ada@example.com': 12, '2026-03-01': 40 }, { type: 'Point', coordinates: [13.4, 52.5] });
    expect(JSON.stringify(map)).not.toMatch(/ada|2026/);
    expect(place).toMatchObject({ type: 'Point' });
  });
});
