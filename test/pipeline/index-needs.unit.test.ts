import { expect, test } from 'vitest';
import { indexNeeds } from '../../src/pipeline/index-needs.ts';
import type { AggregateSpec, CopySpec } from '../../src/pipeline/specs.ts';

const common = {
  name: 'p',
  version: 1,
  from: { container: 'A', type: 'a' },
  into: { container: 'B', type: 'b' },
  onDelete: 'remove',
  stable: false,
} as const;
const copy: CopySpec = { ...common, kind: 'copy', joins: [], map: (doc) => doc };
const aggregate: AggregateSpec = {
  ...common,
  kind: 'aggregate',
  groupBy: () => ({}),
  measures: { n: { kind: 'count' } },
};

test('only queries need an index: extremes and joined copies', () => {
  expect(indexNeeds([copy, aggregate])).toEqual(new Map([['B', new Set()]]));
  const join = { name: 'from', of: common.from, on: { id: 'a' }, missing: 'null' } as const;
  const extremes = {
    worst: { kind: 'max', of: () => 1 },
    'the-least': { kind: 'min', of: () => 1 },
    best: { kind: 'top', n: 1, by: () => 1, keep: () => ({}) },
  } as const;
  expect(
    indexNeeds([
      { ...copy, joins: [join] },
      { ...aggregate, measures: extremes },
    ]),
  ).toEqual(
    new Map([
      [
        'B',
        new Set([
          '/_mr/by/?',
          '/_mr/joins/from/ref/?',
          '/_mr/joins/from/mark/?',
          '/by/?',
          '/of/?',
          '/values/m/worst/?',
          '/values/m/"the-least"/?',
          '/values/m/best/best/?',
        ]),
      ],
    ]),
  );
});
