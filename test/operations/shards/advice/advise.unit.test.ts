// Whoever follows the advice has shards that are more even after each move. Where keys are is kept here by a list of its own.
import { array, assert, boolean, constantFrom, integer, nat, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Limits, advise } from '../../../../src/operations/shards/advice/advise.ts';
import type { AdvisedMove, Weighed, WeighedMapping } from '../../../../src/operations/shards/advice/layout.ts';

const LIMITS: Limits = { share: 0.5, most: 50 };
const SHARDS = ['west', 'east', 'north'];
const code = (n: number): string => String(n).padStart(6, '0');

interface Drawn {
  readonly shard: string;
  readonly weights: readonly number[];
  readonly fixed?: boolean;
}

/** Mappings that follow one another, or one for each key. A key weighs as many bytes. */
function weighed(drawn: readonly Drawn[], kind: 'list' | 'range' = 'range', shards = SHARDS): Weighed {
  let next = 0;
  const mappings = drawn.flatMap(({ shard, weights, fixed = false }): WeighedMapping[] => {
    const low = code(next);
    const keys = weights.map((weight) => ({ code: code(next++), weight, bytes: weight }));
    next += 1;
    if (kind === 'range') return [{ span: { low, high: code(next) }, shard, keys, fixed }];
    return keys.map((key) => ({ span: { low: key.code, high: key.code }, shard, keys: [key], fixed }));
  });
  return { shards, mappings };
}

class Followed {
  readonly places: { readonly code: string; readonly weight: number; fixed: boolean; shard: string }[];

  constructor({ mappings }: Weighed) {
    this.places = mappings.flatMap(({ keys, shard, fixed }) =>
      keys.map((key) => ({ code: key.code, weight: key.weight, fixed, shard })),
    );
  }

  load(shard: string): number {
    return this.places.reduce((sum, one) => sum + (one.shard === shard ? one.weight : 0), 0);
  }

  /** How many keys are moved that are elsewhere or fixed. */
  follow({ span: { low, high }, from, to }: AdvisedMove): number {
    const moved = this.places.filter(
      (one) => one.code === low || (one.code >= low && (high === undefined || one.code < high)),
    );
    const wrong = moved.filter(({ shard, fixed }) => fixed || shard !== from).length;
    for (const one of moved) [one.shard, one.fixed] = [to, true];
    return wrong;
  }
}

const drawnMappings = array(
  record({
    shard: constantFrom(...SHARDS),
    weights: array(integer({ min: 1, max: 1_000 }), { maxLength: 12 }),
    fixed: nat(4).map((n) => n === 0),
  }),
  { maxLength: 12 },
);

describe('the advice, followed in its order,', () => {
  it('lowers the fuller one of both shards each time, and moves no key that is locked, nor one twice', () => {
    assert(
      property(drawnMappings, constantFrom('list' as const, 'range' as const), boolean(), (mappings, kind, limited) => {
        const world = weighed(mappings, kind);
        const { isolate, move } = advise(world, limited ? { ...LIMITS, mostBytes: 700 } : LIMITS);
        const followed = new Followed(world);
        for (const one of [...isolate, ...move]) {
          const before = { from: followed.load(one.from), to: followed.load(one.to) };
          expect(followed.follow(one)).toBe(0);
          const after = { from: followed.load(one.from), to: followed.load(one.to) };
          expect(one).toMatchObject({ before, after, weight: before.from - after.from });
          expect(Math.max(after.from, after.to)).toBeLessThan(Math.max(before.from, before.to));
        }
      }),
    );
  });

  it('ends where no shard of small keys is over the mean by more than a tenth', () => {
    assert(
      property(
        array(nat(2), { minLength: 3, maxLength: 12 }),
        constantFrom('list' as const, 'range' as const),
        (shards, kind) => {
          const world = weighed(
            shards.map((at) => ({ shard: SHARDS[at]!, weights: Array.from({ length: 30 }, () => 1) })),
            kind,
          );
          const followed = new Followed(world);
          for (const one of advise(world, { ...LIMITS, most: 1_000 }).move) followed.follow(one);
          for (const shard of SHARDS) expect(followed.load(shard)).toBeLessThanOrEqual(shards.length * 10 * 1.1);
        },
      ),
    );
  });

  it('is nothing where all shards have the same', () => {
    const weights = array(integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 20 });
    assert(
      property(weights, constantFrom('list' as const, 'range' as const), (same, kind) => {
        const world = weighed(
          SHARDS.map((shard, at) => ({ shard, weights: at === 1 ? same.toReversed() : same })),
          kind,
        );
        expect(advise(world, LIMITS)).toEqual({ isolate: [], move: [], merge: [] });
      }),
    );
  });
});

it('a key above the mean of all gets the empty shard, and the rest is evened out without it', () => {
  const world = weighed([
    { shard: 'west', weights: [10, 900, 10] },
    { shard: 'east', weights: [4, 4] },
  ]);
  const { isolate, move } = advise(world, LIMITS);
  expect(isolate).toMatchObject([
    { span: { low: code(1), high: code(2) }, weight: 900, from: 'west', to: 'north', isNew: false },
  ]);
  expect(move).toMatchObject([
    { weight: 10, from: 'west', to: 'east', after: { from: 10, to: 18 } },
    { weight: 4, from: 'east', to: 'west', after: { from: 14, to: 14 } },
  ]);
  expect(advise({ ...world, shards: ['west', 'east'] }, LIMITS).isolate).toMatchObject([{ to: 'NEW-1', isNew: true }]);
});

it('a key over the limit in bytes gets a shard of its own, though its shard is even with the others', () => {
  const world = weighed(SHARDS.map((shard, at) => ({ shard, weights: at === 0 ? [60, 40] : [50, 50] })));
  expect(advise(world, LIMITS).isolate).toEqual([]);
  expect(advise(world, { ...LIMITS, mostBytes: 60 }).isolate).toMatchObject([{ weight: 60, to: 'NEW-1' }]);
});

it('keys at an end of a mapping are moved before those in its middle that are nearly as good, because that cuts less', () => {
  const world = weighed([{ shard: 'west', weights: [400, 296, 404, 300] }], 'range', ['west', 'east']);
  expect(advise(world, LIMITS).move).toMatchObject([
    { span: { low: code(0), high: code(2) }, weight: 696, from: 'west', to: 'east' },
  ]);
});

it('a key that weighs as much as the difference stays, because the shards would only change places', () => {
  const drawn: Drawn[] = [
    { shard: 'west', weights: [100, 100] },
    { shard: 'east', weights: [50, 50] },
  ];
  const two = ['west', 'east'];
  expect(advise(weighed(drawn, 'range', two), LIMITS).move).toEqual([]);
  expect(advise(weighed([drawn[0]!, { shard: 'east', weights: [49, 50] }], 'range', two), LIMITS).move).toMatchObject([
    { weight: 100, before: { from: 200, to: 99 }, after: { from: 100, to: 199 } },
    { weight: 49 },
  ]);
});

it('neighbours on one shard are merged, but not those of which a key moves, nor a locked one', () => {
  const even: Drawn[] = [
    { shard: 'west', weights: [50] },
    { shard: 'west', weights: [50] },
    { shard: 'east', weights: [50] },
    { shard: 'east', weights: [50], fixed: true },
  ];
  const pairs = (mappings: readonly Drawn[]) =>
    advise(weighed(mappings, 'range', ['west', 'east']), LIMITS).merge.map(({ lower, upper }) => [
      lower.span.low,
      upper.span.low,
    ]);
  expect(pairs(even)).toEqual([[code(0), code(2)]]);
  expect(pairs(even.slice(0, 2))).toEqual([]);
});
