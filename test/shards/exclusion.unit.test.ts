import {
  type Arbitrary,
  assert,
  bigInt,
  boolean as truth,
  integer,
  nat,
  oneof,
  property,
  string as texts,
  uint8Array,
  uniqueArray,
  uuid,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareQuery } from '../../src/emulator/sql/prepare.ts';
import { type KeyTypeName, encodeKey, keyJson } from '../../src/shards/keys/key-type.ts';
import type { MapFacts } from '../../src/shards/map/documents.ts';
import { type KeySpan, covers, joined, withoutSpan } from '../../src/shards/keys/spans.ts';
import { exclusionOf } from '../../src/shards/query/exclusion.ts';

/** Runs of each property: there are many types. */
const RUNS = { numRuns: 40 };
const LONG = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
/** Also numbers of few digits, so that lengths and signs meet. */
const long = oneof(bigInt(LONG), bigInt({ min: -1_200n, max: 1_200n }));
const point = bigInt({ min: 0n, max: 3_155_378_975_999_999_999n });
const VALUES: Readonly<Record<KeyTypeName, Arbitrary<unknown>>> = {
  int32: integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  int64: long,
  duration: oneof(long, bigInt({ min: -(10n ** 14n), max: 10n ** 14n })),
  guid: uuid(),
  bytes: uint8Array({ maxLength: 3 }),
  dateTime: point,
  dateTimeOffset: point,
  text: texts({ maxLength: 3, unit: 'grapheme' }),
};

/** Which keys pass the condition, by the embedded server's SQL. */
function passing(facts: MapFacts, strays: readonly KeySpan[], codes: readonly string[]): boolean[] {
  const { conditions, parameters } = exclusionOf(facts, strays, 'c["k"]');
  const text = `SELECT VALUE c.n FROM c WHERE ${['true', ...conditions].join(' AND ')}`;
  const docs = codes.map((code, n) => ({ n, k: keyJson(facts.keyType, code) }));
  const run = prepareQuery(text, new Map(parameters.map(({ name, value }) => [name, value]))).run(
    docs.map((doc) => ({ doc, text: JSON.stringify(doc) })),
  );
  const found = new Set([...run].map(Number));
  return codes.map((_, n) => found.has(n));
}

describe('the condition that leaves strays out holds for every key that isn’t a stray', () => {
  const schema = { sharded: { Orders: '/k' } };
  const types = Object.entries(VALUES) as [KeyTypeName, Arbitrary<unknown>][];

  it.each(types.filter(([keyType]) => keyType !== 'text'))(
    'the condition that leaves strays out holds for every other key of a range map of type %s',
    (keyType, values) => {
      const codes = uniqueArray(
        values.map((value) => encodeKey(keyType, value)),
        { minLength: 2, maxLength: 12 },
      );
      assert(
        property(codes, truth(), truth(), (keys, fromStart, toEnd) => {
          const sorted = keys.toSorted();
          const [low, high] = [fromStart ? '' : sorted[0]!, toEnd ? undefined : sorted.at(-1)!];
          const strays = [{ low, ...(high !== undefined && { high }) }];
          const middle = { low: sorted[Math.floor(sorted.length / 2)]!, ...(high !== undefined && { high }) };
          for (const spans of [strays, withoutSpan(strays, [middle])])
            expect(passing({ kind: 'range', keyType, schema }, spans, keys)).toEqual(
              keys.map((code) => !spans.some((span) => covers(span, code))),
            );
        }),
        RUNS,
      );
    },
  );

  it.each(types)(
    'the condition that leaves strays out holds for every other key of a list map of type %s',
    (keyType, values) => {
      const codes = uniqueArray(
        values.map((value) => encodeKey(keyType, value)),
        { minLength: 1, maxLength: 12 },
      );
      assert(
        property(codes, nat(12), (keys, count) => {
          const strays = keys.slice(0, count).map((code) => ({ low: code, high: code }));
          expect(passing({ kind: 'list', keyType, schema }, strays, keys)).toEqual(keys.map((_, n) => n >= count));
        }),
        RUNS,
      );
    },
  );

  it.each(types)(
    'the condition that leaves strays out holds for documents without a key, or with one of another JSON type: %s',
    (keyType) => {
      const kind = keyType === 'text' ? 'list' : 'range';
      const all = kind === 'list' ? { low: '6b', high: '6b' } : { low: '' };
      const { conditions, parameters } = exclusionOf({ kind, keyType, schema }, [all], 'c["k"]');
      const other = keyType === 'int32' ? 'text' : 7;
      const docs = [{}, { k: null }, { k: [1] }, { k: true }, { k: other }];
      const run = prepareQuery(
        `SELECT VALUE 1 FROM c WHERE ${conditions.join(' AND ')}`,
        new Map(parameters.map(({ name, value }) => [name, value])),
      ).run(docs.map((doc) => ({ doc, text: JSON.stringify(doc) })));
      expect([...run]).toHaveLength(docs.length);
    },
  );
});

describe('spans of keys', () => {
  const SIZE = 8;
  const code = (n: number): string => n.toString(16);
  /** A set of small numbers, as the spans that have them. */
  const spansOf = (numbers: ReadonlySet<number>): KeySpan[] =>
    [...numbers].map((n) => ({ low: code(n), ...(n < SIZE - 1 && { high: code(n + 1) }) }));
  const numbersOf = (spans: readonly KeySpan[]): number[] =>
    Array.from({ length: SIZE }, (_, n) => n).filter((n) => spans.some((span) => covers(span, code(n))));
  const sets = uniqueArray(nat(SIZE - 1)).map((all) => new Set(all));

  it('spans of keys are added and taken away as sets of keys are', () =>
    assert(
      property(sets, sets, sets, (one, more, less) => {
        const result = withoutSpan(joined(joined([], spansOf(one)), spansOf(more)), joined([], spansOf(less)));
        const all = new Set([...one, ...more]);
        const wanted = [...all].filter((n) => !less.has(n)).toSorted((a, b) => a - b);
        expect(numbersOf(result)).toEqual(wanted);
        // Neighbours are one span.
        const sum = joined([], result);
        expect(sum.every(({ low }, at) => at === 0 || sum[at - 1]!.high !== low)).toBe(true);
      }),
    ));

  it('spans of keys of single keys stay single', () => {
    const single = (key: string): KeySpan => ({ low: key, high: key });
    const both = joined([single('b')], [single('a'), single('b')]);
    expect(both).toEqual([single('a'), single('b')]);
    expect(withoutSpan(both, [single('a')])).toEqual([single('b')]);
  });
});
