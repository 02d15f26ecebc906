// The proof's own judge of tenants: what each derived document is from.
import { describe, expect, test } from 'vitest';
import { aggregate, copy, definePipeline, model, source } from 'millrace';
import { parseModel } from '../../src/model/reader/read.ts';
import { crossingOf } from '../../src/testing/prove/tenants.ts';

interface Doc {
  readonly id: string;
  readonly type: string;
  readonly storeId: string;
  readonly customerId: string;
  readonly day: string;
  readonly name?: string;
}
type Of<T extends string> = Doc & { readonly type: T };
const m = model<{
  Orders: { order: Of<'order'> };
  Customers: { customer: Of<'customer'> };
  Lists: { listed: Of<'listed'> };
  Days: { day: Of<'day'> };
}>('m.md');

const container = (name: string, type: string): string => `### ${name} Container
\`\`\`json
[{ "id": "1", "type": "${type}", "storeId": "s1" }]
\`\`\`
- **Partition Key**: \`/storeId\`
`;
const designed = parseModel(
  `# Shop
## Container Designs
${container('Orders', 'order')}
${container('Customers', 'customer')}
${container('Lists', 'listed')}
${container('Days', 'day')}
`,
  'm.md',
);
const order = (id: string, storeId: string, day: string) => ({ id, type: 'order', storeId, customerId: 'c1', day });
const customer = (storeId: string, name: string) => ({ id: 'c1', type: 'customer', storeId, name });
const documents = new Map([
  ['Orders', [order('o1', 's1', 'mon'), order('o2', 's2', 'mon'), order('o3', 's2', 'tue')]],
  ['Customers', [customer('s1', 'Ada'), customer('s2', 'Bob')]],
]);
const found = (projection: object, sources: readonly object[] = []): string | undefined =>
  crossingOf(
    {
      pipeline: definePipeline({
        model: m,
        tenant: 'storeId',
        sources: sources as never,
        projections: [projection as never],
      }),
      model: designed,
    },
    [documents],
  );

const lists = {
  from: m.Orders.order,
  into: m.Lists.listed,
  with: { customer: { of: m.Customers.customer, on: { storeId: 'storeId', id: 'customerId' } } },
} as const;
const days = { from: m.Orders.order, into: m.Days.day, measures: {} } as const;

test('copies and groups of one tenant each pass', () => {
  expect(
    found(copy('lists', { ...lists, map: (of, { customer: one }) => ({ ...of, name: one?.name ?? '' }) })),
  ).toBeUndefined();
  expect(found(aggregate('days', { ...days, groupBy: ({ storeId, day }) => ({ storeId, day }) }))).toBeUndefined();
});

describe('it names', () => {
  test('a group of two tenants', () => {
    const all = aggregate('days', { ...days, groupBy: ({ day }) => ({ storeId: 's1', day }) });
    expect(found(all)).toMatch(/^Days: \["s1",".*mon.*"\] combines the tenants "s1" and "s2"$/);
    expect(found({ ...all, acrossTenants: true })).toBeUndefined();
  });

  test('a copy for another tenant', () => {
    const moved = copy('lists', { ...lists, map: (of) => ({ ...of, storeId: of.day === 'tue' ? 's1' : of.storeId }) });
    expect(found(moved)).toBe('Lists: ["s1","o3"] is from tenant "s2" and has storeId "s1"');
  });

  test('a copy with the data of another tenant’s document', () => {
    const joined = copy('lists', {
      ...lists,
      with: { customer: { of: m.Customers.customer, on: { storeId: 'other', id: 'customerId' } } } as never,
      map: (of, { customer: one }: { customer?: Doc | null }) => ({ ...of, name: one?.name ?? '' }),
    });
    const sources = [
      source({
        of: m.Orders.order,
        upcast: (old) => {
          const of = old as Doc;
          return { ...of, other: of.day === 'tue' ? 's1' : of.storeId } as never;
        },
      }),
    ];
    expect(found(joined, sources)).toBe('Lists: ["s2","o3"] of tenant "s2" holds data of another tenant');
  });
});
