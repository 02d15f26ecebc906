import { expect, it } from 'vitest';
import { shared } from '../../src/base/shared.ts';

it('a shared call runs once for all who ask while it is under way, and again afterwards, also after a failure', async () => {
  const underWay = new WeakMap<object, Promise<number>>();
  const key = {};
  let runs = 0;
  const ask = (): Promise<number> =>
    shared(underWay, key, async () => {
      runs += 1;
      await Promise.resolve();
      if (runs === 1) throw new Error('the first one fails');
      return runs;
    });
  const both = await Promise.allSettled([ask(), ask()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await Promise.all([ask(), ask(), shared(underWay, {}, async () => 7)])).toEqual([2, 2, 7]);
  expect(await ask()).toBe(3);
});
