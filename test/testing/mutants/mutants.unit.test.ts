import { describe, expect, test } from 'vitest';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { codeMutants } from '../../../src/testing/mutants/code.ts';
import { withoutTypes } from '../../../src/testing/prove/without-types.ts';
import { documentMutants } from '../../../src/testing/mutants/document.ts';
import { killScore } from '../../../src/testing/mutants/kill.ts';
import { type Mutant, otherFields } from '../../../src/testing/mutants/mutant.ts';
import { formatProof } from '../../../src/testing/prove/operation.ts';
import { NAMES, type Texts, pipelineOf, textsOf } from '../../model/example-texts.ts';

const said = (mutants: readonly Mutant[]): string[] => mutants.map(({ line, was, is }) => `${line}: ${was} → ${is}`);

const subjectOf = ({ design, requirements, pipeline }: Texts) => {
  const text = withoutTypes(pipeline);
  return {
    documents: {
      design: parseDesign(design, NAMES.design),
      requirements: parseRequirements(requirements, NAMES.requirements),
    },
    pipeline: pipelineOf(text),
    source: { file: NAMES.pipeline, text },
    parser: undefined,
  };
};

const score = (texts: Texts, seconds = 600, signal = new AbortController().signal) =>
  killScore(subjectOf(texts), {
    seed: 1,
    seconds,
    signal,
    load: (text) => Promise.resolve(pipelineOf(text)),
    progress: () => undefined,
  });

test('code: literals, fields, operators, measures and optional parts, but no names', () => {
  const text = `import { copy } from 'millrace';
const late = (delay) => (delay >= 15 ? 1 : 0);
export default copy('arrivals', {
  where: (flight) => flight.origin !== 'LAS' && late(flight.delay),
  on: { id: 'destination' },
  maxLag: '5 s', stable: true,
  measures: { miles: (q) => q.sum((flight) => flight.miles) },
});`;
  const fields = new Map([
    ['origin', 'destination'],
    ['destination', 'origin'],
  ]);
  expect(said(codeMutants(text, fields)).toSorted()).toEqual([
    '2: 0 → 1',
    '2: 1 → 2',
    '2: 15 → 16',
    '2: >= → >',
    '4: !== → ===',
    '4: && → ||',
    '4: LAS → LAS~',
    '4: origin → destination',
    `4: where: (flight) => flight.origin !== 'LAS' && late(flight.delay), → `,
    '5: destination → origin',
    '6: 5 s → 10 s',
    '6: stable: true, → ',
    '6: true → false',
    '7: sum → max',
  ]);
});

test('types are taken from the code without a change of its places', () => {
  const text = 'const late = (delay: number): boolean => delay >= 15;';
  expect(withoutTypes(text).indexOf('15')).toBe(text.indexOf('15'));
});

test('document: keys, TTL, throughput, index paths, queries, RU, meanings, projections and derived examples', () => {
  const { documents, pipeline } = subjectOf(textsOf('flights'));
  const all = documentMutants(documents.design, pipeline, otherFields(documents.design));
  const there = new Set(said(all).map((what) => what.replace(/^\d+: /, '')));
  const wanted = [
    'origin → destination',
    '-1 → 3600',
    '12,000 → 1200',
    'AND c.destination = @destination → ',
    '>= → >',
    'NOT IS_DEFINED(c.deletedAt)',
    '18 → 180',
    'sum → max',
    '15 → 16',
    '5 s → 10 s',
    'subtract → keep',
    '"LAS" → "LAS~"',
    '66 → 67',
  ];
  expect(wanted.filter((what) => ![...there].some((one) => one.includes(what)))).toEqual([]);
  // One change each, in the line that the mutant names.
  const before = documents.design.lines;
  for (const { text, line } of all) {
    const after = text.split('\n');
    expect(after.flatMap((one, at) => (one === before[at] ? [] : [at + 1]))).toEqual([line]);
  }
});

test('document: the order of queries and meanings', () => {
  const { documents, pipeline } = subjectOf(textsOf('storefront'));
  const there = said(documentMutants(documents.design, pipeline, otherFields(documents.design)));
  const orders = there.filter((what) => / → ASC$| DESC$/.test(what)).map((what) => what.replace(/^\d+: /, ''));
  expect(orders.filter((what) => what === 'DESC → ASC').length).toBeGreaterThanOrEqual(4);
  expect(orders.filter((what) => what === 'c.placedAt → c.placedAt DESC')).toHaveLength(2);
});

test('the report names what nothing notices, line by line, and the score', () => {
  const one = { file: 'pipeline.ts', line: 5, was: '15', is: '16' };
  const text = formatProof({
    pipeline: 'flights',
    seed: 1,
    stages: [],
    examples: { compared: 0, different: [] },
    contract: [],
    patterns: [],
    notes: [],
    totals: { proved: 0, run: 0, 'not run': 0, different: 0 },
    mutants: {
      mutants: 30,
      tried: 8,
      noticed: 6,
      by: { G2: 6 },
      survivors: [one, { ...one, was: 'stable: true,', is: '' }],
    },
  });
  expect(text).toContain('unnoticed    pipeline.ts:5: 15 → 16; stable: true, → (nothing)\n');
  expect(text).toContain('6 of 8 are noticed, 75.0 % (tried 8 of 30; give more seconds for the others)');
});

describe('a model of two containers', () => {
  const texts: Texts = {
    requirements: `# Requirements
## Access Patterns Analysis
| Pattern # | Description | RPS (Peak and Average) | Type | Attributes Needed | Key Requirements | Design Considerations | Status |
|---|---|---|---|---|---|---|---|
| 1 | Orders of a customer | 5/1 | Read | all | – | – | ✅ |
`,
    design: `# Shop: Azure Cosmos DB NoSQL Data Model
## Container Designs
### Orders Container
\`\`\`json
[
  { "id": "o1", "type": "order", "customer": "a", "status": "open", "cents": 15 },
  { "id": "o2", "type": "order", "customer": "a", "status": "closed", "cents": 40 },
  { "id": "o3", "type": "order", "customer": "b", "status": "open", "cents": 7 }
]
\`\`\`
- **Partition Key**: \`/id\`
### Customers Container
\`\`\`json
[
  { "id": "o1", "type": "bought", "customer": "a", "cents": 15 },
  { "id": "o3", "type": "bought", "customer": "b", "cents": 7 }
]
\`\`\`
- **Partition Key**: \`/customer\`
## Access Pattern Mapping
| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |
|---|---|---|---|---|
| 1 | Orders of a customer | Customers | Query: \`SELECT * FROM c WHERE c.customer = @customer\` | 3 RU |
### Meanings
\`\`\`sql meaning of 1 over Orders
SELECT c.id, c.customer FROM c WHERE c.customer = @customer AND (c.status = 'open' OR c.cents > 60)
\`\`\`
## Change Feed Projections
| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields / measures | Serves | Max lag | Deletes | Start |
|---|---|---|---|---|---|---|---|---|---|
| bought | copy | Orders (order) | Customers (bought) | customer = customer; id = id | all | #1 | 5 s | remove | backfill |
`,
    pipeline: `import { copy, definePipeline, model } from 'millrace';
const m = model('./cosmosdb_data_model.md');
export default definePipeline({
  name: 'shop',
  model: m,
  projections: [
    copy('bought', {
      from: m.Orders.order,
      into: m.Customers.bought,
      maxLag: '5 s',
      where: (order) => order.status === 'open' || order.cents > 60,
      map: (order) => ({ id: order.id, customer: order.customer, cents: order.cents }),
    }),
  ],
});
`,
  };

  test('a wrong field, filter and key are noticed; a bound that no document has is not', async () => {
    const { mutants, tried, noticed, by, survivors } = await score(texts);
    expect(tried).toBe(mutants);
    expect(noticed + survivors.length).toBe(tried);
    expect(Object.values(by).reduce((sum, count) => sum + count, 0)).toBe(noticed);
    const code = survivors.filter(({ file }) => file === NAMES.pipeline).map(({ was, is }) => `${was} → ${is}`);
    expect(code.toSorted()).toEqual(['60 → 61', '> → >=']);
    expect(by).toHaveProperty('meaning of 1');
  });

  test('without time, nothing is tried', async () => {
    expect(await score(texts, 0)).toMatchObject({ tried: 0, noticed: 0, survivors: [] });
  });

  test('a signal ends it', async () => {
    await expect(score(texts, 600, AbortSignal.abort(new Error('ended')))).rejects.toThrow('ended');
  });
});
