// A pipeline and its lines, which the tests of the contract change in one place each.
import { contractRules } from '../../src/contract/contract-rules.ts';
import type {
  AggregateSpec,
  ArchiveSpec,
  CopySpec,
  DerivedSpec,
  Doc,
  IngestSpec,
  ShardsSpec,
  SourceRules,
} from '../../src/pipeline/specs.ts';
import { namesOf } from '../support/names-of.ts';
import { definePipeline } from '../../src/pipeline/pipeline.ts';
import { type Report, checkDocuments } from '../../src/model/rules/index.ts';
import { type Edit, documentsOf, edited } from '../model/rules/base.ts';

export const ORDER = { container: 'Orders', type: 'order' };
export const CUSTOMER = { container: 'Customers', type: 'customer' };
export const SUMMARY = { container: 'CustomerOrders', type: 'summary' };
export const DAY = { container: 'Days', type: 'day' };

export const common = { version: 1, onDelete: 'remove', stable: false } as const;
export const summaries: CopySpec = {
  ...common,
  kind: 'copy',
  name: 'summaries',
  from: ORDER,
  into: SUMMARY,
  maxLag: '5 s',
  joins: [{ name: 'customer', of: CUSTOMER, on: { id: 'customerId' }, missing: 'null' }],
  map: (order, { customer }) => ({
    id: order['id'],
    customerId: order['customerId'],
    customerName: customer?.['name'] ?? null,
    placedAt: order['placedAt'],
  }),
};
export const days: AggregateSpec = {
  ...common,
  kind: 'aggregate',
  name: 'days',
  from: ORDER,
  into: DAY,
  maxLag: '30 s',
  groupBy: (_row, order) => ({ day: String(order['placedAt']).slice(0, 10) }),
  measures: { orders: { kind: 'count' }, cents: { kind: 'sum', of: (row) => Number((row as Doc)['cents']) } },
};
export const cold: ArchiveSpec = {
  kind: 'archive',
  name: 'orders-cold',
  version: 1,
  from: ORDER,
  dateField: 'placedAt',
  rule: { kind: 'after', ms: 400 * 86_400_000, text: '400d' },
};
export const ORDERS: SourceRules = { ...ORDER, deleted: (order) => order['deletedAt'] !== undefined };

/** The lines that findings are told by: names and fields of the declarations. */
export const TEXT = `definePipeline({
  projections: [
    copy('summaries', {
      maxLag: '5 s',
      map: (order, { customer }) => ({
        id: order.id,
        customerName: customer?.name ?? null,
        placedAt: order.placedAt,
      }),
    }),
    aggregate('days', {
      maxLag: '30 s',
      stable: true,
      groupBy: (order) => ({ day: order.placedAt.slice(0, 10) }),
      measures: { orders: (q) => q.count(), cents: (q) => q.sum((order) => order.cents) },
    }),
    archive('orders-cold', { from: order, date: 'placedAt', after: '400d' }),
  ],
})`;

export interface Code {
  readonly projections?: readonly DerivedSpec[];
  readonly sources?: readonly SourceRules[];
  readonly tenant?: string;
  readonly shards?: ShardsSpec;
  readonly ingest?: readonly IngestSpec[];
}

export const check = (
  edits: readonly Edit[],
  { projections = [summaries, days, cold], sources = [ORDERS], ...tenant }: Code = {},
): Report =>
  checkDocuments(
    documentsOf(edited(edits)),
    contractRules(definePipeline({ model: namesOf(), projections, sources, ...tenant }), {
      file: 'pipeline.ts',
      text: TEXT,
    }),
    { today: new Date('2026-06-01') },
  );
