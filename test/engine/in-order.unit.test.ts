import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import type { Parked } from '../../src/engine/dead-letters/dead-letters.ts';
import { applyInOrder, merged, reopened } from '../../src/engine/in-order.ts';
import { letterId, orderOf } from '../../src/engine/dead-letters/letter-document.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { Poison } from '../../src/kinds/runner.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

const change = (key: string, id: string, lsn: number): Change => ({
  container: 'Orders',
  key: [key],
  id,
  type: 'order',
  version: { epoch: 0, lsn, etag: `e${lsn}` },
  at: 0,
  op: 'upsert',
});
const parked = (of: Change, waits = false): [string, Map<string, Parked>] => [
  orderOf(of),
  new Map([[letterId(of), { version: of.version, waits, order: orderOf(of) }]]),
];
const never = (): boolean => false;

describe('changes with an order', () => {
  const seed = suiteSeed();

  it(`changes with an order are applied up to the first refused one of their key, in any mixture of failures (seed ${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < 500; round++) {
      const changes = Array.from({ length: random.int(40) }, (_, n) => change(`k${random.int(6)}`, `d${n}`, n));
      const bad = new Set(changes.filter(() => random.chance(0.1)));
      const shut = orderOf(change(`k${random.int(12)}`, '', 0));
      const applied: Change[] = [];
      const outcome = await applyInOrder(
        changes,
        (order) => order === shut,
        async (some) => {
          const refused = some.filter((one) => bad.has(one));
          // Some projections know which change is bad, others only that one is.
          if (refused.length > 0 && random.chance(0.5))
            throw new Poison(refused.map((one) => ({ change: one, error: new MillraceError('bad', 'bad') })));
          if (refused.length > 0) throw new Error('one of them is bad');
          applied.push(...some);
        },
      );
      expect(outcome.applied).toEqual(applied);
      for (const order of new Set(changes.map(orderOf))) {
        const own = changes.filter((one) => orderOf(one) === order);
        const first = order === shut ? 0 : own.findIndex((one) => bad.has(one));
        const good = first === -1 ? own : own.slice(0, first);
        expect(applied.filter((one) => orderOf(one) === order)).toEqual(good);
        const rest = own.slice(good.length);
        const refused = outcome.refusals.map((refusal) => refusal.change).filter((one) => orderOf(one) === order);
        expect(refused).toEqual(order === shut ? [] : rest.slice(0, 1));
        expect(outcome.waiting.filter((one) => orderOf(one) === order)).toEqual(order === shut ? rest : rest.slice(1));
      }
    }
  });

  it('changes with an order go on where the refused document comes again in the same page', async () => {
    const [old, other, again] = [change('k', 'd1', 4), change('k', 'd2', 5), change('k', 'd1', 6)];
    for (const refused of [
      () => new Poison([{ change: old, error: new MillraceError('bad', 'bad') }]),
      () => new Error('bad'),
    ]) {
      const outcome = await applyInOrder([old, other, again], never, async (some) => {
        if (some.includes(old)) throw refused();
      });
      expect(outcome).toEqual({ applied: [other, again], refusals: [], waiting: [] });
    }
  });

  it('changes with an order are not parked for what is no document’s fault', async () => {
    const gone = new MillraceError('unavailable', 'gone', { retryable: true });
    const apply = (): Promise<void> => Promise.reject(gone);
    await expect(applyInOrder([change('k', 'a', 1), change('k', 'b', 2)], never, apply)).rejects.toBe(gone);
  });
});

describe('a key that is held', () => {
  const first = change('k', 'a', 1);

  it('a key that is held stays so while the refused document doesn’t come again', () => {
    expect(reopened([change('k', 'b', 2)], new Map([parked(first)]))).toEqual(new Set());
    expect(reopened([change('other', 'a', 2)], new Map([parked(first)]))).toEqual(new Set());
  });

  it('a key that is held is opened by the refused document in the same version or a newer one, not an older', () => {
    const blocked = new Map([parked(change('k', 'a', 5))]);
    expect(reopened([change('k', 'a', 5)], blocked).size).toBe(1);
    expect(reopened([change('k', 'a', 9)], blocked).size).toBe(1);
    expect(reopened([change('k', 'a', 4)], blocked).size).toBe(0);
  });

  it('a key that is held is opened where changes only wait, since what they waited for is resolved', () => {
    expect(reopened([change('other', 'x', 9)], new Map([parked(first, true)])).size).toBe(1);
  });

  it('a key that is held lets what waited go first, by version, and a document’s older version not at all', () => {
    const waiting = [change('k', 'b', 2), change('k', 'c', 3)];
    const page = [change('k', 'a', 4), change('k', 'c', 5)];
    expect(merged(waiting, page).map(({ id, version }) => `${id}@${version.lsn}`)).toEqual(['b@2', 'a@4', 'c@5']);
    expect(merged([], page)).toEqual(page);
  });
});
