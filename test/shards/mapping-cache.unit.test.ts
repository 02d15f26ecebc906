import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KeyTypeName, encodeKey } from '../../src/shards/keys/key-type.ts';
import { type Span, overlaps } from '../../src/shards/keys/spans.ts';
import { MappingCache } from '../../src/shards/routing/mapping-cache.ts';
import { suiteSeed } from '../support/seed.ts';

const RUNS = { seed: suiteSeed(), numRuns: 200 };

/** Keys close together and far apart, so that codes share long and short beginnings. */
const KEYS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  int64: codes('int64', fc.oneof(fc.bigInt(-20n, 20n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))),
  guid: codes('guid', fc.oneof(fc.uuid(), fc.integer({ min: 0, max: 99 }).map(uuid))),
  bytes: codes('bytes', fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ maxLength: 20 }))),
  text: codes(
    'text',
    fc.oneof(
      fc.string({ maxLength: 2 }),
      fc.nat(300).map((at) => `tenant-of-the-shop-${at}`),
    ),
  ),
};

function codes(type: KeyTypeName, keys: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return keys.map((key) => encodeKey(type, key));
}
function uuid(last: number): string {
  return `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`;
}

const spans = (code: fc.Arbitrary<string>): fc.Arbitrary<Span> =>
  fc.oneof(
    code.map((one) => ({ low: one, high: one })),
    code.map((high) => ({ low: '', ...(high !== '' && { high }) })),
    code.map((low) => ({ low })),
    fc.tuple(code, code).map(([one, other]) => (one < other ? { low: one, high: other } : { low: other, high: one })),
  );

describe('a cache of mappings', () => {
  it.each(Object.entries(KEYS))('finds what a plain list finds, with keys of type %s', (_, code) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(spans(code), fc.boolean()), { maxLength: 40 }), fc.array(code), (all, asked) => {
        const cache = new MappingCache<Span>();
        let plain: Span[] = [];
        for (const [span, isRemoved] of all) {
          const left = plain.filter((one) => !overlaps(one, span));
          expect(cache.put(span)).toBe(plain.length - left.length);
          plain = [...left, span];
          const [first] = plain;
          if (!isRemoved || !first) continue;
          expect(cache.remove(first)).toBe(true);
          expect(cache.remove(first)).toBe(false);
          plain = plain.slice(1);
        }
        expect(cache.size).toBe(plain.length);
        for (const one of [...asked, ...all.flatMap(([{ low, high = '' }]) => [low, high])])
          expect(cache.find(one)).toBe(plain.find((span) => overlaps(span, { low: one, high: one })));
        const isLong = ({ low }: Span): boolean => low.length % 3 === 0;
        expect(cache.removeIf(isLong)).toBe(plain.filter(isLong).length);
        for (const one of asked)
          expect(cache.find(one)).toBe(plain.find((span) => !isLong(span) && overlaps(span, { low: one, high: one })));
      }),
      RUNS,
    );
  });
});
