import { expect, test } from 'vitest';
import { inTime } from '../../../../src/model/reader/text/in-time.ts';

const late = (cause: unknown): Error => new Error('too late', { cause });

test('what ends is answered, and what it throws is thrown as it is', () => {
  const thrown = new RangeError('of its own');
  expect(inTime(10_000, () => 42, late)).toBe(42);
  expect(() =>
    inTime(
      10_000,
      () => {
        throw thrown;
      },
      late,
    ),
  ).toThrow(thrown);
});

test('a call that never comes back is ended, whatever it catches', () => {
  let turns = 0;
  const endless = (): void => {
    for (;;) {
      try {
        turns += 1;
      } catch {
        turns = 0;
      }
    }
  };
  expect(() => inTime(250, endless, late)).toThrow('too late');
  expect(turns).toBeGreaterThan(0);
});
