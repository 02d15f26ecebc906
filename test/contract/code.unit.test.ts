import { expect, test } from 'vitest';
import type { CopySpec, Doc } from '../../src/pipeline/specs.ts';
import { OUT, constantTier, ordersIn, ordersOut } from './cases-code.ts';
import { type Code, check, cold, days, summaries } from './shop.ts';

test('a constant by a condition, an ingest of the event’s own values and a hub of its own are no findings', () => {
  const found = (code: Code): string[] =>
    check([], code)
      .findings.map(({ rule }) => rule)
      .filter((rule) => ['G18', 'G19', 'G20'].includes(rule));
  const map: CopySpec['map'] = (order, joined) => ({ ...summaries.map(order, joined), customerId: 'c1' });
  expect(found({ projections: [{ ...summaries, map }, days, cold] })).toEqual(['G18']);
  expect(
    found({ projections: [{ ...summaries, map, where: ({ customerId }) => customerId === 'c1' }, days, cold] }),
  ).toEqual([]);
  expect(found({ ingest: [ordersIn], projections: [summaries, days, cold, ordersOut] })).toEqual([]);
  // Nothing shows that events have the time.
  const arrived = (doc: object): Doc => ({ ...doc, placedAt: new Date().toISOString() });
  expect(found({ ingest: [{ ...ordersIn, map: ({ body }) => arrived(body as Doc) }] })).toEqual([]);
  expect(found({ ingest: [{ ...ordersIn, map: () => null }] })).toEqual([]);
});

test('a rounded or limited number, and a set field that says something else, are no constants', () => {
  const found = (...projections: NonNullable<Code['projections']>): string[] =>
    check([], { projections: [...projections, cold] })
      .findings.map(({ rule }) => rule)
      .filter((rule) => rule === 'G18');
  const cents = (of: (cents: number) => number): CopySpec => ({
    ...summaries,
    map: (order, joined) => ({ ...summaries.map(order, joined), cents: of(Number(order['cents'])) }),
  });
  expect(found(cents(() => 100))).toEqual(['G18']);
  expect(found(cents((value) => 100 * Math.round(value / 100)))).toEqual([]);
  expect(found(cents((value) => Math.min(value, 100)))).toEqual([]);
  const tiers = (tier: (customer: Doc) => unknown) => ({ ...constantTier, set: { tier } });
  expect(
    found(
      summaries,
      days,
      tiers(() => 'gold'),
    ),
  ).toEqual(['G18']);
  expect(
    found(
      summaries,
      days,
      tiers((customer) => String(customer['tier']).length > 2),
    ),
  ).toEqual([]);
});

test('a hub is the last part of its path, in any case, without the full stop of the sentence', () => {
  const found = (stated: string): string[] =>
    check([OUT, ['eventhub:orders-done', stated]], { projections: [summaries, days, cold, ordersOut] })
      .findings.filter(({ rule }) => rule === 'G20')
      .map(({ message }) => message);
  expect(found('eventhub:shop/Orders-Done.')).toEqual([]);
  expect(found('eventhub:orders-done/shop')).toEqual([expect.stringContaining('the hub shop in the document')]);
});
