// What every document of a type would be parked for is found on the data model's examples, before anything runs.
import { expect, test } from 'vitest';
import { aggregate, copy, definePipeline, source } from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import { parseModel } from '../../../src/model/reader/read.ts';
import { namesOf } from '../../support/names-of.ts';

interface Shop {
  Orders: {
    order: { id: string; type: 'order'; storeId: string; day?: string; cents?: number; place?: string | null };
  };
  Sums: { sum: { id: string; type: 'sum'; storeId: string; day: string; cents: number } };
  Copies: { copied: { id: string; type: 'copied'; place: string } };
}
const document = parseModel(
  `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o", "type": "order", "storeId": "s", "cents": 5, "day": "d", "place": "p" }, { "id": "bare", "type": "order", "storeId": "s" }]
\`\`\`
- **Partition Key**: \`/storeId\`
### Sums Container
\`\`\`json
[{ "id": "s", "type": "sum", "storeId": "s", "day": "d", "cents": 1 }]
\`\`\`
- **Partition Key**: \`/storeId\`
### Copies Container
\`\`\`json
[{ "id": "c", "type": "copied", "place": "p" }]
\`\`\`
- **Partition Key**: \`/place\`
`,
  'm.md',
);
const m = namesOf<Shop>();
type Projections = Parameters<typeof definePipeline>[0]['projections'];
const found = (...projections: Projections) =>
  checkPipeline(definePipeline({ model: m, projections }), document).map(({ code, message }) => `${code}: ${message}`);

const sums = (name: string, day: (order: { day?: string }) => string, cents: (order: { cents?: number }) => number) =>
  aggregate(name, {
    from: m.Orders.order,
    into: m.Sums.sum,
    groupBy: (order) => ({ storeId: order.storeId, day: day(order) }),
    measures: { cents: (q) => q.sum((order) => cents(order)) },
  });
const copies = (id: string, place: (order: { place?: string | null }) => string) =>
  copy('copies', {
    from: m.Orders.order,
    into: m.Copies.copied,
    badIds: 'park',
    map: (order) => ({ id, place: place(order) }),
  });

test.each([
  [
    'a group key that is missing in one',
    sums(
      'a',
      (order) => order.day as string,
      () => 1,
    ),
    "example-refused: Projection a can't take the example bare of Orders (order): groupBy returned undefined in the field day",
  ],
  [
    'a group key that is no scalar',
    sums(
      'a',
      () => ({}) as string,
      () => 1,
    ),
    "example-refused: Projection a can't take the example o of Orders (order): groupBy returned object in the field day",
  ],
  [
    'a measure that is no number',
    sums(
      'a',
      () => 'd',
      (order) => order.cents as number,
    ),
    "example-refused: Projection a can't take the example bare of Orders (order): Measure cents got undefined, not a finite number",
  ],
  [
    'an id that is illegal, where such are to be parked',
    copies('a/b', () => 'p'),
    'example-refused: Projection copies can\'t take the example o of Orders (order): The id "a/b" contains one of / \\ #',
  ],
  [
    "a copy without its sink's key",
    copies('a', (order) => order.place as string),
    'sink-key-value: For an example of Orders (order), projection copies returns a document without a string, number or boolean in /place, the key of Copies',
  ],
])('%s', (_what, projection, message) => expect(found(projection)).toContain(message));

test('two projections that write one document, and not two versions of one', () => {
  const one = sums(
    'a',
    () => 'd',
    () => 1,
  );
  const two = sums(
    'b',
    () => 'd',
    () => 2,
  );
  expect(found(one, two)).toEqual(['sink-shared: Projections a and b both write the document ["s","sum|d|s"] of Sums']);
  expect(found(one, { ...two, name: 'a', version: 2 })).toEqual([]);
});

test('an example that where leaves out, or that is deleted, has nothing to say', () => {
  const projection = {
    ...sums(
      'a',
      (order) => order.day as string,
      () => 1,
    ),
    where: (order: Record<string, unknown>) => order['day'] !== undefined,
  };
  expect(found(projection)).toEqual([]);
  const sources = [source({ of: m.Orders.order, deleted: ({ day }) => day === undefined })];
  const all = sums(
    'a',
    (order) => order.day as string,
    () => 1,
  );
  expect(checkPipeline(definePipeline({ model: m, sources, projections: [all] }), document)).toEqual([]);
});
