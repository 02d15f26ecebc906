import { expect, test } from 'vitest';
import { withProjections } from '../../src/contract/section.ts';
import { contractRules } from '../../src/contract/contract-rules.ts';
import type { Pipeline } from '../../src/pipeline/specs.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { pipelineOf, textsOf } from '../model/example-texts.ts';

const { design: text, pipeline: code } = textsOf('storefront');
const pipeline = pipelineOf(code);
const format = (document: string, of: Pipeline = pipeline): string =>
  withProjections(document, parseDesign(document, 'm.md'), of);
const section = (document: string): string => /## Change Feed Projections[^]*?(?=\r?\n## )/.exec(document)?.[0] ?? '';
const rest = (document: string): string => document.replace(section(document), '');

/** What the contract has to say of existence, fields, keys, deletes and freshness. */
const disagreements = (document: string): string[] =>
  checkDocuments({ requirements: undefined, design: parseDesign(document, 'm.md') }, contractRules(pipeline))
    .findings.filter(({ rule, severity }) => severity === 'error' && rule !== 'G4')
    .map(({ rule, message }) => `${rule}: ${message}`);

test('what agrees stays as it is, byte for byte', () => {
  expect(format(text)).toBe(text);
  const windows = `\uFEFF${text.replaceAll('\n', '\r\n')}`;
  expect(format(windows)).toBe(windows);
});

test('without a section one is written behind the mapping, and agrees with the code; nothing else changes', () => {
  const without = rest(text);
  const written = format(without);
  expect(section(written)).toContain(
    '| sku-cards | copy | Catalog (variant) with Catalog (product), waits for it | Skus (skuCard) | storeId, sku; id = id |',
  );
  expect(section(written)).toContain('name → variantName');
  expect(section(written)).toContain('product.name → productName');
  expect(section(written)).toContain(
    '| store-days | aggregate | Orders (order) | Sales (storeDay) | [storeId, day]; stable | orders = count; cents = sum; averageCents = avg; largestCents = max | #9 | 30 s | subtract | backfill |',
  );
  expect(written.replace(`${section(written)}\n`, '')).toBe(without);
  expect(written.indexOf('## Change Feed Projections')).toBeGreaterThan(written.indexOf('## Access Pattern Mapping'));
  expect(disagreements(written)).toEqual([]);
  expect(format(written)).toBe(written);
});

test.each([
  ['another lag', '| #9 | 30 s |', '| #9 | 90 s |'],
  ['another source', '| store-days | aggregate | Orders (order)', '| store-days | aggregate | Stores (store)'],
  ['another measure', 'largestCents = max |', 'largestCents = min |'],
  ['another group', '| Sales (storeDay) | [storeId, day]; stable |', '| Sales (storeDay) | [storeId]; stable |'],
])('%s: that row is written again, all others stay', (_, from, to) => {
  const wrong = text.replace(from, to);
  expect(wrong).not.toBe(text);
  const mended = format(wrong);
  const [before, after] = [wrong.split('\n'), mended.split('\n')];
  expect(after).toHaveLength(before.length);
  expect(after.filter((line, index) => line !== before[index])).toEqual([
    expect.stringMatching(/^\| store-days \|.*\| 30 s \| subtract \| backfill \|$/),
  ]);
  expect(disagreements(mended)).toEqual([]);
});

test('a row without its projection goes, a projection without a row gets one', () => {
  const row = text.split('\n').find((line) => line.startsWith('| open-orders |')) ?? '';
  const foreign = text.replace(row, row.replace('open-orders', 'closed-orders'));
  const mended = format(foreign);
  expect(mended).not.toContain('closed-orders');
  expect(section(mended).trimEnd().split('\n').at(-1)).toMatch(/^\| open-orders \| copy \|/);
  expect(rest(mended)).toBe(rest(foreign));
  expect(disagreements(mended)).toEqual([]);
});

test('a further version that differs from the row gets one with its number', () => {
  const second = pipeline.projections.find(({ name }) => name === 'order-summaries')!;
  const of = (version: object): Pipeline => ({
    ...pipeline,
    projections: [...pipeline.projections, { ...second, version: 2, ...version }],
  });
  expect(format(text, of({}))).toBe(text);
  const written = format(text, of({ onDelete: 'keep' }));
  expect(section(written)).toContain('\n| order-summaries@2 | copy |');
  expect(format(written, of({ onDelete: 'keep' }))).toBe(written);
});

test('columns of the document’s own stay, in its order', () => {
  const lines = text.split('\n');
  const table = lines.findIndex((line) => line.startsWith('| Projection |'));
  const owned = lines
    .map((line, index) =>
      index < table || !line.startsWith('|') || index > table + 30
        ? line
        : index === table
          ? `| Owner ${line}`
          : index === table + 1
            ? `|---${line}`
            : `| web ${line}`,
    )
    .join('\n');
  expect(format(owned)).toBe(owned);
  const mended = format(owned.replace('| #9 | 30 s |', '| #9 | 90 s |'));
  expect(mended).toMatch(/^\| {2}\| store-days \| aggregate \|/m);
});
