import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDesign } from '../../../src/model/reader/design.ts';
import type { RuleFinding } from '../../../src/model/rules/rule.ts';
import { MODEL_RULES, type Report, checkDocuments } from '../../../src/model/rules/index.ts';
import { type Texts, documentsOf, edited } from './base.ts';
import { A_TO_D } from './cases-a-d.ts';
import { SQL_CASES } from './cases-sql.ts';
import { C_REQUESTS } from './cases-c-requests.ts';
import { DERIVED_CASES } from './cases-derived.ts';
import { E_TO_I } from './cases-e-i.ts';
import { EXAMPLE_CASES } from './cases-examples.ts';
import { FIGURE_CASES } from './cases-figures.ts';
import { LASTING_CASES } from './cases-lasting.ts';
import { LAYOUT_CASES } from './cases-layouts.ts';
import { PEOPLE_CASES } from './cases-people.ts';
import { REFERENCE_CASES } from './cases-references.ts';
import { SERVICE_CASES } from './cases-service.ts';
import { VALUE_CASES } from './cases-values.ts';
import { VISIT_CASES } from './cases-visits.ts';
import { WRITE_CASES } from './cases-writes.ts';

const CASES = [
  ...A_TO_D,
  ...C_REQUESTS,
  ...E_TO_I,
  ...SERVICE_CASES,
  ...SQL_CASES,
  ...PEOPLE_CASES,
  ...VISIT_CASES,
  ...LASTING_CASES,
  ...DERIVED_CASES,
  ...REFERENCE_CASES,
  ...WRITE_CASES,
  ...LAYOUT_CASES,
  ...VALUE_CASES,
  ...FIGURE_CASES,
  ...EXAMPLE_CASES,
];
const TODAY = new Date('2026-06-01T00:00:00Z');

function check(texts: Texts): Report {
  return checkDocuments(documentsOf(texts), MODEL_RULES, {
    today: TODAY,
  });
}

const lineOf = ({ requirements, design }: Texts, { at }: RuleFinding): string =>
  (at.file.includes('requirements') ? requirements : design).split('\n')[at.line - 1] ?? '';

test('the base is read without a word and passes every rule', () => {
  const { findings, reading } = check(edited([]));
  expect(findings).toEqual([]);
  expect(reading).toEqual([]);
});

test.each(CASES.map((one, index) => [`${one.rule} #${index}`, one] as const))(
  '%s',
  (_, { rule, of, given = [], wrong, at, severity, says }) => {
    const before = edited(given, of === undefined ? undefined : { requirements: '', design: of });
    const right = check(before);
    // The rule looked, and passed: without that the next lines would prove nothing.
    expect(right.findings.filter((finding) => finding.rule === rule)).toEqual([]);
    expect(right.notChecked.filter((entry) => entry.rule === rule)).toEqual([]);
    const after = edited(wrong, before);
    const found = check(after).findings.filter((finding) => finding.rule === rule);
    expect(
      found.map((finding) => `${finding.severity} ${finding.message} | ${lineOf(after, finding)}`).join('\n'),
    ).toContain(at);
    const [first] = found.filter(
      (finding) =>
        lineOf(after, finding).includes(at) &&
        (says === undefined || `${finding.message} ${finding.hint ?? ''}`.includes(says)) &&
        (severity === undefined || finding.severity === severity),
    );
    expect(first).toBeDefined();
    expect(first?.hint).toBeTruthy();
  },
);

test('a query of the flights that loses its key is found by its SQL', () => {
  const file = 'examples/flights/cosmosdb_data_model.md';
  const right = readFileSync(file, 'utf8');
  const wrong = right.replace('c.origin = @origin AND ', '');
  expect(wrong).not.toBe(right);
  const keys = (text: string): string[] =>
    checkDocuments({ requirements: undefined, design: parseDesign(text, file) })
      .findings.filter(({ rule }) => rule === 'C13')
      .map(({ message }) => message);
  expect(keys(right)).toEqual([]);
  expect(keys(wrong)).toEqual([expect.stringContaining('without the key /origin')]);
});

test('line ends of Windows change no finding', () => {
  const query = '```sql\nSELECT * FROM c\nWHERE c.customerId = @c\nORDER BY c.cents DESC, c.placedAt ASC\n```\n';
  const unix = edited([['### Customers Container', `${query}\n### Customers Container`]]);
  const windows = { ...unix, design: unix.design.replaceAll('\n', '\r\n') };
  const found = (texts: Texts): string[] => check(texts).findings.map(({ rule, at }) => `${rule} ${at.line}`);
  expect(found(unix)).toContainEqual(expect.stringMatching(/^E6 /));
  expect(found(windows)).toEqual(found(unix));
});

test('what is wrong with a policy of several containers is one finding', () => {
  const text = [
    '# Data model',
    ...['Orders', 'Returns'].map((name) => `### ${name} Container\n- **Partition Key**: \`/storeId\`\n`),
    '## Indexing Strategy\n```json',
    '{ "includedPaths": [{ "path": "/*" }], "excludedPaths": [{ "path": "/lines/*/text/?" }] }\n```',
  ].join('\n');
  const found = checkDocuments({ requirements: undefined, design: parseDesign(text, 'model.md') }).findings;
  expect(found.filter(({ rule }) => rule === 'E3').map(({ message }) => message)).toEqual([
    "Orders and 1 more: /lines/*/text/? isn't a valid index path",
  ]);
});

// A18 has a test of its own.
test('every rule over the documents has a case', () => {
  const ids = new Set(['A18', ...CASES.map(({ rule }) => rule)]);
  expect(MODEL_RULES.map(({ id }) => id).filter((id) => !ids.has(id))).toEqual([]);
});
