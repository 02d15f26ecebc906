import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, embed, embedEach, reference, source } from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import type { PipelineOptions } from 'millrace';
import { parseModel } from '../../../src/model/reader/read.ts';
import { namesOf } from '../../support/names-of.ts';

interface Person {
  id: string;
  type: 'person';
  store: string;
  manager: string;
  name: string;
  boss?: string;
  title?: string;
  orders?: number;
}
interface Order {
  id: string;
  type: 'order';
  store: string;
  person: string;
  who?: string;
  lines: { person: string; who?: string }[];
  ttl?: number;
}
interface Total {
  id: string;
  type: 'total';
  store: string;
  person: string;
  orders: number;
  who?: string;
}
interface Shop {
  People: { person: Person };
  Orders: { order: Order };
  Totals: { total: Total };
}
const document = parseModel(
  `# Shop
## Container Designs
### People Container
\`\`\`json
[{ "id": "p", "type": "person", "store": "s", "manager": "q", "name": "n", "boss": "b", "title": "t", "orders": 1 }]
\`\`\`
- **Partition Key**: \`/store\`
### Orders Container
\`\`\`json
[{ "id": "o", "type": "order", "store": "s", "person": "p", "who": "n", "lines": [{ "person": "p", "who": "n" }] }]
\`\`\`
- **Partition Key**: \`/store\`
### Totals Container
\`\`\`json
[{ "id": "t", "type": "total", "store": "s", "person": "p", "orders": 1, "who": "n" }]
\`\`\`
- **Partition Key**: \`/store\`
`,
  'm.md',
);
const m = namesOf<Shop>();
type Projections = PipelineOptions['projections'];
const codes = (projections: Projections, sources: PipelineOptions['sources'] = []): string[] =>
  checkPipeline(definePipeline({ model: m, projections, sources }), document).map(({ code }) => code);

const on = { store: 'store', id: 'person' } as const;
const who = (set: { who?: (p: Person) => string; ttl?: () => number; person?: (p: Person) => string }, name = 'who') =>
  embed(name, { from: m.People.person, into: m.Orders.order, on, set });
const named = who({ who: (p) => p.name });

test('what is in order passes', () => {
  const lines = embedEach('line-who', {
    from: m.People.person,
    into: m.Orders.order,
    each: 'lines',
    on: { store: 'store' },
    onEach: { id: 'person' },
    set: { who: (p) => p.name },
  });
  // Written and read are other fields of one type.
  const boss = embed('boss', {
    from: m.People.person,
    into: m.People.person,
    on: { store: 'store', id: 'manager' },
    set: { boss: (p) => p.name },
  });
  expect(codes([named, lines, boss])).toEqual([]);
});

test('a match that is no point read', () => {
  const spec = { ...named, on: { id: 'person' } };
  expect(codes([spec])).toEqual(['join-not-a-point-read']);
});

test('a match by a field that the parent, the child or the element of a list doesn’t have is refused', () => {
  const lines = embedEach('line-who', {
    from: m.People.person,
    into: m.Orders.order,
    each: 'lines',
    on: { store: 'store' },
    onEach: { id: 'person' },
    set: { who: (p) => p.name },
  });
  for (const spec of [
    { ...named, on: { store: 'store', id: 'persn' } },
    { ...named, on: { ...on, nick: 'person' } },
    { ...lines, each: { field: 'lines', on: { id: 'persn' } } },
  ])
    expect(codes([spec])).toEqual(['join-not-a-point-read']);
});

test('two that own a field, the whole list or a field of its elements', () => {
  expect(codes([named, who({ who: (p) => p.title ?? '' }, 'who-else')])).toEqual(['field-owned-twice']);
  const lists = embed('lists', { from: m.People.person, into: m.Orders.order, on, set: { lines: () => [] } });
  const lines = embedEach('line-who', {
    from: m.People.person,
    into: m.Orders.order,
    each: 'lines',
    on: { store: 'store' },
    onEach: { id: 'person' },
    set: { who: (p) => p.name },
  });
  expect(codes([lists, lines])).toEqual(['field-owned-twice']);
});

test('its own source fields, what it is found by, what it reads of the child, and what no embed may write', () => {
  const up = (set: object) =>
    embed('up', { from: m.People.person, into: m.People.person, on: { store: 'store', id: 'manager' }, set });
  expect(codes([up({ boss: (p: Person) => `${p.boss ?? ''}/${p.name}` })])).toEqual(['projection-cycle']);
  expect(codes([who({ person: (p) => p.name })])).toEqual(['embed-writes-its-match']);
  expect(codes([who({ ttl: () => 5 })])).toEqual(['embed-reserved']);
  const longer = embed('longer', {
    from: m.People.person,
    into: m.Orders.order,
    on,
    set: { who: (p, o) => `${o.who ?? ''}${p.name}` },
  });
  expect(codes([longer])).toEqual(['reads-what-it-writes']);
});

test('a circle is one by fields, not by types', () => {
  const totals = (field: 'person' | 'who') =>
    aggregate('totals', {
      from: m.Orders.order,
      into: m.Totals.total,
      groupBy: (o) => ({ store: o.store, person: o[field] ?? '' }),
      measures: { orders: (q) => q.count() },
    });
  const back = embed('back', {
    from: m.Totals.total,
    into: m.Orders.order,
    on: { store: 'store', id: 'person' },
    set: { who: (t) => String(t.orders) },
  });
  expect(codes([totals('person'), back])).toEqual([]);
  expect(codes([totals('who'), back])).toEqual(['projection-cycle']);
});

test('an embed is refused into what a projection writes whole, or what is stored in older shapes', () => {
  const whole = copy('whole', {
    from: m.People.person,
    into: m.Orders.order,
    map: (p) => ({ id: p.id, store: p.store, person: p.manager, lines: [] }),
  });
  expect(codes([named, whole])).toContain('embed-into-derived');
  expect(codes([named], [source({ of: m.Orders.order, upcast: (old) => old as Order })])).toEqual([
    'embed-into-upcast',
  ]);
});

test('reference data without a key from the tenant', () => {
  const spec = reference('x', {
    from: m.People.person,
    into: m.Totals.total,
    tenants: m.Orders.order,
    key: { person: 'id' },
    map: (p) => ({ id: p.id, store: p.store, orders: 1 }),
  });
  expect(codes([spec])).toEqual(['reference-key']);
});
