// The flights' document, changed in a way a test: each difference to model.ts is named with its line and both sides. G21.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import flights from '../../examples/flights/pipeline.ts';
import { contractRules } from '../../src/contract/contract-rules.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { textsOf } from '../model/example-texts.ts';

const { design: DOCUMENT, pipeline } = textsOf('flights');
const CODE = readFileSync(new URL('../../examples/flights/model.ts', import.meta.url), 'utf8');

function found(document: string, code = CODE) {
  const rules = contractRules(flights, {
    file: 'pipeline.ts',
    text: pipeline,
    model: { file: 'model.ts', text: code },
    documentDigest: createHash('sha256').update(document).digest('hex'),
  }).filter(({ id }) => id === 'G21');
  const design = parseDesign(document, 'm.md');
  return checkDocuments({ requirements: undefined, design }, rules, { today: new Date('2026-12-01') }).findings;
}

/** The document with one change, and the number of the changed line. */
function changed(from: string, to: string): { readonly text: string; readonly line: number } {
  const at = DOCUMENT.indexOf(from);
  if (at < 0) throw new Error(`The document has no ${from}`);
  return {
    text: DOCUMENT.slice(0, at) + to + DOCUMENT.slice(at + from.length),
    line: DOCUMENT.slice(0, at).split('\n').length,
  };
}

it('the document and model.ts of the flights say the same', () => {
  expect(found(DOCUMENT)).toEqual([]);
});

it.each([
  [
    '**Partition Key**: `/destination`',
    '**Partition Key**: `/date`',
    /key of FlightsByDestination: \/date .* \/destination in/,
  ],
  [
    '**TTL**: -1; tombstones of removed arrivals',
    '**TTL**: 60; tombstones of removed arrivals',
    /live of FlightsByDestination: 60 s .* per document/,
  ],
  ['autoscale max 12,000', 'autoscale max 13,000', /throughput of Flights: autoscale 13000 .* autoscale 12000/],
  [
    '`/origin/?`, `/date/?`, `/deletedAt/?`',
    '`/origin/?`, `/deletedAt/?`',
    /policy of Flights: .* in the document, .*\/date\/\?.* in model\.ts/,
  ],
  [
    '**Purpose**: reference data, looked up',
    '**Purpose**: looked up',
    /Reference data of Airports: no in the document, yes/,
  ],
])('%s → %s', (from, to, message) => {
  const { text, line } = changed(from, to);
  const [difference, ...others] = found(text).filter(({ severity }) => severity === 'error');
  expect(others).toEqual([]);
  expect(difference?.message).toMatch(message);
  expect(difference?.related).toMatchObject([{ file: 'model.ts' }]);
  // Of reference data the document has the container's line.
  expect(difference?.at.line).toBe(from.includes('Purpose') ? line - 10 : line);
});

it.each([
  [
    '"worstDelay": 66, "miles": 1750 },\n  { "id": "originDay',
    '"miles": 1750 },\n  { "id": "originDay',
    /worstDelay of OriginDays\/originDay: int \(optional\) .* int in/,
  ],
  ['"state": "MI"', '"state": 48', /state of Airports\/airport: any value in the document, text in/],
  ['"state": "MI"', '"state": null', /state of Airports\/airport: text or null in the document, text in/],
  [
    '"type": "route", "origin": "DTW"',
    '"type": "route", "carrier": "AA", "origin": "DTW"',
    /carrier of Routes\/route: text \(optional\) .* absent in/,
  ],
])('a field: %s → %s', (from, to, message) => {
  expect(found(changed(from, to).text).filter(({ severity }) => severity === 'error')).toMatchObject([
    { message: expect.stringMatching(message), at: { file: 'm.md' }, related: [{ file: 'model.ts' }] },
  ]);
});

it('containers and types that one side alone has', () => {
  const messages = (text: string) =>
    found(text)
      .flatMap(({ severity, message }) => (severity === 'error' ? [message] : []))
      .toSorted();
  expect(messages(DOCUMENT.replaceAll('OriginDays', 'OriginDates'))).toEqual([
    'Container OriginDates is in the document, but not in model.ts: did you mean OriginDays?',
    'Container OriginDays is in model.ts, but not in the document',
  ]);
  expect(messages(DOCUMENT.replaceAll('"type": "route"', '"type": "leg"').replace('`route`', '`leg`'))).toEqual([
    'Type leg of Routes is in the document, but not in model.ts',
    'Type route of Routes is in model.ts, but the document has no example of it',
  ]);
});

it('a model.ts that was written from another state of the document', () => {
  const [finding] = found(`${DOCUMENT}\nMore.\n`);
  expect(finding).toMatchObject({ severity: 'warning', message: expect.stringContaining('from another state of') });
  // By hand, the document explains it, and no digest counts.
  expect(found(`${DOCUMENT}\nMore.\n`, CODE.replace(/^.*/, '// by hand'))).toEqual([]);
});
