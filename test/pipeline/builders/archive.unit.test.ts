import { expect, test } from 'vitest';
import { archive, copy, definePipeline } from 'millrace';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import { parseDate } from '../../../src/pipeline/date.ts';
import { parseModel } from '../../../src/model/reader/read.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  type: 'order';
  storeId: string;
  doneAt: string;
}
interface Shop {
  Orders: { order: Order };
  Copies: { copied: { id: string; type: 'copied'; storeId: string; doneAt: string } };
}
const m = namesOf<Shop>();
const rule = (options: object) => archive<Order>('cold', { from: m.Orders.order, date: 'doneAt', ...options });
const codes = (options: object): string[] => rule(options).findings.map(({ code }) => code);

test('a rule is by age, by a fixed date or by where', () => {
  expect(rule({ after: '90d' }).rule).toEqual({ kind: 'after', ms: 90 * 86_400_000, text: '90d' });
  expect(rule({ after: '1.5 h' }).rule).toMatchObject({ ms: 5_400_000 });
  expect(rule({ before: '2001-02-01' }).rule).toEqual({ kind: 'before', ms: Date.UTC(2001, 1), text: '2001-02-01' });
  expect(rule({ where: () => true }).rule).toEqual({ kind: 'always' });
  expect(codes({ after: '90d', where: () => true })).toEqual([]);
});

test('a size may be the only rule, and what is archived may be kept for a time', () => {
  expect(rule({ largerThan: '100 KB' })).toMatchObject({
    rule: { kind: 'always' },
    largerThan: { bytes: 100_000, text: '100 KB' },
    findings: [],
  });
  expect(rule({ after: '90d', largerThan: '1.5MB', keep: '3650d' })).toMatchObject({
    rule: { kind: 'after' },
    largerThan: { bytes: 1_500_000 },
    keep: { ms: 3650 * 86_400_000, text: '3650d' },
    findings: [],
  });
});

test('tiers are whole days, and cold comes after cool', () => {
  expect(rule({ after: '90d', tiers: { cold: '90d', cool: '30d' } }).tiers).toEqual({ cool: 30, cold: 90 });
  expect(rule({ after: '90d', tiers: { cold: '90d' } }).tiers).toEqual({ cool: 0, cold: 90 });
  expect(rule({ after: '90d' }).tiers).toBeUndefined();
});

test.each([
  [{ after: '1d', tiers: { cool: '90d', cold: '30d' } }, 'archive-tiers'],
  [{ after: '1d', tiers: { cool: '36h' } }, 'archive-tiers'],
  [{ after: '1d', tiers: { archive: '365d' } }, 'archive-tiers'],
  [{ after: '1d', tiers: {} }, 'archive-tiers'],
  [{}, 'archive-rule'],
  [{ after: '90d', before: '2001-02-01' }, 'archive-rule'],
  [{ after: 'ninety days' }, 'archive-after'],
  [{ before: '2001-02-30' }, 'archive-before'],
  [{ after: '90d', codec: 'lz4' }, 'archive-codec'],
  [{ largerThan: 'large' }, 'archive-size'],
  [{ after: '90d', retain: 'long' }, 'archive-retain'],
  [{ after: '90d', retain: '12 h' }, 'archive-retain'],
  [{ after: '90d', retain: '3651d', keep: '3650d' }, 'archive-retain'],
  [{ after: '90d', retainLocked: true }, 'archive-retain'],
  [{ after: '90d', keep: 'long' }, 'archive-keep'],
  [{ after: '90d', keep: '0 d' }, 'archive-keep'],
  [{ after: '90d', keep: '90d' }, 'archive-keep'],
  [{ after: '1d', date: '' }, 'archive-date'],
  [{ after: '1d', version: 0 }, 'projection-version'],
])('%j is told as %s', (options, code) => {
  expect(codes(options)).toEqual([code]);
});

test.each([
  ['2001-02-01', Date.UTC(2001, 1, 1)],
  ['2001/01/10 18:20', Date.UTC(2001, 0, 10, 18, 20)],
  ['2001-01-10T18:20:05.678Z', Date.UTC(2001, 0, 10, 18, 20, 5, 678)],
  ['2001-01-10T18:20:05+02:00', Date.UTC(2001, 0, 10, 16, 20, 5)],
  [979_150_800, 979_150_800_000],
  [979_150_800_000, 979_150_800_000],
  ['2001-02-29', undefined],
  ['2001-01/10', undefined],
  ['10.1.2001', undefined],
  ['', undefined],
  [-1, -1_000],
  [Number.NaN, undefined],
  [null, undefined],
])('the date %j is %j', (value, ms) => {
  expect(parseDate(value)).toBe(ms);
});

const documentWith = (policy = '') =>
  parseModel(
    `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o", "type": "order", "storeId": "s", "doneAt": "2026-01-01" }]
\`\`\`
- **Partition Key**: \`/storeId\`
${policy}
### Copies Container
\`\`\`json
[{ "id": "o", "type": "copied", "storeId": "s", "doneAt": "2026-01-01" }]
\`\`\`
- **Partition Key**: \`/storeId\`
`,
    'm.md',
  );
const document = documentWith();
const copied = copy('copies', {
  from: m.Orders.order,
  into: m.Copies.copied,
  map: ({ id, storeId, doneAt }) => ({ id, storeId, doneAt }),
});
type Declarations = Parameters<typeof definePipeline>[0]['projections'][number][];
const findingsIn = (of: typeof document, ...projections: Declarations): string[] =>
  checkPipeline(definePipeline({ model: m, tenant: 'storeId', projections }), of).map(({ code }) => code);
const findings = (...projections: Declarations): string[] => findingsIn(document, ...projections);

test('archives stand beside the projections, parted by the pipeline’s tenant', () => {
  const pipeline = definePipeline({ model: m, tenant: 'storeId', projections: [copied, rule({ after: '1d' })] });
  expect(pipeline.projections.map(({ name }) => name)).toEqual(['copies']);
  expect(pipeline.archives).toMatchObject([{ name: 'cold', tenantField: 'storeId' }]);
  expect(findings(copied, rule({ after: '1d' }))).toEqual([]);
});

test.each([
  ['', []],
  ['- **Included Paths**: `/doneAt/?`\n- **Excluded Paths**: `/*`', []],
  ['- **Included Paths**: `/storeId/?`\n- **Excluded Paths**: `/*`', ['archive-unindexed']],
  ['- **Included Paths**: `/*`\n- **Excluded Paths**: `/doneAt/?`', ['archive-unindexed']],
])('a date without an index is a warning (%j)', (policy, wanted) => {
  const of = documentWith(policy);
  expect(findingsIn(of, copied, rule({ after: '1d' }))).toEqual(wanted);
  // It reads all documents of the type in any case.
  expect(findingsIn(of, copied, rule({ largerThan: '1 KB' }))).toEqual([]);
});

test('what the document lacks, what is derived and what is joined is no matter for an archive', () => {
  expect(findings(rule({ after: '1d', date: 'nope' }))).toEqual(['archive-date-unknown']);
  const derived = archive('cold', { from: m.Copies.copied, date: 'doneAt', after: '1d' });
  expect(findings(copied, derived)).toEqual(['archive-of-derived']);
  const joining = copy('copies', {
    from: m.Orders.order,
    into: m.Copies.copied,
    with: { other: { of: m.Orders.order, on: { storeId: 'storeId', id: 'id' } } },
    map: ({ id, storeId, doneAt }) => ({ id, storeId, doneAt }),
  });
  expect(findings(joining, rule({ after: '1d' }))).toEqual(['archive-of-joined']);
  expect(findings(copied, rule({ after: '1d' }), rule({ after: '2d' }))).toEqual(['projection-twice']);
});
