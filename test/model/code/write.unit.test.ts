import { describe, expect, it } from 'vitest';
import type { Model } from '../../../src/model/model.ts';
import { typeNames, writeExamples, writeModel } from '../../../src/model/code/write.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';

const at = { file: 'm.md', line: 1 };
type Types = Record<string, readonly Record<string, unknown>[]>;
const model = (containers: Record<string, Types>, more: Partial<Model['containers'][number]> = {}): Model => ({
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: Object.entries(containers).map(([name, types]) => ({
    name,
    partitionKey: ['/id'],
    types: Object.entries(types).map(([type, examples]) => typeOfExamples(type, examples)),
    at,
    places: {},
    ...more,
  })),
});

describe('writeModel', () => {
  it('writes each field as what the examples hold, optional where one lacks it', () => {
    const of = model({
      Orders: {
        order: [
          {
            id: 'a',
            type: 'order',
            n: 1,
            note: null,
            tags: [],
            lines: [{ sku: 'x', n: 1 }],
            at: { city: 'X' },
            'a-b': 1.5,
          },
          {
            id: 'b',
            type: 'order',
            n: 'many',
            note: 'n',
            tags: [],
            lines: [{ sku: null }],
            at: { city: 'Y', zip: '1' },
          },
          {
            id: 'c',
            type: 'order',
            n: 2,
            note: null,
            tags: [],
            lines: [],
            at: { city: 'Z' },
            deep: [[1], [2]],
            paid: true,
            placed: '2026-03-01T10:15:00Z',
          },
        ],
      },
    });
    expect(writeModel(of, '// by hand')).toBe(`// by hand

import {
  type Infer,
  any,
  bool,
  container,
  defineModel,
  document,
  int,
  list,
  moment,
  nullable,
  number,
  object,
  optional,
  text,
} from 'millrace';

export const m = defineModel(
  {
    Orders: container('/id', {
      order: document({
        id: text,
        n: any,
        note: nullable(text),
        tags: list(any),
        lines: list({ sku: nullable(text), n: optional(int) }),
        at: object({ city: text, zip: optional(text) }),
        'a-b': optional(number),
        deep: optional(list(list(int))),
        paid: optional(bool),
        placed: optional(moment),
      }),
    }),
  },
  { examples: './model.examples.json' },
);

export type Order = Infer<typeof m.Orders.order>;
`);
  });

  it('writes the options of a container, and a policy of its own form as it is', () => {
    const text = writeModel(
      model(
        { Orders: { order: [] } },
        {
          defaultTtl: 86_400,
          uniqueKeys: [{ paths: ['/storeId', '/number'] }],
          indexingPolicy: { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/big/?' }] },
          throughput: { kind: 'manual', max: 400 },
          reference: true,
        },
      ),
      '// by hand',
    );
    expect(text).toContain(
      `      {
        ttl: 86_400,
        unique: [['/storeId', '/number']],
        index: { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/big/?' }] },
        reference: true,
        throughput: manual(400),
      },`.replaceAll(/^ {2}/gm, ''),
    );
    // Without examples there is no file of them.
    expect(text).toContain('order: document({ id: text }),');
    expect(text).not.toContain('examples');
  });

  it('tells types whose documents have no field `type`', () => {
    const text = writeModel(model({ Logs: { logs: [{ id: 'a', kind: 'x' }] } }), '// by hand');
    expect(text).toContain('logs: documentWithoutType({ id: text, kind: text }),');
  });
});

describe('typeNames', () => {
  it('gives a type with another of its name that of its container too, and makes odd names fit', () => {
    const of = model({
      Orders: { item: [], 'order-line': [] },
      'old carts': { item: [], '2nd': [], order: [], orderLine: [] },
    });
    expect(typeNames(of).map(({ name }) => name)).toEqual([
      'OrdersItem',
      'OrdersOrderLine',
      'OldCartsItem',
      'T2nd',
      'Order',
      'OldCartsOrderLine',
    ]);
    expect(writeModel(of, '')).toContain("export type T2nd = Infer<typeof m['old carts']['2nd']>;");
  });
});

describe('writeExamples', () => {
  it('has the examples by container and type', () => {
    const examples = {
      Orders: { order: [{ id: 'a', tags: ['x', 'y'], none: [], empty: {}, lines: [{ n: 1 }] }] },
      Empty: {},
    };
    const text = writeExamples(model(examples));
    expect(JSON.parse(text)).toEqual(examples);
    expect(text).toContain('"tags": ["x", "y"],');
  });
});
