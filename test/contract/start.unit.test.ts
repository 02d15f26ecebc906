// G13: what a host refuses at its start is found by `model check`, at the line of the declaration.
import { expect, test } from 'vitest';
import { aggregate, archive, copy, definePipeline, source, type PipelineOptions } from 'millrace';
import { checkPipeline } from '../../src/pipeline/check/check-pipeline.ts';
import { contractRules } from '../../src/contract/contract-rules.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { type Edit, documentsOf, edited } from '../model/rules/base.ts';
import { namesOf } from '../support/names-of.ts';

interface Order {
  id: string;
  type: 'order';
  customerId: string;
  placedAt: string;
  cents: number;
}
const m = namesOf<{
  Orders: { order: Order };
  Customers: { customer: { id: string; type: 'customer'; name: string } };
  CustomerOrders: { summary: { id: string; type: 'summary'; customerId: string; placedAt: string } };
  Days: { day: { id: string; type: 'day'; day: string; orders: number; spread?: number[] } };
}>();

const TEXT = `
  copy('summaries', {}),
  aggregate('days', {}),
  archive('orders-cold', {}),
`;
const LINE = { summaries: 2, days: 3, 'orders-cold': 4 };

type Options = Pick<PipelineOptions, 'projections' | 'sources'>;

/** What `model check` finds, and what a host would refuse. */
function check(options: Options, edits: readonly Edit[] = []) {
  const pipeline = definePipeline({ model: m, ...options });
  const documents = documentsOf(edited(edits));
  if (!documents.design) throw new Error('There is a design');
  const rules = contractRules(pipeline, { file: 'pipeline.ts', text: TEXT });
  return {
    found: checkDocuments(documents, rules).findings.filter(({ severity }) => severity !== 'information'),
    refused: checkPipeline(pipeline, documents.design.model).filter(({ severity }) => severity === 'error'),
  };
}

const summaries = copy('summaries', {
  from: m.Orders.order,
  into: m.CustomerOrders.summary,
  map: ({ id, customerId, placedAt }) => ({ id, customerId, placedAt }),
});
const days = aggregate('days', {
  from: m.Orders.order,
  into: m.Days.day,
  groupBy: ({ placedAt }) => ({ day: placedAt.slice(0, 10) }),
  measures: { orders: (q) => q.count() },
});

/** As from JavaScript, where null compiles. */
const nothing = (): string => JSON.parse('null') as string;

interface Case {
  readonly what: string;
  readonly at: keyof typeof LINE;
  readonly says: RegExp;
  readonly options: Options;
  readonly edit?: Edit;
}

const CASES: readonly Case[] = [
  {
    what: 'a key that a join doesn’t cover',
    at: 'summaries',
    says: /joins customer without tenantId of Customers/,
    options: {
      projections: [
        copy('summaries', {
          from: m.Orders.order,
          into: m.CustomerOrders.summary,
          with: { customer: { of: m.Customers.customer, on: { id: 'customerId' } } },
          map: ({ id, customerId, placedAt }) => ({ id, customerId, placedAt }),
        }),
      ],
    },
    edit: [
      '- **Partition Key**: `/id` - 100,000 values\n- **Document Types**: `customer`',
      '- **Partition Key**: `/tenantId`, `/id` - 100,000 values\n- **Document Types**: `customer`',
    ],
  },
  {
    what: 'null in a sink’s key',
    at: 'summaries',
    says: /without a string, number or boolean in \/customerId/,
    options: {
      projections: [
        copy('summaries', {
          from: m.Orders.order,
          into: m.CustomerOrders.summary,
          map: ({ id, placedAt }) => ({ id, customerId: nothing(), placedAt }),
        }),
      ],
    },
  },
  {
    what: 'two projections of one name',
    at: 'days',
    says: /Two projections are called days@1/,
    options: { projections: [days, days] },
  },
  {
    what: 'a span of time that isn’t valid',
    at: 'orders-cold',
    says: /has after "ninety days"/,
    options: {
      projections: [archive('orders-cold', { from: m.Orders.order, date: 'placedAt', after: 'ninety days' })],
    },
  },
  {
    what: 'bounds that don’t ascend',
    at: 'days',
    says: /histogram takes 1 to 100 finite bounds, each above the one before/,
    options: {
      projections: [
        aggregate('days', {
          from: m.Orders.order,
          into: m.Days.day,
          groupBy: ({ placedAt }) => ({ day: placedAt.slice(0, 10) }),
          measures: { spread: (q) => q.histogram([5, 1], ({ cents }) => cents) },
        }),
      ],
    },
  },
  {
    what: 'a function that can’t take an example',
    at: 'days',
    says: /no day in o1/,
    options: {
      projections: [
        {
          ...days,
          groupBy: (_row, { id }) => {
            throw new Error(`no day in ${String(id)}`);
          },
        },
      ],
    },
  },
  {
    what: 'a sink that its own documents don’t fit into',
    at: 'days',
    says: /can't write into Days: \/type is part of its partition key/,
    options: { projections: [days] },
    edit: ['- **Partition Key**: `/day` - 3,650', '- **Partition Key**: `/day`, `/type` - 3,650'],
  },
];

test.each(CASES)('$what', ({ at, says, options, edit }) => {
  const { found, refused } = check(options, edit && [edit]);
  expect(refused).toEqual([expect.objectContaining({ message: expect.stringMatching(says) })]);
  expect(found.filter(({ rule }) => rule === 'G13')).toEqual([
    expect.objectContaining({
      message: expect.stringMatching(says),
      severity: 'error',
      at: { file: 'pipeline.ts', line: LINE[at] },
    }),
  ]);
});

test('what is right is no finding', () => {
  const { found, refused } = check({ projections: [summaries, days] });
  expect([found.filter(({ rule }) => rule === 'G13'), refused]).toEqual([[], []]);
});

test('a name that isn’t there, and a circle, are told by the rules that have the other half’s line', () => {
  const lost = { container: 'Orderz', type: 'order' };
  const { found, refused } = check({ projections: [{ ...days, from: lost }] });
  expect(refused).toHaveLength(1);
  expect(new Set(found.filter(({ message }) => message.includes('Orderz')).map(({ rule }) => rule))).toEqual(
    new Set(['G1']),
  );
  const rules = check({ projections: [days], sources: [source({ of: m.Orders.order }), lost] });
  expect(rules.refused).toHaveLength(1);
  expect(rules.found.filter(({ message }) => message.includes('Orderz')).map(({ rule }) => rule)).toEqual(['G13']);
});

test('a container with the name of Millrace’s own is named with its line', () => {
  const { found } = check({ projections: [days] }, [['### Customers Container', '### leases Container']]);
  expect(found.filter(({ rule }) => rule === 'G13')).toEqual([
    expect.objectContaining({
      severity: 'warning',
      message: expect.stringContaining('Container leases has the name'),
      at: { file: 'cosmosdb_data_model.md', line: expect.any(Number) },
    }),
  ]);
});
