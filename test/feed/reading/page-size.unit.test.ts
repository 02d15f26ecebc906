import { expect, it } from 'vitest';
import { PageSize } from '../../../src/feed/reading/page-size.ts';

it('the page size grows while full pages take less than half of the time, up to the most', () => {
  const size = new PageSize({ most: 350, targetMs: 1_000 });
  expect(size.size).toBe(100);
  size.handled(100, 499);
  size.handled(200, 10);
  expect(size.size).toBe(350);
});

it('the page size stays where a page takes about its time, and where it wasn’t full', () => {
  const size = new PageSize({ most: 1_000, targetMs: 1_000 });
  size.handled(100, 500);
  size.handled(100, 1_000);
  size.handled(99, 1);
  expect(size.size).toBe(100);
});

it('the page size is halved by a page that takes longer, by what it really held, and never below one', () => {
  const size = new PageSize({ most: 1_000, targetMs: 1_000 });
  size.handled(100, 1_001);
  expect(size.size).toBe(50);
  size.handled(8, 60_000);
  expect(size.size).toBe(4);
  for (let n = 0; n < 5; n++) size.handled(size.size ?? 0, 60_000);
  expect(size.size).toBe(1);
});

it('the page size never asks for more than the most', () => {
  expect(new PageSize({ most: 7, targetMs: 1 }).size).toBe(7);
});

it('the page size asks for half after a page that took too long, and for more again as full ones are handled', () => {
  const size = new PageSize();
  expect(size.size).toBeUndefined();
  size.rejected(1_000);
  expect(size.size).toBe(500);
  size.rejected(500);
  size.rejected(250);
  expect(size.size).toBe(125);
  size.handled(124, 1);
  expect(size.size).toBe(125);
  size.handled(125, 1);
  size.handled(250, 1);
  expect(size.size).toBe(500);
  size.handled(500, 1);
  expect(size.size).toBeUndefined();
  for (let n = 0; n < 5; n++) size.rejected(2);
  expect(size.size).toBe(1);
});

it('the page size keeps to the target too', () => {
  const size = new PageSize({ most: 1_000, targetMs: 1_000 });
  size.rejected(100);
  size.handled(50, 2_000);
  expect(size.size).toBe(25);
});
