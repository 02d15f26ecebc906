// What tenants cost is added up in bounded memory. docs/SPEC-tenants.md, TEN-T5.
import { array, assert, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { TenantWorks } from '../../src/engine/tenant-work.ts';
import type { Change } from '../../src/feed/reading/change.ts';

const change = (tenant: string | undefined, at = 0): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['k'],
  id: 'o',
  version: { epoch: 1, lsn: 1, etag: 'e' },
  at,
  op: 'upsert',
  ...(tenant !== undefined && { tenant }),
});

test('a page’s charge is shared out by its changes, and the delay is that of the oldest', () => {
  const works = new TenantWorks();
  const parked = change('a', 500);
  works.add([change('a', 200), parked, change('b', 900), change(undefined)], 40, new Set([parked]), 1_000);
  works.add([change('b', 1_900)], 1, new Set(), 2_000);
  expect(works.report()).toEqual({
    tenants: [
      { tenant: 'a', changes: 2, parked: 1, charge: 20, delayMs: 800 },
      { tenant: 'b', changes: 2, parked: 0, charge: 11, delayMs: 100 },
    ],
    others: null,
  });
  expect(works.report(1).others).toEqual({ changes: 2, parked: 0, charge: 11, delayMs: 100 });
  expect(works.report(0).others).toMatchObject({ changes: 4, charge: 31 });
});

test('nothing is lost from the sums, however many tenants there are', () => {
  assert(
    property(array(array(integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 8 }), { maxLength: 60 }), (pages) => {
      const works = new TenantWorks(5);
      for (const page of pages)
        works.add(
          page.map((tenant) => change(`t${tenant}`)),
          page.length * 2,
          new Set(),
          0,
        );
      const { tenants, others } = works.report(Infinity);
      const all = [...tenants, ...(others ? [others] : [])];
      const wanted = pages.flat().length;
      expect(all.reduce((sum, { changes }) => sum + changes, 0)).toBe(wanted);
      expect(all.reduce((sum, { charge }) => sum + charge, 0)).toBeCloseTo(2 * wanted, 6);
      expect(tenants.length).toBeLessThanOrEqual(10);
    }),
  );
});

test('a costly tenant stays named beside many cheap ones', () => {
  const works = new TenantWorks(5);
  for (let n = 0; n < 100; n++) {
    works.add([change('big')], 100, new Set(), 0);
    works.add([change(`small-${n}`)], 1, new Set(), 0);
  }
  expect(works.report(1).tenants).toMatchObject([{ tenant: 'big', changes: 100, charge: 10_000 }]);
});
