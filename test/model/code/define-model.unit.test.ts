import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type Infer,
  type Type,
  any,
  autoscale,
  bool,
  container,
  day,
  defineModel,
  document,
  documentWithoutType,
  indexed,
  int,
  list,
  moment,
  nullable,
  number,
  object,
  oneOf,
  optional,
  ordered,
  text,
} from '../../../src/index.ts';
import { MODEL } from '../../../src/model/code/define-model.ts';
import { toModel } from '../../../src/model/code/to-model.ts';
import type { m as storefront } from '../../../examples/storefront/model.ts';

const m = defineModel({
  Orders: container(
    '/storeId, /id',
    {
      order: document({
        id: text,
        storeId: text,
        status: oneOf('placed', 'paid'),
        placedAt: moment,
        on: day,
        cents: int,
        rate: optional(number),
        note: nullable(text),
        paid: bool,
        more: any,
        lines: list({ sku: text, shelf: optional(nullable(text)) }),
        tags: list(text),
        address: object({ city: text }),
      }),
      old: documentWithoutType({ id: text, kind: text }),
    },
    {
      ttl: 'per document',
      unique: [['/number']],
      index: ordered(indexed('/type', '/storeId'), '/type', '/placedAt desc'),
      throughput: autoscale(4_000),
      shards: 'spread',
    },
  ),
  Countries: container('/id', { country: document({ id: text }) }, { ttl: 60, reference: true, shards: 'every' }),
});

interface Order {
  id: string;
  type: 'order';
  storeId: string;
  status: 'placed' | 'paid';
  placedAt: string;
  on: string;
  cents: number;
  rate?: number;
  note: string | null;
  paid: boolean;
  more: unknown;
  lines: { sku: string; shelf?: string | null }[];
  tags: string[];
  address: { city: string };
}

describe('defineModel', () => {
  it('gives each type the documents that its fields describe', () => {
    expectTypeOf<Infer<typeof m.Orders.order>>().toEqualTypeOf<Order>();
    expectTypeOf<Infer<typeof m.Orders.old>>().toEqualTypeOf<{ id: string; kind: string }>();
    expectTypeOf(m.Orders.order).toEqualTypeOf<Type<Order>>();
    expect(m.Orders.order).toEqual({ container: 'Orders', type: 'order' });
  });

  it('gives the storefront’s documents the types that interfaces would', () => {
    expectTypeOf<Infer<typeof storefront.Orders.order>>().toEqualTypeOf<{
      id: string;
      type: 'order';
      storeId: string;
      customerId: string;
      countryId: string;
      status: string;
      placedAt: string;
      lines: {
        productId: string;
        variantId: string;
        productName: string;
        quantity: number;
        priceCents: number;
        shelf?: string;
      }[];
      totalCents: number;
      completedAt?: string;
      deletedAt?: string;
      ttl?: number;
    }>();
    expectTypeOf<Infer<typeof storefront.CustomerOrders.orderSummary>['customerName']>().toEqualTypeOf<string | null>();
  });

  it('compares fields with an interface', () => {
    interface Note {
      id: string;
      type: 'note';
      text?: string;
      state: 'new' | 'old';
    }
    const of = defineModel({
      Notes: container('/id', { note: document<Note>({ id: text, text: optional(text), state: oneOf('new', 'old') }) }),
    });
    expectTypeOf<Infer<typeof of.Notes.note>>().toEqualTypeOf<Note>();
    // @ts-expect-error `text` may be missing, and a state is one of two texts.
    document<Note>({ id: text, text, state: text });
    // @ts-expect-error A field is missing.
    document<Note>({ id: text, text: optional(text) });
  });

  it('says which name isn’t declared, and the nearest, where no compiler has', async () => {
    // @ts-expect-error A wrong name is an error of the compiler.
    expect(() => m.Ordres.order).toThrow('The model has no container Ordres: did you mean Orders?');
    // @ts-expect-error A wrong name is an error of the compiler.
    expect(() => m.Orders.ordr).toThrow('Container Orders of the model has no type ordr: did you mean order?');
    expect(await Promise.resolve(m)).toBe(m);
    expect(JSON.parse(JSON.stringify(m))).toMatchObject({ Orders: { order: { type: 'order' } } });
  });
});

describe('toModel', () => {
  it('is the model that hosts read', () => {
    const example = { id: 'a', type: 'country' };
    const model = toModel(m[MODEL], '/app/model.ts', { Countries: { country: [example] } });
    expect(model.containers[0]).toMatchObject({
      name: 'Orders',
      partitionKey: ['/storeId', '/id'],
      defaultTtl: -1,
      uniqueKeys: [{ paths: ['/number'] }],
      throughput: { kind: 'autoscale', max: 4_000 },
      indexingPolicy: {
        includedPaths: [{ path: '/type/?' }, { path: '/storeId/?' }],
        excludedPaths: [{ path: '/*' }],
        compositeIndexes: [
          [
            { path: '/type', order: 'ascending' },
            { path: '/placedAt', order: 'descending' },
          ],
        ],
      },
    });
    const [order, old] = model.containers[0]?.types ?? [];
    expect(order?.fields).toMatchObject({
      type: { kind: 'text', values: ['order'] },
      rate: { kind: 'number', isOptional: true },
      note: { kind: 'text', isNullable: true },
      lines: { kind: 'list', element: { kind: 'object', fields: { sku: { kind: 'text' } } } },
    });
    expect(old?.fields).toEqual({ id: { kind: 'text' }, kind: { kind: 'text' } });
    expect(model.containers[1]).toMatchObject({ defaultTtl: 60, reference: true, types: [{ examples: [example] }] });
    expect(model.shardMaps).toMatchObject([{ sharded: { Orders: '/storeId' }, reference: ['Countries'] }]);
  });
});
