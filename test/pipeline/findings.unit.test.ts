// What definePipeline says of a declaration that compiles, or that comes from JavaScript.
import { expect, test } from 'vitest';
import {
  aggregate,
  container,
  copy,
  defineModel,
  definePipeline,
  document,
  documentWithoutType,
  source,
  text,
  type Measure,
} from 'millrace';
import type { SourceRules } from '../../src/pipeline/specs.ts';
import { sourcesOf } from '../../src/pipeline/pipeline.ts';
import { namesOf } from '../support/names-of.ts';

interface Shop {
  Orders: { order: { id: string; type: 'order'; customerId: string; cents: number } };
  Customers: { customer: { id: string; type: 'customer'; name: string } };
  Sums: { sum: { id: string; type: 'sum'; customerId: string; cents: number } };
}
const m = namesOf<Shop>();
const sums = (name: string, version?: number) =>
  aggregate(name, {
    from: m.Orders.order,
    into: m.Sums.sum,
    ...(version !== undefined && { version }),
    groupBy: (o) => ({ customerId: o.customerId }),
    measures: { cents: (q) => q.sum((o) => o.cents) },
  });
const codes = (...projections: ReturnType<typeof sums>[]) =>
  definePipeline({ model: m, projections }).findings.map((f) => f.code);

test('one name in two versions is two projections', () => expect(codes(sums('a'), sums('a', 2))).toEqual([]));
test('one name and version twice', () =>
  expect(codes(sums('a', 2), sums('a', 2), sums('a', 2))).toEqual(['projection-twice']));
test.each(['', 'A', 'a_b', 'a b', '-a', 'a--b', 'ä', 'a'.repeat(65)])('the name %j', (name) =>
  expect(codes(sums(name))).toEqual(['projection-name']),
);
test.each([0, -1, 1.5, Number.NaN])('the version %d', (version) =>
  expect(codes(sums('a', version))).toEqual(['projection-version']),
);

test('an empty join, a lag that isn’t valid, and a type that feeds itself', () => {
  const self = copy('self', {
    from: m.Orders.order,
    into: m.Orders.order,
    maxLag: 'soon',
    with: { customer: { of: m.Customers.customer, on: {} } },
    map: (o) => o,
  });
  const { findings } = definePipeline({ model: m, projections: [self] });
  expect(findings.map((f) => f.code)).toEqual(['max-lag', 'reads-what-it-writes', 'join-on-empty']);
  expect(findings.every((f) => f.severity === 'error' && f.hint)).toBe(true);
});

test('stable, where the feed shows deletions without their documents', () => {
  const stable = (onDelete: 'remove' | 'keep') =>
    aggregate('a', {
      from: m.Orders.order,
      into: m.Sums.sum,
      stable: true,
      onDelete,
      groupBy: (o) => ({ customerId: o.customerId }),
      measures: { cents: (q) => q.sum((o) => o.cents) },
    });
  const sources = [source({ of: m.Orders.order, feed: 'all-versions' })];
  const found = (onDelete: 'remove' | 'keep') =>
    definePipeline({ model: m, sources, projections: [stable(onDelete)] }).findings.map(({ code }) => code);
  expect([found('remove'), found('keep')]).toEqual([['stable-all-versions'], []]);
});

test.each([
  ['an unknown builder', (q: object): Measure<number> => Reflect.get(q, 'median')(() => 1)],
  ['a builder without its function', (q: object): Measure<number> => Reflect.get(q, 'sum')()],
  ['something else', () => ({})],
  ['a top of nothing', (q: object): Measure<number> => Reflect.get(q, 'top')(0, Number, Object)],
  ['a top of too many', (q: object): Measure<number> => Reflect.get(q, 'top')(51, Number, Object)],
  ['a top without keep', (q: object): Measure<number> => Reflect.get(q, 'top')(3, Number)],
  ['a histogram without bounds', (q: object): Measure<number> => Reflect.get(q, 'histogram')([], Number)],
  ['a histogram out of order', (q: object): Measure<number> => Reflect.get(q, 'histogram')([2, 1], Number)],
])('a measure that is %s is a finding, not a throw', (_what, cents) => {
  const declared = aggregate('a', {
    from: m.Orders.order,
    into: m.Sums.sum,
    groupBy: (o) => ({ customerId: o.customerId }),
    measures: { cents },
  });
  expect(declared.findings.map((f) => f.code)).toEqual(['measure']);
  expect(declared.measures).toEqual({});
});

test('rules for a type that nothing reads are a warning, given twice an error', () => {
  const customer = source({ of: m.Customers.customer });
  const { findings } = definePipeline({ model: m, sources: [customer, customer], projections: [sums('a')] });
  expect(findings.map((f) => `${f.severity} ${f.code}`)).toEqual([
    'error source-twice',
    'warning source-unread',
    'warning source-unread',
  ]);
});

test('a source type without the field `type` needs a rule in `sources`, whatever `from` says', () => {
  const untyped = defineModel({
    Orders: container('/customerId', { order: documentWithoutType({ id: text, docType: text, customerId: text }) }),
    Names: container('/customerId', { name: document({ id: text, customerId: text }) }),
  });
  const rule = source({ of: untyped.Orders.order, discriminator: 'docType' });
  const names = copy('names', {
    from: rule,
    into: untyped.Names.name,
    map: () => ({ id: '1', customerId: 'c' }),
  });
  const found = (sources: readonly SourceRules[]) =>
    definePipeline({ model: untyped, sources, projections: [names] }).findings.map(({ code }) => code);
  expect([found([]), found([rule])]).toEqual([['source-untold'], []]);
});

test('declarations become plain specs with their defaults', () => {
  const spec = copy('names', {
    from: m.Orders.order,
    into: m.Sums.sum,
    with: { customer: { of: m.Customers.customer, on: { id: 'customerId' }, missing: 'wait' } },
    map: (o) => ({ id: o.id, customerId: o.customerId, cents: o.cents }),
  });
  expect(spec).toMatchObject({
    kind: 'copy',
    version: 1,
    onDelete: 'remove',
    stable: false,
    from: { container: 'Orders', type: 'order' },
    joins: [
      { name: 'customer', of: { container: 'Customers', type: 'customer' }, on: { id: 'customerId' }, missing: 'wait' },
    ],
  });
  expect(sourcesOf(spec).map((of) => of.container)).toEqual(['Orders', 'Customers']);
});
