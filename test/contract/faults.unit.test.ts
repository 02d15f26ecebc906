import { expect, test } from 'vitest';
import { contractRules } from '../../src/contract/contract-rules.ts';
import type { Design } from '../../src/model/documents.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { type RuleFinding } from '../../src/model/rules/rule.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { NAMES, type Texts, pipelineOf, textsOf } from '../model/example-texts.ts';
import { FAULTS, type Fault } from './faults.ts';

const TODAY = new Date('2026-12-01T00:00:00Z');
const read = new Map<string, Design>();

function designOf(text: string): Design {
  const design = read.get(text) ?? parseDesign(text, NAMES.design);
  read.set(text, design);
  return design;
}

function findings({ design, pipeline }: Texts): readonly RuleFinding[] {
  const rules = contractRules(pipelineOf(pipeline), { file: NAMES.pipeline, text: pipeline });
  return checkDocuments({ requirements: undefined, design: designOf(design) }, rules, { today: TODAY }).findings;
}

const rulesOf = (all: readonly RuleFinding[], of: RuleFinding['severity']): string =>
  [...new Set(all.filter(({ severity }) => severity === of).map(({ rule }) => rule))].toSorted().join(' ');

function withFault({ example, file, after, from, to }: Fault): Texts {
  const texts = textsOf(example);
  const text = texts[file];
  const at = text.indexOf(from, text.indexOf(after));
  if (!text.includes(after) || at < 0) throw new Error(`${example} has no ${from} behind ${after}`);
  return { ...texts, [file]: text.slice(0, at) + to + text.slice(at + from.length) };
}

test('the examples have no finding of the contract', () => {
  for (const example of ['flights', 'storefront', 'telemetry']) expect(findings(textsOf(example))).toEqual([]);
});

test.each(FAULTS)('$example, behind "$after": $from → $to (before: $before)', (fault) => {
  const all = findings(withFault(fault));
  const errors = rulesOf(all, 'error');
  expect(errors === '' ? rulesOf(all, 'warning').replace(/^(?=.)/, 'only warned: ') : errors).toBe(fault.found);
});

test('one fault of the code is one finding, which names the field and the lines of all rows', () => {
  const moved = FAULTS.find(({ to }) => to === 'destination: flight.origin');
  const swapped: Fault = {
    ...moved!,
    from: 'destinationName: to?.name',
    to: 'destinationName: from?.name',
  };
  const found = (fault: Fault, rule: string) => findings(withFault(fault)).filter((one) => one.rule === rule);
  expect(found(moved!, 'G15')).toMatchObject([
    {
      message: expect.stringContaining(
        'makes no arrival 1 and 4 more; the nearest row that it makes for the first has',
      ),
      words: '"destination"',
    },
  ]);
  expect(found(moved!, 'G15')[0]?.related?.map(({ line }) => line)).toEqual([56, 57, 58, 59, 24]);
  expect(found(swapped, 'G2')).toMatchObject([
    { message: expect.stringMatching(/; 4 more differ too$/), words: '"destinationName"' },
  ]);
});

test('a remedy is that of the fault', () => {
  const hint = (from: string, to: string, after: string, file: Fault['file'] = 'design') =>
    findings(withFault({ example: 'flights', file, after, from, to, before: '', found: '' })).map((one) => one.hint);
  expect(hint('| remove |', '| keep |', '\n| arrivals |')[0]).toContain('the column Deletes, or `onDelete`');
  expect(hint('| 5 s |', '| 5 min |', '\n| arrivals |')[0]).toBe('Correct the document or the code.');
  expect(hint('!== undefined', '=== undefined', 'sources:', 'pipeline')[0]).toContain(
    'Correct `deleted` of the source',
  );
});
