import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KeyTypeName, encodeKey } from '../../src/shards/keys/key-type.ts';
import { type KeySpan, spansOverlap } from '../../src/shards/keys/spans.ts';
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

const spans = (code: fc.Arbitrary<string>): fc.Arbitrary<KeySpan> =>
  fc.oneof(
    code.map((one) => ({ low: one, high: one })),
    code.map((high) => ({ low: '', ...(high !== '' && { high }) })),
    code.map((low) => ({ low })),
    fc.tuple(code, code).map(([one, other]) => (one < other ? { low: one, high: other } : { low: other, high: one })),
  );

describe('a cache of mappings', () => {
  it.each(Object.entries(KEYS))(
    'a cache of mappings finds what a plain list finds, with keys of type %s',
    (_, code) => {
      fc.assert(
        fc.property(fc.array(fc.tuple(spans(code), fc.boolean()), { maxLength: 40 }), fc.array(code), (all, asked) => {
          const cache = new MappingCache<KeySpan>();
          let plain: KeySpan[] = [];
          for (const [span, isRemoved] of all) {
            const left = plain.filter((one) => !spansOverlap(one, span));
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
            expect(cache.find(one)).toBe(plain.find((span) => spansOverlap(span, { low: one, high: one })));
          const isLong = ({ low }: KeySpan): boolean => low.length % 3 === 0;
          expect(cache.removeIf(isLong)).toBe(plain.filter(isLong).length);
          for (const one of asked)
            expect(cache.find(one)).toBe(
              plain.find((span) => !isLong(span) && spansOverlap(span, { low: one, high: one })),
            );
        }),
        RUNS,
      );
    },
  );

  it('a cache of mappings recalls no mapping that has gone, however it went', () => {
    const change = fc.tuple(fc.constantFrom('put', 'remove', 'removeIf'), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const cache = new MappingCache<KeySpan>();
        const all = Array.from({ length: 10 }, (_, key) => encodeKey('int32', key));
        for (const [verb, key] of changes) {
          const low = all[key]!;
          const known = cache.find(low);
          if (verb === 'put') cache.put({ low, high: low });
          else if (verb === 'remove' && known) cache.remove(known);
          else cache.removeIf((one) => one === known);
          for (const [at, code] of all.entries()) {
            const found = cache.find(code);
            expect([undefined, found]).toContain(cache.recall(at));
            if (!found) continue;
            cache.remember(at, found);
            expect(cache.recall(at)).toBe(found);
          }
        }
      }),
      RUNS,
    );
  });

  it('a cache of mappings remembers two forms a mapping at most, and no key that its caller may change', () => {
    const cache = new MappingCache<KeySpan>();
    const mapping = { low: '00', high: '00' };
    cache.put(mapping);
    const key = new Uint8Array([0]);
    cache.remember(key, mapping);
    expect(cache.recall(key)).toBeUndefined();
    for (const form of ['00', '0', '000']) cache.remember(form, mapping);
    expect(['00', '0', '000'].map((form) => cache.recall(form))).toStrictEqual([undefined, undefined, mapping]);
  });
});
