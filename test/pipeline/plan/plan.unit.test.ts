import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline } from 'millrace';
import type { Pipeline } from '../../../src/pipeline/specs.ts';
import { planOf } from '../../../src/pipeline/plan/plan.ts';
import { readDesign } from '../../../src/model/reader/design.ts';
import { readRequirements } from '../../../src/model/reader/requirements.ts';
import { factsOf } from '../../../src/model/rules/index.ts';
import { m } from '../../../examples/storefront/model.ts';

const FOLDER = join(import.meta.dirname, '../../../examples/storefront');

const plan = (...projections: Parameters<typeof definePipeline>[0]['projections']) =>
  planAll(definePipeline({ model: m, projections }));

async function planAll(pipeline: Pipeline) {
  const requirements = await readRequirements(join(FOLDER, 'cosmosdb_requirements.md'));
  const design = await readDesign(join(FOLDER, 'cosmosdb_data_model.md'));
  return planOf(pipeline, design.model, factsOf({ requirements, design }));
}

const days = (stable: boolean) =>
  aggregate('days', {
    from: m.Orders.order,
    into: m.Sales.storeDay,
    stable,
    groupBy: (order) => ({ storeId: order.storeId, day: order.placedAt.slice(0, 10) }),
    measures: { orders: (q) => q.count() },
  });

test('a group that could change is kept with a locator, and the plan says what would spare it', async () => {
  const { projections } = await plan(days(false));
  expect(projections).toMatchObject([
    {
      id: 'days@1',
      mode: 'contribution with locator',
      reason: 'Its group depends on storeId, placedAt, so a locator stores where the document was before',
      cheaper: expect.stringMatching(/if the data model says that placedAt never changes; saves 11 RU/),
      ru: { each: 22 },
    },
  ]);
});

test('what is declared stable names the fields that it relies on', async () => {
  const { projections } = await plan(days(true));
  expect(projections[0]).toMatchObject({
    mode: 'contribution, no locator',
    reason: 'Its group depends on storeId, placedAt, and you declared that placedAt never changes (stable)',
    cheaper: undefined,
    ru: { each: 11 },
  });
});

test('without an example that reaches the function, the plan knows no fields and advises nothing', async () => {
  const broken = (stable: boolean) => ({
    ...days(stable),
    groupBy: () => {
      throw new Error('not of this form');
    },
  });
  const unread = copy('unread', {
    from: m.Orders.order,
    into: m.CustomerOrders.orderSummary,
    map: broken(true).groupBy,
  });
  const { projections } = await plan(broken(false), { ...broken(true), name: 'stable' }, unread);
  const reason = 'depends on fields that are not known without examples';
  expect(projections).toMatchObject([
    { reason: `Its group ${reason}, so a locator stores where the document was before`, cheaper: undefined },
    { reason: `Its group ${reason}, and you declared that they never change (stable)`, cheaper: undefined },
    { reason: `Its place ${reason}, so a locator stores where the document was before`, cheaper: undefined },
  ]);
  const pipeline = definePipeline({ model: m, projections: [days(false)] });
  const design = await readDesign(join(FOLDER, 'cosmosdb_data_model.md'));
  const containers = design.model.containers.map((of) => ({
    ...of,
    types: of.types.map((type) => ({ ...type, examples: [] })),
  }));
  const bare = { ...design.model, containers };
  expect(planOf(pipeline, bare, factsOf({ requirements: undefined, design })).projections[0]).toMatchObject({
    reason: `Its group ${reason}, so a locator stores where the document was before`,
    cheaper: undefined,
  });
});

test('a group that no field determines is said to be one', async () => {
  const { projections } = await plan({ ...days(false), groupBy: () => ({ storeId: 's', day: 'all' }) });
  expect(projections[0]?.cheaper).toMatch(/^`stable: true`: no field of the document changes it; saves 11 RU/);
});

test('a place made of key and id can’t change, whatever a field is called', async () => {
  const { projections } = await plan(
    copy('orders', {
      from: m.Orders.order,
      into: m.CustomerOrders.orderSummary,
      map: ({ id, storeId }) => ({
        id: `${storeId} ${id}`,
        storeId,
        customerId: storeId,
        customerName: null,
        countryName: null,
        status: 'x',
        placedAt: '',
        lineCount: 0,
        totalCents: 0,
      }),
    }),
  );
  expect(projections[0]?.cheaper).toMatch(/^`stable: true`: id, storeId can’t change in a document’s life/);
});

test('a join is read, confirmed, fanned out at its largest, and needs its indexes', async () => {
  const pipeline = await import('../../../examples/storefront/pipeline.ts');
  const { projections, circles } = await plan(...pipeline.default.projections);
  const summaries = projections.find(({ id }) => id.startsWith('order-summaries'));
  expect(summaries?.steps.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['read customer', 'confirm the joined documents']),
  );
  expect(summaries?.fanOut[0]).toMatch(/^a change of customer: up to 2,400 copies, [\d,]+ RU/);
  expect(summaries?.indexes).toContain('/_mr/joins/customer/ref/?');
  expect(circles).toEqual([]);
});

test('a copy with a joined type that has ignored fields is written for each version of its own', async () => {
  const { default: pipeline } = await import('../../../examples/storefront/pipeline.ts');
  const sources = [{ ...m.Customers.customer, ignore: ['/vector'] }];
  const { projections } = await planAll({ ...pipeline, sources });
  const notes = projections.find(({ id }) => id.startsWith('order-summaries'))?.notes;
  expect(notes?.join(' ')).toMatch(
    /nothing for a version that is no change of a joined document, .*; each version of Orders \(order\) is written/,
  );
});

test('a place that depends on a joined document that may be missing is said before each change is parked', async () => {
  const { default: pipeline } = await import('../../../examples/storefront/pipeline.ts');
  const summaries = pipeline.projections.find(({ name }) => name === 'order-summaries');
  if (summaries?.kind !== 'copy') throw new Error('The storefront has order-summaries');
  const map: typeof summaries.map = (doc, joined) => ({
    ...summaries.map(doc, joined),
    customerId: joined['customer']?.['name'],
  });
  const throwing: typeof map = (doc, joined) => ({ ...summaries.map(doc, joined), at: joined['customer']!['name'] });
  const waiting = summaries.joins.map((one) => ({ ...one, missing: 'wait' as const }));
  const notesOf = async (more: object) => {
    const { projections } = await planAll({ ...pipeline, projections: [{ ...summaries, ...more }] });
    return projections[0]?.notes.filter((note) => note.includes('place-changed'));
  };
  const note = [expect.stringMatching(/^Its place depends on customer, which may be missing, .* `missing: 'wait'`/)];
  expect(await notesOf({ map })).toEqual(note);
  expect(await notesOf({ map: throwing })).toEqual(note);
  expect(await notesOf({ map, joins: waiting })).toEqual([]);
  expect(await notesOf({})).toEqual([]);
});

test('an embed is kept with the page or by a job, by the largest number of children that the documents state', async () => {
  const pipeline = await import('../../../examples/storefront/pipeline.ts');
  const { projections } = await plan(...pipeline.default.embeds);
  const [currencies, shelves] = projections;
  expect(currencies?.mode).toBe('fields in place, by a resumable job');
  expect(currencies?.reason).toContain('up to 60,000 children (variant)');
  expect(currencies?.fanOut[0]).toMatch(/^a change of store: up to 60,000 children \(variant\), [\d,]+ RU$/);
  expect(shelves?.fanOut[0]).toMatch(/^a change of variant: up to 900 children \(order\), /);
  expect(currencies?.notes.join(' ')).toContain('millrace projections rebuild variant-currencies');
});

test('stable is not advised where the feed shows deletions without their documents', async () => {
  const pipeline = await import('../../../examples/storefront/pipeline.ts');
  const open = pipeline.default.projections.find(({ name }) => name === 'open-orders');
  if (!open) throw new Error('The storefront has open-orders');
  const sources = [{ ...open.from, feed: 'all-versions' as const }];
  const { projections } = await planAll({ ...pipeline.default, sources, projections: [open], embeds: [] });
  expect(projections[0]).toMatchObject({ mode: 'copy with locator', cheaper: undefined });
});

test('a copy that a global secondary index would serve is named, and of the others why it would not', async () => {
  const pipeline = (await import('../../../examples/storefront/pipeline.ts')).default;
  const same = copy('same', { from: m.Customers.customer, into: m.Customers.customer, map: (doc) => doc });
  const plain = { ...same, into: { container: 'OrdersByStatus', type: 'customer' } };
  const noteOf = async (more: object) => {
    const projections = [{ ...plain, ...more }];
    const { projections: planned } = await planAll({ ...pipeline, sources: [], embeds: [], projections });
    return planned[0]?.notes.at(-1);
  };
  expect(await noteOf({})).toBe(
    'A global secondary index of Customers by /storeId, /status would serve it, and nothing would run.',
  );
  expect(await noteOf({ where: () => true })).toContain('it has no conditions');
  expect(await noteOf({ onDelete: 'keep' })).toContain('keeps what was deleted');
  expect(await noteOf({ into: same.from })).toContain('same reads its sink');
  expect(await noteOf({ from: { container: 'Catalog', type: 'variant' } })).toContain('the other documents of Catalog');
  const map = (): never => {
    throw new Error('not of this form');
  };
  expect(await noteOf({ map })).toContain('has no example that shows whether this one does');
  expect(await noteOf({ map: (doc: object) => ({ ...doc, name: 'x' }) })).toContain('and name is another');
  const notes = (await planAll(pipeline)).projections.flatMap((one) => one.notes);
  expect(notes).toContain('A global secondary index would not serve it: it has no aggregates.');
  expect(notes.join()).toContain('it has no joins, and this one reads Customers (customer)');
});
