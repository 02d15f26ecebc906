import { describe, expect, it } from 'vitest';
import { CLOCK_SKEW_MS } from '../../../src/base/bounds.ts';
import { appliedUntil, endKept, isApplied, isKept } from '../../../src/engine/views/kept.ts';
import { NO_VIEW, type Previous } from '../../../src/engine/views/views.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const previous: Previous = {
  version: 1,
  container: 'Sink',
  type: 'row',
  reads: [],
  replacedAt: at(-60_000),
  readableUntil: at(540_000),
  keptUntil: at(0),
};

describe('the version before', () => {
  it('the version before is kept for operators until its time, and a host goes on for longer, although its clock is ahead', () => {
    expect([-1, 0].map((ms) => isKept(previous, NOW + ms))).toEqual([true, false]);
    // The operator's clock is behind by the bound, the host's ahead by it, and there is a minute for the way back.
    expect([-1, 2 * CLOCK_SKEW_MS + 59_999].map((ms) => isApplied(previous, NOW + ms))).toEqual([true, true]);
    expect(isApplied(previous, NOW + 2 * CLOCK_SKEW_MS + 60_000)).toBe(false);
    expect(appliedUntil(previous)).toBe(NOW + 2 * CLOCK_SKEW_MS + 60_000);
  });

  it('the version before is not kept without a time, nor once a reason says so', () => {
    const { keptUntil: _, ...without } = previous;
    for (const of of [null, without, { ...previous, notKept: 'gone' }])
      expect([isKept(of, NOW - 1), isApplied(of, NOW - 1)]).toEqual([false, false]);
    expect(appliedUntil(without)).toBe(NOW - 60_000);
  });

  it('the version before is given up once, with the reason and without its freeze', () => {
    const view = { ...NO_VIEW, previous: { ...previous, frozenUntil: at(9) } };
    const ended = endKept(view, 1, 'why', NOW - 5);
    expect(ended?.previous).toEqual({ ...previous, keptUntil: at(-5), notKept: 'why' });
    expect(endKept(view, 2, 'why', NOW)).toBeUndefined();
    expect(ended && endKept(ended, 1, 'again', NOW)).toBeUndefined();
  });
});
