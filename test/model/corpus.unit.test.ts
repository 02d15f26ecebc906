// Documents as teams have them, one variant a file: what is understood of each, and what is said of the rest.
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Design, Requirements } from '../../src/model/documents.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';

const folder = new URL('corpus/', import.meta.url);
const text = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const design = (name: string): Design => parseDesign(text(name), name, ['1', '2', '3', '4', '5', '6', '7']);
const requirements = (name: string): Requirements => parseRequirements(text(name), name);
const only = ({ containers }: Design) => {
  const [first] = containers;
  if (!first || containers.length > 1) throw new Error(`${containers.length} containers`);
  return first;
};
const findings = ({ findings: list }: Design | Requirements): string[] =>
  list.map(({ code, at }) => `${code}:${at.line}`);
const mapped = ({ mapping }: Design): string[] =>
  mapping.map(({ ids, operations, ru }) => `${ids.join()} ${operations.join()} ${ru ?? '-'}`);

test('numbered headings with signs, a long title, ids with and without words', () => {
  const read = design('numbered-headings.md');
  expect(only(read)).toMatchObject({
    container: { name: 'orders', partitionKey: ['/storeId'] },
    cardinality: 400,
    serves: { ids: ['1', '2'], at: { line: 13 } },
  });
  expect(mapped(read)).toEqual(['1 point-read 1', '2 query 3']);
  expect(findings(read)).toEqual([]);
});

test('a section in parts and again, tables of other widths, ranges and all', () => {
  const read = design('split-sections.md');
  expect(only(read).container.name).toBe('Orders');
  expect(mapped(read)).toEqual([
    '1 point-read -',
    '2 create 10',
    '3,4,5 replace,patch 11',
    '6,7 delete -',
    '1,2,3,4,5,6,7 query,cross-partition -',
  ]);
  expect(read.mapping.map(({ at }) => at.line)).toEqual([16, 20, 21, 25, 26]);
});

test.each([
  [
    'overview-table.md',
    { partitionKey: ['/storeId'], defaultTtl: 2_592_000, throughput: { kind: 'autoscale', max: 4000 } },
  ],
  ['bold-lines.md', { partitionKey: ['/storeId'], defaultTtl: -1 }],
  ['one-object.md', { name: 'orders', partitionKey: ['/storeId'] }],
  ['bullets-only.md', { partitionKey: ['/storeId'], types: [{ name: 'order', examples: [] }] }],
  ['struck-and-fenced.md', { name: 'Orders', partitionKey: ['/storeId'] }],
  ['tolerant-json.md', { types: [{ name: 'order', examples: [{ id: 'o1' }, { id: 'o2' }] }] }],
  [
    'policy-as-json.md',
    { indexingPolicy: { compositeIndexes: [[{ path: '/storeId' }, { path: '/cents', order: 'descending' }]] } },
  ],
  [
    'inline-composite.md',
    { indexingPolicy: { compositeIndexes: [[{ path: '/storeId' }, { path: '/cents', order: 'descending' }]] } },
  ],
  ['nested-bullets.md', { partitionKey: ['/storeId', '/id'], uniqueKeys: [{ paths: ['/number'] }] }],
  ['front-matter.md', { partitionKey: ['/storeId'] }],
])('%s', (name, container) => {
  expect(only(design(name)).container).toMatchObject(container);
});

test('what was forgiven and what was skipped is listed with its line', () => {
  expect(findings(design('tolerant-json.md'))).toEqual(['json-forgiven:5']);
  expect(findings(design('design-elsewhere.md'))).toEqual(['design-elsewhere:12']);
  expect(findings(design('bullets-only.md'))).toEqual(['type-without-example:5']);
  expect(findings(design('front-matter.md'))).toEqual([
    'section-skipped:2',
    'section-skipped:18',
    'section-skipped:22',
  ]);
  expect(
    design('curly-quotes.md').findings.map(({ severity, message, at }) => [
      severity,
      message.includes('curly'),
      at.line,
    ]),
  ).toEqual([['error', true, 14]]);
});

test('a struck row is taken back, wrapped values go on', () => {
  expect(mapped(design('struck-and-fenced.md'))).toEqual(['1 point-read -']);
  expect(only(design('nested-bullets.md')).data).toMatchObject({ gb: 100 });
});

test.each(['projections-as-bullets.md', 'derived-from.md'])('projections in another form than a table: %s', (name) => {
  const [projection] = design(name).projections;
  expect(projection).toMatchObject({
    kind: 'aggregate',
    source: { container: 'Orders', type: 'order' },
    sink: { container: 'Totals' },
  });
});

test('a projection as bullets has all that a row has', () => {
  expect(design('projections-as-bullets.md').projections[0]).toMatchObject({
    name: 'totals',
    keys: ['storeId'],
    measures: [{ field: 'orders', kind: 'count' }],
    serves: ['1'],
    lagMs: 30_000,
    deletes: 'subtract',
    at: { line: 18 },
  });
});

test('the Chinese labels', () => {
  const read = design('chinese.md');
  expect(only(read)).toMatchObject({
    container: { name: 'orders', partitionKey: ['/storeId'], defaultTtl: 2_592_000, throughput: { max: 4000 } },
    cardinality: 400,
  });
  expect(mapped(read)).toEqual(['1 point-read 1', '2 create 9']);
  expect(read.projections).toMatchObject([{ name: 'cold', kind: 'archive', serves: ['1'], lagMs: 86_400_000 }]);
  expect(findings(read)).toEqual([]);
  const asked = requirements('requirements-chinese.md');
  expect(asked.patterns.map(({ id, type, rate, status }) => [id, type, rate?.peak, rate?.average, status])).toEqual([
    ['1', 'read', 500, 20, '✅'],
    ['2', 'write', 50, 5, '已确认'],
  ]);
  expect(asked.relationships).toMatchObject([{ parent: '客户', child: '订单', many: true, average: 5, max: 1000 }]);
});

test('rates in every form', () => {
  const { patterns, relationships } = requirements('requirements-rates.md');
  expect(patterns.map(({ id, rate }) => [id, rate?.peak, rate?.average, rate?.per])).toEqual([
    ['1', 500, undefined, undefined],
    ['2', 50, 20, undefined],
    ['3', 1, 0.1, undefined],
    ['4', 0.1, undefined, undefined],
    ['5', 0.05, 0.01, 'practice'],
    ['6', 2000, 1500, undefined],
    ['7', 800, undefined, undefined],
    ['8', undefined, undefined, undefined],
  ]);
  expect(relationships.map(({ average, max }) => [average, max])).toEqual([
    [5, 1000],
    [12, 19_200_000],
  ]);
});

test('every document of the corpus is read', () => {
  for (const name of readdirSync(folder))
    expect(() => (name.startsWith('requirements') ? requirements(name) : design(name))).not.toThrow();
});
