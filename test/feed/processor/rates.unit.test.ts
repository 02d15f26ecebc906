import { describe, expect, it } from 'vitest';
import type { Lag } from '../../../src/feed/processor/lag-estimator.ts';
import { RATE_WINDOW_MS, Rates } from '../../../src/feed/processor/rates.ts';

const lag = (changes: number): Lag => ({ known: true, changes, ageMs: 0, charge: 0 });
const at = (position: number | undefined, behind: number | undefined, handled = 0) => ({
  container: 'Orders',
  lease: '0',
  position: position === undefined ? undefined : `"${position}"`,
  handled,
  lag: behind === undefined ? ({ known: false, why: 'gone' } as const) : lag(behind),
});
/** One sample each ten seconds. */
function after(...samples: readonly (readonly ReturnType<typeof at>[])[]) {
  const rates = new Rates();
  samples.forEach((ranges, n) => rates.sample(ranges, n * 10_000));
  return rates.now[0];
}

describe('rates', () => {
  it('one sample gives no rate', () =>
    expect(after([at(100, 50)])).toMatchObject({ inPerSecond: null, outPerSecond: null, lag: 50, catchUp: null }));

  it('the rate in is what was passed and what the lag grew by, and the time is the lag over out − in', () =>
    expect(after([at(100, 500, 0)], [at(200, 450, 80)])).toEqual({
      container: 'Orders',
      lease: '0',
      handledPerSecond: 8,
      outPerSecond: 10,
      inPerSecond: 5,
      lag: 450,
      catchUp: 90,
    }));

  it('a lag that does not shrink never ends at this rate', () => {
    expect(after([at(100, 500)], [at(200, 500)])?.catchUp).toBe('never');
    expect(after([at(100, 500)], [at(200, 600)])).toMatchObject({ catchUp: 'never', inPerSecond: 20 });
    expect(after([at(100, 500)], [at(100, 501)])?.catchUp).toBe('never');
  });

  it('the rates without a lag show nothing to catch up', () =>
    expect(after([at(100, 3)], [at(200, 0)])?.catchUp).toBe(0));

  it('an unknown lag is no number', () => {
    expect(after([at(100, 500)], [at(200, undefined)])).toMatchObject({
      outPerSecond: 10,
      inPerSecond: null,
      lag: null,
      catchUp: null,
    });
    expect(after([at(100, undefined)], [at(200, 5)])).toMatchObject({ inPerSecond: null, catchUp: null });
  });

  it('a range that was rewound, left or newly counted begins again', () => {
    expect(after([at(100, 5)], [at(50, 55)])).toMatchObject({ outPerSecond: null, catchUp: null });
    expect(after([at(100, 5)], [], [at(200, 5)])).toMatchObject({ outPerSecond: null });
    expect(after([at(100, 5, 9)], [at(200, 5, 1)])).toMatchObject({ handledPerSecond: null });
  });

  it('samples of before the window do not count in the rates', () => {
    const rates = new Rates();
    rates.sample([at(0, 1_000)], 0);
    rates.sample([at(1_000, 500)], RATE_WINDOW_MS);
    rates.sample([at(1_010, 495)], RATE_WINDOW_MS + 10_000);
    expect(rates.now[0]).toMatchObject({ outPerSecond: 1, inPerSecond: 0.5, catchUp: 990 });
  });
});
