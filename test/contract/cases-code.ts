// Cases of what only the code shows: sweeps without an index, constants, ingests and hubs (G17 to G20), and of what the pipeline declares of tenants and shards (H1, I1 to I3).
import type { EmbedSpec, IngestEvent, IngestSpec, PublishSpec } from '../../src/pipeline/specs.ts';
import type { Edit } from '../model/rules/base.ts';
import { CUSTOMER, type Code, ORDER, SUMMARY, cold, days, summaries } from './shop.ts';

export interface Case {
  readonly rule: string;
  readonly edits?: readonly Edit[];
  readonly code?: Code;
  /** Part of the line of the document, or of pipeline.ts. */
  readonly at: string;
  readonly says: string;
  readonly hint?: string;
}

export const constantTier: EmbedSpec = {
  kind: 'embed',
  name: 'tiers',
  version: 1,
  from: CUSTOMER,
  into: SUMMARY,
  on: { id: 'customerId' },
  onDelete: 'keep',
  set: { tier: () => 'gold' },
};
export const ordersIn: IngestSpec = {
  kind: 'ingest',
  name: 'orders-in',
  version: 1,
  from: 'orders',
  consumerGroup: '$Default',
  format: 'json',
  into: ORDER,
  map: ({ body }: IngestEvent) => {
    const { id, customer, placedAt, cents } = body as Record<string, unknown>;
    if (Number.isNaN(Date.parse(String(placedAt)))) throw new Error(`${String(placedAt)} is no time`);
    return { id, customerId: customer, placedAt, cents };
  },
};
const ingesting = (change: (doc: Record<string, unknown>) => Record<string, unknown>): Code => ({
  ingest: [{ ...ordersIn, map: (event) => change(ordersIn.map(event)!) }],
});
export const ordersOut: PublishSpec = {
  kind: 'publish',
  name: 'orders-out',
  version: 1,
  from: ORDER,
  to: 'orders-done',
  format: 'raw',
  order: 'partitionKey',
  images: false,
};
export const OUT: Edit = [
  '| orders-cold | archive |',
  '| orders-out | publish | Orders (order) | eventhub:orders-done | customerId | all | #1 | 5 s | keep | backfill |\n| orders-cold | archive |',
];

const shardMap = (...lines: string[]): Edit => [
  '',
  [
    '## Shard map: tenants',
    ...lines,
    '',
    '| Key | Shard location |',
    '|---|---|',
    '| [1,50) | a |',
    '| [50,90) | b |',
  ].join('\n'),
];

export const CODE_CASES: readonly Case[] = [
  {
    rule: 'H1',
    code: { tenant: 'customerId' },
    at: '- **Partition Key**: `/id`',
    says: 'Customers: the first level of the key is /id, not /customerId',
  },
  { rule: 'H1', code: { tenant: 'customerId' }, at: '"type": "day"', says: 'examples of day have no customerId' },
  {
    rule: 'H1',
    code: { tenant: 'customerId' },
    at: '| 4 | Totals of a day |',
    says: 'queries Days without customerId',
  },
  { rule: 'I1', edits: [shardMap()], at: '## Shard map: tenants', says: 'the pipeline declares no shards' },
  {
    rule: 'I1',
    edits: [shardMap()],
    code: { shards: { map: 'stores' } },
    at: '## Shard map: tenants',
    says: 'the map stores, which the document',
  },
  {
    rule: 'I2',
    edits: [shardMap('- **Sharded containers**: `Orders` by `/storeId`')],
    at: '- **Sharded containers**',
    says: 'Orders by /storeId, but the first level of its key is /customerId',
  },
  {
    rule: 'I2',
    edits: [shardMap('- **Reference containers**: `Stores`')],
    at: '- **Reference containers**',
    says: 'container Stores, which has no design',
  },
  {
    rule: 'I3',
    edits: [shardMap(), ['| [50,90) | b |', '| [40,90) | b |']],
    at: '| [40,90) | b |',
    says: '[1,50) and [40,90) overlap',
  },
  {
    rule: 'I3',
    edits: [shardMap('- **Key type**: guid'), ['| [50,90) | b |', '| 7 | b |\n| 7 | c |']],
    at: '| 7 | c |',
    says: 'Key 7 has two shards',
  },
  {
    rule: 'G17',
    edits: [
      ['- **Included Paths**: `/customerId/?`, `/placedAt/?`', '- **Included Paths**: `/customerId/?`'],
      ['- **Composite Indexes**: `[(customerId ASC, placedAt DESC)]`\n', ''],
    ],
    at: '**Included Paths**',
    says: 'Orders has no index of placedAt, so each sweep reads all',
    hint: '`/placedAt/?`',
  },
  {
    rule: 'G18',
    code: {
      projections: [
        {
          ...summaries,
          map: (order, joined) => ({ ...summaries.map(order, joined), placedAt: '2026-01-01T10:00:00Z' }),
        },
        days,
        cold,
      ],
    },
    at: 'placedAt: order.placedAt',
    says: 'summaries writes one value of placedAt for all documents, though order has',
  },
  {
    rule: 'G18',
    code: { projections: [summaries, days, cold, constantTier] },
    at: 'definePipeline',
    says: 'tiers writes one value of tier',
  },
  {
    rule: 'G19',
    code: ingesting((doc) => ({ ...doc, id: crypto.randomUUID() })),
    at: 'definePipeline',
    says: 'makes another id each time',
  },
  {
    rule: 'G19',
    code: ingesting((doc) => ({ ...doc, id: `o|${Date.now()}` })),
    at: 'definePipeline',
    says: 'makes another id each time',
  },
  {
    rule: 'G19',
    code: ingesting(({ id, customerId, ...doc }) => ({ ...doc, id: customerId, customerId: id })),
    at: 'definePipeline',
    says: 'writes the event’s customerId into id, and its id into customerId',
  },
  {
    rule: 'G19',
    code: ingesting((doc) => ({ ...doc, placedAt: new Date().toISOString() })),
    at: 'definePipeline',
    says: 'writes the time of arrival into placedAt',
  },
  {
    rule: 'G19',
    code: {
      ingest: [
        {
          ...ordersIn,
          map: ({ body }) => {
            const { id, customer, placedAt } = body as Record<string, unknown>;
            return { id, customerId: customer, placedAt };
          },
        },
      ],
    },
    at: 'definePipeline',
    says: 'accepts an event whose placedAt is no time, and orders-cold never archives',
    hint: 'Throw an error in `map`',
  },
  {
    rule: 'G20',
    edits: [OUT],
    code: { projections: [summaries, days, cold, { ...ordersOut, to: 'orders-dnoe' }] },
    at: '| orders-out |',
    says: 'publishes to the hub orders-done in the document, but to orders-dnoe in the code',
  },
  {
    rule: 'G20',
    edits: [OUT],
    code: { projections: [summaries, days, cold, { ...ordersOut, to: 'orders' }], ingest: [ordersIn] },
    at: 'definePipeline',
    says: 'publishes to the hub orders, which orders-in reads',
  },
];
