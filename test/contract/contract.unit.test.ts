import { expect, test } from 'vitest';
import { contractRules } from '../../src/contract/contract-rules.ts';
import type {
  AggregateSpec,
  ArchiveSpec,
  CopySpec,
  DerivedSpec,
  Doc,
  EmbedSpec,
  ReactSpec,
} from '../../src/pipeline/specs.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { type Edit, documentsOf, edited } from '../model/rules/base.ts';
import { CODE_CASES, type Case } from './cases-code.ts';
import { CUSTOMER, ORDER, SUMMARY, TEXT, check, cold, days, summaries, type Code } from './shop.ts';

const withCopy = (change: Partial<CopySpec>): Code => ({ projections: [{ ...summaries, ...change }, days, cold] });
const withDays = (change: Partial<AggregateSpec>): Code => ({ projections: [summaries, { ...days, ...change }, cold] });
const withCold = (change: Partial<ArchiveSpec>): Code => ({ projections: [summaries, days, { ...cold, ...change }] });
const mapped = (field: string, value: (order: Doc) => unknown): Code =>
  withCopy({ map: (order, joined) => ({ ...summaries.map(order, joined), [field]: value(order) }) });

const TENANCY: Edit = [
  '- **Domain**: a shop of many stores',
  '- **Domain**: a shop of many stores\n- **Tenancy**: customerId is in every document',
];

const CASES: readonly Case[] = [
  { rule: 'G1', code: { projections: [summaries, days] }, at: '| orders-cold |', says: 'but not in the code' },
  {
    rule: 'G1',
    code: { projections: [{ ...summaries, name: 'summries' }, days, cold] },
    at: '| summaries |',
    says: 'summries',
  },
  {
    rule: 'G1',
    edits: [['| days | aggregate | Orders (order) | Days (day)', '| days | aggregate | Orders (order) | Day (day)']],
    at: '| days |',
    says: 'no design',
  },
  {
    rule: 'G1',
    edits: [['| Orders (order) with Customers (customer) |', '| Orders (ordr) with Customers (customer) |']],
    at: '| summaries |',
    says: 'no example of that type',
  },
  { rule: 'G1', edits: [['| days | aggregate |', '| days | copy |']], at: '| days |', says: 'the kind' },
  {
    rule: 'G1',
    edits: [['Orders (order) with Customers (customer)', 'Orders (order)']],
    at: '| summaries |',
    says: 'join',
  },
  { rule: 'G1', code: withDays({ into: SUMMARY }), at: '| days |', says: 'the sink' },
  {
    rule: 'G1',
    edits: [['| #2 | 5 s | remove | backfill |', '| #2 | 5 s | remove | now |']],
    at: '| summaries |',
    says: 'the start is now in the document, but beginning in the code',
  },

  { rule: 'G2', code: mapped('status', () => 'open'), at: 'map: (order', says: 'writes status' },
  { rule: 'G2', code: mapped('placedAt', () => 7), at: 'placedAt: order.placedAt', says: 'as number' },
  { rule: 'G2', code: mapped('placedAt', (order) => order['placedOn']), at: "copy('summaries'", says: 'placedOn' },
  {
    rule: 'G2',
    edits: [['"customerId": "c1", "customerName": "Ada"', '"customerId": "c1", "customerName": "Eve"']],
    at: '"id": "o1", "type": "summary"',
    says: 'customerName "Ada"',
  },
  {
    rule: 'G2',
    edits: [['"day": "2026-01-01", "orders": 1, "cents": 100', '"day": "2026-01-01", "orders": 1, "cents": 700']],
    at: '"type": "day"',
    says: 'cents 100',
  },
  {
    rule: 'G2',
    edits: [
      [
        '"day": "2026-01-01", "orders": 1, "cents": 100',
        '"day": "2026-01-01", "orders": 1, "cents": 100, "average": 100',
      ],
    ],
    at: '"type": "day"',
    says: 'average',
  },
  {
    rule: 'G2',
    edits: [['customer.name → customerName', 'customer.name → customreName']],
    at: '| summaries |',
    says: 'customreName',
  },
  {
    rule: 'G2',
    edits: [['customer.name → customerName', 'customer.nmae → customerName']],
    at: '| summaries |',
    says: 'customer.nmae',
  },
  { rule: 'G2', edits: [['orders = count; cents', 'orders = max; cents']], at: '| days |', says: 'orders is max' },
  {
    rule: 'G2',
    edits: [['orders = count; cents = sum(cents)', 'orders = count']],
    at: 'cents: (q)',
    says: 'not in the document',
  },
  {
    rule: 'G2',
    code: withDays({ measures: { ordrs: { kind: 'count' }, cents: days.measures['cents']! } }),
    at: '| days |',
    says: 'measure orders is in the document',
    hint: 'Correct the name: it is ordrs in the code, and orders in the document.',
  },
  { rule: 'G2', code: withDays({ measures: { orders: { kind: 'count' } } }), at: '| days |', says: 'not in the code' },

  { rule: 'G4', edits: [['max 40)', 'max 900)']], at: '| summaries |', says: 'CustomerOrders' },

  {
    rule: 'G5',
    edits: [['| customerId; id = id |', '| placedAt; id = id |']],
    at: '| summaries |',
    says: '/customerId',
  },
  { rule: 'G5', edits: [['| [day] |', '| [day, customerId] |']], at: '| days |', says: 'groups by' },
  {
    rule: 'G5',
    edits: [['| [day] |', '| [dya] |']],
    at: '| days |',
    says: 'groups by',
    hint: 'Correct the name: it is day in the code, and dya in the document.',
  },
  {
    rule: 'G5',
    code: withCopy({ map: (order) => ({ id: order['id'], customerName: null, placedAt: order['placedAt'] }) }),
    at: 'map: (order',
    says: 'no value',
  },
  {
    rule: 'G5',
    code: withDays({ stable: true }),
    edits: [
      ['| 5/1 | Write | name | | replace |', '| 5/1 | Write | placedAt | | replace |'],
      ['| 6 | Rename a customer | Customers | Replace |', '| 6 | Rename a customer | Orders | Replace |'],
    ],
    at: 'stable: true',
    says: 'placedAt',
  },

  {
    rule: 'G6',
    code: withCopy({ map: (order, joined) => ({ ...summaries.map(order, joined), id: 'one' }) }),
    edits: [['; id is unique over all customers', '']],
    at: 'id: order.id',
    says: 'id of Orders',
  },
  {
    rule: 'G6',
    edits: [
      ['; id is unique over all customers', ''],
      [
        '- **Partition Key**: `/customerId` - 100,000 values\n- **Document Types**: `order`',
        '- **Partition Key**: `/placedAt` - 100,000 values\n- **Document Types**: `order`',
      ],
    ],
    at: 'id: order.id',
    says: 'placedAt of Orders',
  },
  { rule: 'G6', code: mapped('id', () => Math.random().toString()), at: "copy('summaries'", says: 'second time' },

  { rule: 'G7', code: { sources: [] }, at: '"id": "o1", "type": "order"', says: 'delete marker' },
  {
    rule: 'G7',
    edits: [['| #2 | 5 s | remove |', '| #2 | 5 s | keep |']],
    at: '| summaries |',
    says: 'remove in the code',
  },
  { rule: 'G7', edits: [['| #2 | 5 s | remove |', '| #2 | 5 s | |']], at: '| summaries |', says: 'a delete does' },

  {
    rule: 'G8',
    edits: [['| [day] | orders = count; cents = sum(cents) |', '| [day] | as hours |']],
    at: '| days |',
    says: 'as hours',
  },
  {
    rule: 'G9',
    edits: [['all; 400 d after placedAt', 'all; 90 d after placedAt']],
    at: '| orders-cold |',
    says: '400d in the code',
  },
  { rule: 'G9', code: withCold({ largerThan: { bytes: 1e5, text: '100 KB' } }), at: '| orders-cold |', says: '100 KB' },
  { rule: 'G9', code: withCold({ keep: { ms: 1, text: '800d' } }), at: '| orders-cold |', says: 'for 800d in' },
  { rule: 'G9', edits: [['dAt | #1', 'dAt; kept for 800 d | #1']], at: '| orders-cold |', says: 'for good in' },
  { rule: 'G9', code: withCold({ dateField: 'completedAt' }), at: '| orders-cold |', says: 'completedAt' },
  {
    rule: 'G9',
    edits: [
      [
        '| blob:orders-cold | yyyy/mm of placedAt; id = id | all; 400 d after placedAt | #1 |',
        '| blob:orders-cold | yyyy/mm of placedAt; id = id | all; 400 d after placedAt | |',
      ],
    ],
    at: '| orders-cold |',
    says: 'no pattern',
    hint: '`#1` under *Serves* of orders-cold',
  },
  {
    rule: 'G9',
    edits: [['- **TTL**: -1\n- **Document Size**', '- **TTL**: 86400\n- **Document Size**']],
    at: '| orders-cold |',
    says: 'expire',
  },

  {
    rule: 'G10',
    edits: [['| #2 | 5 s | remove |', '| #2 | 9 s | remove |']],
    at: '| summaries |',
    says: '9 s in the document',
  },

  {
    rule: 'G11',
    code: {
      projections: [
        summaries,
        days,
        cold,
        { ...summaries, name: 'back', from: SUMMARY, into: ORDER, joins: [], map: (doc: Doc) => ({ ...doc }) },
      ],
    },
    at: 'definePipeline',
    says: 'feed each other',
  },
  {
    rule: 'G12',
    edits: [['customer.name → customerName | #2 |', 'customer.name → customerName | #1 |']],
    at: '| summaries |',
    says: 'instead of CustomerOrders',
  },
  {
    rule: 'G12',
    edits: [['customer.name → customerName | #2 |', 'customer.name → customerName | |']],
    at: '| summaries |',
    says: 'serves no pattern',
  },
  {
    rule: 'G13',
    code: withCopy({ joins: [{ name: 'customer', of: CUSTOMER, on: { name: 'customerId' }, missing: 'null' }] }),
    at: "copy('summaries'",
    says: 'joins customer without id of Customers',
  },
  {
    rule: 'G14',
    code: { tenant: 'storeId' },
    edits: [TENANCY],
    at: '**Tenancy**',
    says: 'The document’s tenant is customerId, but the pipeline’s is storeId',
  },
  {
    rule: 'G14',
    edits: [TENANCY],
    at: '**Tenancy**',
    says: 'The document’s tenant is customerId, but the pipeline declares none',
  },
  {
    rule: 'G15',
    code: mapped('customerId', (order) => order['placedAt']),
    at: '"id": "o1", "type": "summary"',
    says: 'the nearest row that it makes has customerId',
  },
  {
    rule: 'G15',
    edits: [['"day": "2026-01-01", "orders": 1, "cents": 100', '"day": "2026-01-03", "orders": 1, "cents": 100']],
    at: '"type": "day"',
    says: 'makes no day',
  },
  {
    rule: 'G16',
    edits: [['customer.name → customerName', 'order.id → customerName']],
    at: '| summaries |',
    says: "customerName doesn't depend on order.id",
  },
  {
    rule: 'G16',
    edits: [['customer.name → customerName', 'discount; customer.name → customerName']],
    at: '| summaries |',
    says: 'has the field discount in the document',
  },
  {
    rule: 'G16',
    edits: [['Orders (order) with Customers (customer)', 'Orders (order) with Customers (customer), waits for it']],
    at: '| summaries |',
    says: 'waits for a joined document in the document',
  },
  {
    rule: 'G16',
    edits: [['cents = sum(cents)', 'cents = sum(cents ÷ 100)']],
    at: '| days |',
    says: 'cents is sum(cents ÷ 100) in the document, which gives 1 for the example o1; the code gives 100',
  },
  {
    rule: 'G16',
    edits: [['cents = sum(cents)', 'cents = sum(lineCents)']],
    at: '| days |',
    says: 'no example of order has lineCents',
  },
  {
    rule: 'G16',
    edits: [['| days | aggregate | Orders (order)', '| days | aggregate | Orders (order), each line']],
    at: '| days |',
    says: 'takes each element',
  },
  {
    rule: 'G16',
    edits: [['| days | aggregate | Orders (order)', '| days | aggregate | Orders (order) not c1']],
    at: '| days |',
    says: 'but the code takes those with customerId "c1"',
  },
  {
    rule: 'G16',
    code: withDays({ where: () => false }),
    at: '| days |',
    says: 'the document states no condition',
  },
  ...CODE_CASES,
];

test('code and document agree', () => {
  const { findings, notChecked } = check([]);
  expect(findings).toEqual([]);
  // model-code.unit.test.ts has the cases of a model.ts.
  expect(notChecked).toEqual([{ rule: 'G21', missing: 'model.ts' }]);
});

test.each(CASES.map((one, index) => [`${one.rule} #${index}: ${one.says}`, one] as const))(
  '%s',
  (_, { rule, edits = [], code, at, says, hint = '' }) => {
    const { requirements, design } = edited(edits);
    const found = check(edits, code).findings.filter((finding) => finding.rule === rule);
    const lines = { 'cosmosdb_requirements.md': requirements, 'cosmosdb_data_model.md': design, 'pipeline.ts': TEXT };
    const lineOf = ({ file, line }: { file: string; line: number }): string =>
      Object.entries(lines)
        .find(([name]) => name === file)?.[1]
        .split('\n')[line - 1] ?? '';
    const all = found.map((finding) => `${finding.message} | ${lineOf(finding.at)}`).join('\n');
    expect(all.split('\n').find((line) => line.includes(at) && line.includes(says))).toBeDefined();
    expect(found.map((finding) => finding.hint).join('\n')).toContain(hint);
  },
);

const LINES = '"cents": 100, "lines": [{ "sku": "a", "quantity": 1, "tier": "gold" }] }';
const WITH_LINES: Edit = [
  '"placedAt": "2026-01-01T10:00:00Z", "cents": 100 }',
  `"placedAt": "2026-01-01T10:00:00Z", ${LINES}`,
];
const tiers: EmbedSpec = {
  kind: 'embed',
  name: 'tiers',
  version: 1,
  from: CUSTOMER,
  into: ORDER,
  on: { id: 'customerId' },
  each: { field: 'lines', on: {} },
  onDelete: 'keep',
  set: { tier: (customer) => customer['tier'] },
};
const told = (edits: readonly Edit[], projections: readonly DerivedSpec[]): string =>
  check(edits, { projections })
    .findings.filter(({ rule }) => rule === 'G2')
    .map(({ message, related = [] }) => `${message} | ${related.map(({ line }) => line).join()}`)
    .join('\n');

test('what an embed makes of the parents’ examples is what the children’s examples say', () => {
  expect(told([WITH_LINES], [tiers])).not.toContain('tiers embeds');
  const wrong: Edit = ['"tier": "gold" }] }', '"tier": "tin" }] }'];
  expect(told([[WITH_LINES[0], WITH_LINES[1].replace(...wrong)]], [tiers])).toContain(
    'tiers embeds tier "gold" of customer c1, but order o1 has "tin"',
  );
});

test('an embed into another type of the container doesn’t make up for a wrong value', () => {
  const wrong: Edit = ['"customerId": "c1", "customerName": "Ada"', '"customerId": "c1", "customerName": "Eve"'];
  const { each: _, ...whole } = tiers;
  const names: EmbedSpec = {
    ...whole,
    name: 'names',
    into: { container: 'CustomerOrders', type: 'note' },
    set: { customerName: (customer) => customer['name'] },
  };
  expect(told([wrong], [summaries, names])).toContain('summaries computes customerName "Ada"');
  expect(told([wrong], [summaries, { ...names, into: SUMMARY }])).not.toContain('summaries computes');
});

test('what conditions, embeds and reactions read is there, in the elements of lists too', () => {
  const react: ReactSpec = {
    kind: 'react',
    name: 'told',
    version: 1,
    from: ORDER,
    onDelete: 'keep',
    order: 'document',
    attempts: 1,
    timeoutMs: 1,
    restored: false,
    echoes: false,
    when: (order) => order['sttaus'] === 'open',
    run: () => Promise.resolve(),
  };
  expect(told([], [react])).toContain('told reads sttaus, which no example of Orders (order) has');
  const misspelt: EmbedSpec = { ...tiers, when: (line) => line['qauntity'] !== 0 };
  expect(told([WITH_LINES], [misspelt])).toContain('tiers reads lines.qauntity');
  const summed: AggregateSpec = {
    ...days,
    each: (order) => (order['lines'] ?? []) as Doc[],
    measures: { orders: { kind: 'sum', of: (line) => Number((line as Doc)['qantity']) } },
  };
  expect(told([WITH_LINES], [summed])).toContain('days reads lines.qantity');
});

test('every rule of the contract has a case', () => {
  const ids = new Set(CASES.map(({ rule }) => rule));
  const rules = contractRules().map(({ id }) => id);
  expect(rules.filter((id) => !ids.has(id))).toEqual(['G21']);
});

test('without a pipeline the document is checked alone, and it is said what was not', () => {
  const report = checkDocuments(documentsOf(edited([])), contractRules());
  expect(report.findings).toEqual([]);
  expect(report.notChecked.map(({ rule, missing }) => `${rule}: ${missing}`)).toEqual([
    'G1: pipeline.ts',
    'G6: pipeline.ts',
    'G11: pipeline.ts',
    'G13: pipeline.ts',
    'G14: pipeline.ts',
    'G15: pipeline.ts',
    ...['G16', 'G17', 'G18', 'G19', 'G20'].map((rule) => `${rule}: pipeline.ts`),
    'G21: model.ts',
  ]);
});
