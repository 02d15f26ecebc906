import { describe, expect, test } from 'vitest';
import { loadChangesOf, elementsOf } from '../../src/model/load.ts';
import { words } from '../../src/model/relations.ts';
import { factsOf } from '../../src/model/rules/index.ts';
import type { Facts } from '../../src/model/rules/facts.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { textsOf } from './example-texts.ts';

const REQUIREMENTS = (relations: string): string => `# Shop
## Access Patterns Analysis
| Pattern # | Description | RPS (Peak and Average) | Type | Attributes Needed | Status |
|---|---|---|---|---|---|
| 1 | Place an order | 10/2 | Write | all | ✅ |
| 2 | Rename a customer | 5/1 | Write | name | ✅ |
| 3 | A day | 4/1 | Read | all | ✅ |
## Entity Relationships Deep Dive
${relations}
`;
const DESIGN = (rows: string): string => `# Shop
## Container Designs
### Orders Container
\`\`\`json
[
  { "id": "o1", "type": "order", "customerId": "c1", "name": "Ada", "lines": [{ "n": 1 }, { "n": 2 }, { "n": 3 }] },
  { "id": "o2", "type": "order", "customerId": "c1", "name": "Ada", "lines": [{ "n": 1 }] }
]
\`\`\`
- **Partition Key**: \`/id\` - 1,000 values
### Customers Container
\`\`\`json
[{ "id": "c1", "type": "customer", "name": "Ada" }]
\`\`\`
- **Partition Key**: \`/id\` - 1,000 values
### Sales Container
\`\`\`json
[{ "id": "d1", "type": "day", "day": "1", "n": 1 }]
\`\`\`
- **Partition Key**: \`/day\` - 1,000 values
### Months Container
\`\`\`json
[{ "id": "m1", "type": "month", "month": "1", "n": 1 }]
\`\`\`
- **Partition Key**: \`/month\` - 1,000 values
## Access Pattern Mapping
| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |
|---|---|---|---|---|
| 1 | Place an order | Orders | Create | 9 RU |
| 2 | Rename a customer | Customers | Replace | 11 RU |
| 3 | A day | Sales | Point read | 1 RU |
## Change Feed Projections
| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields / measures | Serves | Max lag | Deletes | Start |
|---|---|---|---|---|---|---|---|---|---|
${rows}
`;
const DAYS =
  '| days | aggregate | Orders (order), each line | Sales (day) | [day]; stable | n = count | #3 | 5 s | subtract | backfill |';
const MONTHS =
  '| months | aggregate | Sales (day) | Months (month) | [month]; stable | n = sum(n) | #3 | 5 s | subtract | backfill |';
const NAMES =
  '| names | embed | Customers (customer) | Orders (order) | customerId = id | name | #1 | 5 s | keep | backfill |';
const AVERAGES = '- **Order → Lines**: 1:Many (avg 2.5 lines)\n- **Customer → Orders**: 1:Many (avg 7 orders)';

const factsFor = (rows: string, relations = AVERAGES): Facts =>
  factsOf({
    requirements: parseRequirements(REQUIREMENTS(relations), 'r.md'),
    design: parseDesign(DESIGN(rows), 'm.md'),
  });
const terms = (facts: Facts, container: string) => {
  const detail = facts.detail(container);
  return new Map((detail ? facts.load(detail) : []).map(({ what, perSecond }) => [what, perSecond]));
};

describe('changes a second', () => {
  test('each element of a list is a change of the sink: by the requirements, else by the examples', () => {
    const stated = factsFor(DAYS);
    expect(loadChangesOf(stated, { container: 'Sales', type: 'day' }, 'peak')).toBe(10 * 2.5);
    const [row] = factsFor(DAYS, '').rows;
    expect(row && elementsOf(factsFor(DAYS, ''), row)).toBe(2);
  });

  test('an aggregate of an aggregate takes the writes of the first', () => {
    const facts = factsFor(`${DAYS}\n${MONTHS}`);
    expect(terms(facts, 'Months').get('projection months')).toBe(25);
    expect(terms(facts, 'Sales').get('feed of months')).toBe(25);
    const without = terms(factsFor(MONTHS), 'Months');
    expect(without.get('projection months')).toBeUndefined();
  });

  test('a parent’s change is written into its children, at the average rate', () => {
    const facts = factsFor(NAMES);
    expect(terms(facts, 'Orders').get('projection names, customer changes × 7 copies')).toBe(7);
    expect(loadChangesOf(facts, { container: 'Orders', type: 'order' }, 'peak')).toBe(10 + 7);
  });

  test('an embed writes each new child once more, and reads its parent', () => {
    const facts = factsFor(NAMES);
    expect(terms(facts, 'Orders').get('projection names, new documents')).toBe(10);
    expect(terms(facts, 'Customers').get('joins of names, customer')).toBe(10);
  });

  test('an embed into elements has the copies that the relationship to the elements states', () => {
    const facts = factsFor(NAMES, '- **Customer → Order lines that are open**: 1:Many (avg 3 lines)');
    expect(terms(facts, 'Orders').get('projection names, customer changes × 3 copies')).toBe(3);
  });

  test('a reference is written into every tenant, at the average rate', () => {
    const countries =
      '| lists | reference | Customers (customer) with Orders (order) | Months (month) | month | n | #3 | 5 s | remove | backfill |';
    // The key of Months has 1,000 values.
    expect(terms(factsFor(countries, ''), 'Months').get('projection lists, 1000 copies of each')).toBe(1_000);
    const stated = factsFor(countries, '- **Customer → Orders**: 1:Many (avg 7 orders)');
    expect(terms(stated, 'Months').get('projection lists, 7 copies of each')).toBe(7);
  });

  test('a change of a field of the key is written to the new place and to the old one', () => {
    const copies =
      '| by-name | copy | Customers (customer) | Sales (day) | name; id = id | all | #3 | 5 s | remove | backfill |';
    expect(terms(factsFor(copies), 'Sales').get('projection by-name, moved rows')).toBe(5);
    expect(terms(factsFor(copies.replace('| name;', '| day;')), 'Sales').has('projection by-name, moved rows')).toBe(
      false,
    );
  });

  test('projections in a circle end', () => {
    const back =
      '| back | aggregate | Months (month) | Sales (day) | [day] | n = sum(n) | #3 | 5 s | subtract | backfill |';
    expect(loadChangesOf(factsFor(`${DAYS}\n${MONTHS}\n${back}`), { container: 'Sales', type: 'day' }, 'peak')).toBe(
      50,
    );
  });
});

test('the loads of the examples are those that their designs state, within a factor of two', () => {
  for (const example of ['flights', 'storefront', 'telemetry']) {
    const { requirements, design } = textsOf(example);
    const facts = factsOf({
      requirements: parseRequirements(requirements, 'r.md'),
      design: parseDesign(design, 'm.md'),
    });
    const stated = facts.containers.flatMap((detail) => {
      const text = facts.labelled(detail, /throughput/i)?.text ?? '';
      const [, together] = /together ([\d,]+)/.exec(text) ?? [];
      return together === undefined ? [] : [[detail, Number(together.replaceAll(',', ''))] as const];
    });
    expect(stated.length).toBeGreaterThan(1);
    const far = stated.filter(([detail, together]) => Math.abs(Math.log2(facts.peak(detail) / together)) >= 1);
    expect(far.map(([{ container }]) => container.name)).toEqual([]);
  }
});

test.each([
  ['Class', 'Classes'],
  ['box', 'Boxes'],
  ['branch', 'branches'],
  ['cache', 'caches'],
  ['house', 'houses'],
  ['category', 'Categories'],
  ['orderLine', 'Order lines'],
])('%s and %s are one name', (one, other) => {
  expect(words(one)).toBe(words(other));
});
