import { array, assert, asyncProperty, boolean, integer } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import { AmbiguousOutcome, Unavailable } from '../../src/cosmos/retry.ts';
import { applyIsolating, isInfrastructure } from '../../src/engine/isolate.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { LeaseLost } from '../../src/feed/leases/lease.ts';
import { PageTooOld } from '../../src/feed/tenure/lease-tenure.ts';
import { Poison } from '../../src/kinds/runner.ts';

const change = (n: number): Change => ({
  container: 'c',
  type: 'item',
  key: ['a'],
  id: `d${n}`,
  version: { epoch: 1, lsn: n, etag: `"${n}"` },
  at: 0,
  op: 'upsert',
});
const changes = (count: number): Change[] => Array.from({ length: count }, (_, n) => change(n));
const ids = (of: readonly Change[]): string[] => of.map(({ id }) => id);

/** Applies all or nothing, as a batch does; throws where one is bad, without saying which. */
function sink(bad: ReadonlySet<string>) {
  const applied: string[] = [];
  const attempts: string[][] = [];
  const apply = (some: readonly Change[]): Promise<void> => {
    attempts.push(ids(some));
    if (some.some(({ id }) => bad.has(id))) return Promise.reject(new Error('It does not fit'));
    applied.push(...ids(some));
    return Promise.resolve();
  };
  return { applied, attempts, apply };
}

describe('one bad change among good ones', () => {
  it.each([1, 2, 3, 7, 8, 100, 1_000])(
    'one bad change among good ones of %i is found in 2 · ⌈log₂ n⌉ + 1 attempts at most, wherever it lies',
    async (count) => {
      const places = count <= 100 ? changes(count).map((_, n) => n) : [0, 1, 499, 500, 998, 999];
      const most: number[] = [];
      for (const place of places) {
        const { applied, attempts, apply } = sink(new Set([`d${place}`]));
        const refused = await applyIsolating(changes(count), apply);
        expect(refused.map(({ change: { id } }) => id)).toEqual([`d${place}`]);
        expect(applied).toEqual(ids(changes(count).toSpliced(place, 1)));
        most.push(attempts.length);
      }
      expect(Math.max(...most)).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(count)) + 1);
    },
  );

  it('one bad change among good ones is refused with what was thrown, as an error of ours', async () => {
    const cause = new TypeError('x is not a function');
    const [refusal] = await applyIsolating([change(0)], () => Promise.reject(cause));
    expect(refusal?.error).toMatchObject({ code: 'projection-threw', message: 'x is not a function', cause });
    const own = new MillraceError('sink-refused', 'Too large');
    expect((await applyIsolating([change(0)], () => Promise.reject(own)))[0]?.error).toBe(own);
  });
});

describe('poison that names itself', () => {
  const poison = (...of: Change[]): Poison =>
    new Poison(of.map((one) => ({ change: one, error: new MillraceError('projection-threw', 'bad') })));

  it('poison that names itself costs one attempt more', async () => {
    const all = changes(100);
    const [bad] = all.slice(40);
    const attempts: number[] = [];
    const refused = await applyIsolating(all, (some) => {
      attempts.push(some.length);
      return bad && some.includes(bad) ? Promise.reject(poison(bad)) : Promise.resolve();
    });
    expect(refused).toMatchObject([{ change: { id: 'd40' } }]);
    expect(attempts).toEqual([100, 99]);
  });

  it('poison that names something else is looked for by halving, and ends', async () => {
    const { applied, apply } = sink(new Set(['d1']));
    const refused = await applyIsolating(changes(4), (some) =>
      apply(some).catch(() => Promise.reject(poison(change(99)))),
    );
    expect(refused.map(({ change: { id } }) => id)).toEqual(['d1']);
    expect(applied).toEqual(['d0', 'd2', 'd3']);
  });
});

it('exactly the bad ones are refused and the others applied once, in order, however many there are of each', async () => {
  await assert(
    asyncProperty(array(boolean(), { maxLength: 60 }), integer({ min: 0, max: 3 }), async (good, naming) => {
      const all = changes(good.length);
      const bad = new Set(all.filter((_, n) => !good[n]).map(({ id }) => id));
      const { applied, apply } = sink(bad);
      const refused = await applyIsolating(all, async (some) => {
        const found = some.filter(({ id }) => bad.has(id)).slice(0, naming);
        if (found.length > 0)
          throw new Poison(found.map((one) => ({ change: one, error: new MillraceError('x', 'bad') })));
        await apply(some);
      });
      expect(new Set(refused.map(({ change: { id } }) => id))).toEqual(bad);
      expect(refused).toHaveLength(bad.size);
      expect(applied).toEqual(ids(all.filter(({ id }) => !bad.has(id))));
    }),
    { numRuns: 200 },
  );
});

describe('infrastructure', () => {
  const answer = (code: number | string): Error => Object.assign(new Error(`It says ${code}`), { code });

  it.each([
    new LeaseLost('l', 'taken'),
    new PageTooOld(),
    new Unavailable('throttled for too long', undefined),
    new AmbiguousOutcome(undefined),
    new MillraceError('container-missing', 'x', { retryable: true }),
    new MillraceError('aborted', 'x'),
    new DOMException('stop', 'AbortError'),
    ...[401, 403, 404, 408, 410, 429, 449, 500, 503, 'ECONNRESET', 'ECONNREFUSED', 'ENOTFOUND'].map(answer),
  ])('infrastructure is thrown on, whatever the page: %s', async (error) => {
    expect(isInfrastructure(error)).toBe(true);
    let attempts = 0;
    const applying = applyIsolating(changes(8), () => {
      attempts += 1;
      return Promise.reject(error);
    });
    await expect(applying).rejects.toBe(error);
    expect(attempts).toBe(1);
  });

  it.each([
    new Error('a bug'),
    new MillraceError('sink-refused', 'x'),
    answer(400),
    answer(413),
    answer('ERR_INVALID_ARG_TYPE'),
    'text',
    undefined,
  ])('infrastructure is not: %s', (error) => {
    expect(isInfrastructure(error)).toBe(false);
  });

  it('infrastructure in one half undoes no refusal found in the other: nothing is reported at all', async () => {
    const applying = applyIsolating(changes(4), (some) =>
      Promise.reject(some.some(({ id }) => id === 'd0') ? new Error('bad') : answer(503)),
    );
    await expect(applying).rejects.toMatchObject({ code: 503 });
  });
});
