import { aggregate, copy, custom, embed, publish, react, reference, send } from 'millrace';
import { expect, test } from 'vitest';
import { startOf } from '../../src/pipeline/start.ts';
import { m } from '../fixtures/shop/model.ts';

const from = m.Orders.order;
const sink = { write: async () => undefined };
const run = async () => undefined;

test('what can’t be taken back begins now, all else at the beginning', () => {
  expect(startOf(react('calls', { from, run }))).toBe('now');
  expect(startOf(publish('out', { from, to: 'out' }))).toBe('now');
  expect(startOf(send('rows', { from, to: sink, map: () => ({}) }))).toBe('beginning');
  expect(startOf(custom('own', { sources: [from], apply: run }))).toBe('beginning');
  const days = { from, into: m.Days.day, groupBy: () => ({ storeId: 's', day: 'd' }), measures: {} };
  expect(startOf(aggregate('days', days))).toBe('beginning');
});

test('a time may be a text or a Date, and is kept as UTC', () => {
  const at = (start: `${number}-${string}` | Date) => startOf(react('calls', { from, run, start }));
  expect(at('2026-06-03T14:00:00+02:00')).toBe('2026-06-03T12:00:00.000Z');
  expect(at('2026-06-03')).toBe('2026-06-03T00:00:00.000Z');
  expect(at(new Date('2026-06-03T12:00:00Z'))).toBe('2026-06-03T12:00:00.000Z');
  expect(startOf(send('rows', { from, to: sink, map: () => ({}), start: 'now' }))).toBe('now');
  expect(startOf(publish('out', { from, to: 'out', start: 'beginning' }))).toBe('beginning');
});

test.each([['2026-02-30'], ['soon'], [7], [new Date('x')], [null]])('%o is no start', (start) => {
  const given = { start: start as never };
  for (const { findings } of [
    react('calls', { from, run, ...given }),
    publish('out', { from, to: 'out', ...given }),
    send('rows', { from, to: sink, map: () => ({}), ...given }),
    custom('own', { sources: [from], apply: run, ...given }),
  ])
    expect(findings.map(({ code }) => code)).toEqual(['start']);
});

test('what is compared with all of its sources begins at the beginning, and says why', () => {
  const later = { start: 'now' as never };
  const all = { start: 'beginning' as const };
  const days = { from, into: m.Days.day, groupBy: () => ({}), measures: { cents: () => ({ kind: 'count' }) as never } };
  const rows = { from, into: m.Summaries.summary, map: () => ({}) as never };
  const names = { from: m.Customers.customer, into: from, on: {}, set: { placedAt: () => '' } };
  const everywhere = { ...rows, tenants: m.Customers.customer, key: { storeId: 'storeId' } } as never as Parameters<
    typeof reference
  >[1];
  const codes = (findings: readonly { readonly code: string }[]) => findings.map(({ code }) => code);
  for (const declare of [
    (start: object) => aggregate('days', { ...days, ...start }),
    (start: object) => copy('rows', { ...rows, ...start }),
    (start: object) => embed('names', { ...names, ...start }),
    (start: object) => reference('everywhere', { ...everywhere, ...start }),
  ]) {
    expect(codes(declare(later).findings)).toContain('start-later');
    expect(codes(declare(all).findings)).not.toContain('start-later');
  }
  expect(aggregate('days', { ...days, ...later }).findings[0]?.message).toBe(
    'Projection days has start "now", but it derives from every source document: without those before its start its documents would be wrong',
  );
});
