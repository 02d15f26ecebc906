import { expect, test } from 'vitest';
import { eligibilityOf } from '../../../src/archive/sweep/eligibility.ts';
import { archive } from '../../../src/pipeline/builders/archive.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import type { Change } from '../../../src/feed/reading/change.ts';

interface Order {
  id: string;
  store: string;
  doneAt?: string | number;
  state?: string;
}
const ORDER = { container: 'Orders', type: 'order' };
const NOW = Date.UTC(2026, 5, 1);
const source = {
  name: 'Orders',
  keyPaths: [['store']],
  types: new Map([['order', { deleted: (doc: Doc) => doc['deletedAt'] !== undefined }]]),
};
const by = archive<Order>('cold', { from: ORDER, date: 'doneAt', after: '90d', tenant: 'store' });
const change = (doc: Doc, more: Partial<Change> = {}): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['s'],
  id: 'o',
  version: { epoch: 1, lsn: 1, etag: '"1"' },
  at: 0,
  op: 'upsert',
  doc: { id: 'o', store: 's', ...doc },
  ...more,
});
const eligibility = (doc: Doc, spec = by, more: Partial<Change> = {}) =>
  eligibilityOf(spec, source, change(doc, more), { now: NOW });

test('what is older than the rule says leaves, into its own month', () => {
  expect(eligibility({ doneAt: '2026-02-28T10:00:00Z' })).toEqual({
    kind: 'leaves',
    period: { projection: 'cold@1', tenant: 's', period: '2026-02' },
  });
});

test.each([
  ['younger', { doneAt: '2026-05-01' }],
  ['without a date yet', {}],
  ['with null for a date', { doneAt: null }],
  ['deleted', { doneAt: '2020-01-01', deletedAt: 'now' }],
  ['about to expire by itself', { doneAt: '2020-01-01', ttl: 60 }],
])('a document %s stays', (_what, doc) => {
  expect(eligibility(doc)).toEqual({ kind: 'stays' });
});

test('of one tenant only its own documents leave', () => {
  const due = { doneAt: '2020-01-01' };
  const of = (tenant: string, store: unknown = 's') =>
    eligibilityOf(by, source, change({ ...due, store }), { now: NOW, tenant }).kind;
  expect([of('s'), of('t'), of('S'), of('7', 7), of('', null)]).toEqual([
    'leaves',
    'stays',
    'stays',
    'leaves',
    'leaves',
  ]);
  expect(eligibilityOf(by, source, change({ doneAt: 'soon' }), { now: NOW, tenant: 't' }).kind).toBe('stays');
});

test('a restored document stays', () => {
  expect(eligibility({ doneAt: '2020-01-01' }, by, { restored: true })).toEqual({ kind: 'stays' });
});

test.each([
  ['soon', 'not a date'],
  ['2026-02-30', 'not a date'],
  [true, 'not a date'],
])('the date %j counts as undated', (doneAt, why) => {
  const found = eligibility({ doneAt });
  expect(found).toMatchObject({ kind: 'undated' });
  expect(found).toHaveProperty('why', expect.stringMatching(new RegExp(`^doneAt of Orders/o .*${why}`)));
});

test.each(['2027-01-01', '9999-12-31', Date.UTC(2027, 0, 1)])('the date %j is not due yet', (doneAt) => {
  for (const rule of [{ before: '2030-01-01' }, { after: '1d' }])
    expect(eligibility({ doneAt }, archive<Order>('cold', { from: ORDER, date: 'doneAt', ...rule }))).toEqual({
      kind: 'stays',
    });
});

test('where narrows the rule; alone it needs a date all the same; what it throws is told', () => {
  const closed = archive<Order>('cold', { from: ORDER, date: 'doneAt', where: (order) => order.state === 'closed' });
  expect(eligibility({ doneAt: '2026-05-31', state: 'closed' }, closed)).toMatchObject({ kind: 'leaves' });
  expect(eligibility({ doneAt: '2026-05-31', state: 'open' }, closed)).toEqual({ kind: 'stays' });
  expect(eligibility({ state: 'closed' }, closed)).toMatchObject({
    kind: 'undated',
    why: 'doneAt of Orders/o is missing',
  });
  const broken = archive<Order>('cold', {
    from: ORDER,
    date: 'doneAt',
    before: '2026-01-01',
    where: () => {
      throw new Error('no state');
    },
  });
  expect(eligibility({ doneAt: '2025-12-31' }, broken)).toEqual({ kind: 'refused', why: 'Orders/o: no state' });
  expect(eligibility({ doneAt: '2026-01-01' }, broken)).toEqual({ kind: 'stays' });
});

test('a document that lacks a part of its key leaves like the others', () => {
  expect(eligibility({ doneAt: '2020-01-01', store: undefined })).toMatchObject({ kind: 'leaves' });
});

test('only what is larger leaves, by what its application has written', () => {
  const larger = archive<Order>('cold', { from: ORDER, date: 'doneAt', largerThan: '100 B', tenant: 'store' });
  const of = (length: number, more: Doc = {}) =>
    eligibility({ doneAt: '2026-02-28', state: 'x'.repeat(length), ...more }, larger).kind;
  // {"id":"o","store":"s","doneAt":"2026-02-28","state":""}
  const rest = JSON.stringify({ id: 'o', store: 's', doneAt: '2026-02-28', state: '' }).length;
  expect([of(100 - rest), of(101 - rest)]).toEqual(['stays', 'leaves']);
  expect(of(100 - rest, { _etag: 'x'.repeat(40), _ts: 1 })).toBe('stays');
  expect(of(0, { state: 'ä'.repeat(100 - rest) })).toBe('leaves');
});
