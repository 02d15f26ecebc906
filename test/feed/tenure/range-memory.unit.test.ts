import { expect, it } from 'vitest';
import { RangeMemory } from '../../../src/feed/tenure/range-memory.ts';

it('the memory of a range leaves a lease that stalled to others, longer each time, until something of it was handled', () => {
  const memory = new RangeMemory();
  const leaves = (from: number): number => {
    let ms = 0;
    while (memory.isLeftToOthers(from + ms)) ms += 1_000;
    return ms;
  };
  expect(leaves(0)).toBe(0);
  for (const expected of [120_000, 180_000, 300_000]) {
    memory.stalled('"5"', 0, 60_000, 60_000);
    expect(leaves(0)).toBe(expected);
  }
  for (let n = 0; n < 20; n++) memory.stalled('"5"', 0, 60_000, 60_000);
  expect(leaves(0)).toBe(60_000 * 17);
  memory.stalled('"6"', 0, 60_000, 60_000);
  expect(leaves(0)).toBe(120_000);
});

it('the memory of a range counts how often a position was delivered, until what follows it is acknowledged', () => {
  const memory = new RangeMemory();
  memory.delivers('"5"');
  memory.delivers('"5"');
  memory.delivers('"9"');
  expect([memory.deliveriesOf('"5"'), memory.deliveriesOf('"9"')]).toEqual([2, 1]);
  memory.advanced('"9"');
  expect([memory.deliveriesOf('"5"'), memory.deliveriesOf('"9"')]).toEqual([0, 1]);
});

it('a range joins as many changes as take ten seconds, three thousand at most', () => {
  const { joined } = new RangeMemory();
  for (let n = 0; n < 9; n++) joined.handled(3_000, 1_000);
  expect(joined.size).toBe(3_000);
  joined.handled(3_000, 10_001);
  expect(joined.size).toBe(1_500);
  joined.rejected(1_500);
  expect(joined.size).toBe(750);
});
