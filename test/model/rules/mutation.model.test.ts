// Mistakes in the documents and pipelines of the examples: of A1 to I14, the right rule finds 95 % at the
// right line.
import { expect, test } from 'vitest';
import { contractRules } from '../../../src/contract/contract-rules.ts';
import type { Documents } from '../../../src/model/documents.ts';
import type { Place } from '../../../src/model/model.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { MODEL_RULES, checkDocuments } from '../../../src/model/rules/index.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type FileName, type Mutant, NAMES, type Texts, mutantsOf, pipelineOf, textsOf } from './mutants.ts';

const EXAMPLES = ['flights', 'storefront'];
const COUNT = Number(process.env['MILLRACE_HISTORIES'] ?? 250);
const TODAY = new Date('2026-12-01T00:00:00Z');

interface Told {
  readonly rule: string;
  readonly message: string;
  readonly places: readonly Place[];
}

/** One of the two documents is as it was in every mutant. */
const requirementsOf = new Map<string, Documents['requirements']>();
const designOf = new Map<string, Documents['design']>();
const EXAMPLE_TEXTS = EXAMPLES.map(textsOf);

function kept<T>(known: Map<string, T>, text: string, parse: () => T): T {
  const document = known.get(text) ?? parse();
  if (EXAMPLE_TEXTS.some(({ requirements, design }) => text === requirements || text === design))
    known.set(text, document);
  return document;
}

/** Everything that is said of an example with these texts. */
function told({ requirements, design, pipeline }: Texts): Told[] {
  const documents: Documents = {
    requirements: kept(requirementsOf, requirements, () => parseRequirements(requirements, NAMES.requirements)),
    design: kept(designOf, design, () => parseDesign(design, NAMES.design)),
  };
  const rules = [...MODEL_RULES, ...contractRules(pipelineOf(pipeline), { file: NAMES.pipeline, text: pipeline })];
  const report = checkDocuments(documents, rules, { today: TODAY });
  return [
    ...report.findings.map(({ rule, message, at, related = [] }) => ({ rule, message, places: [at, ...related] })),
    ...report.reading
      .filter(({ severity }) => severity !== 'information')
      .map(({ code, message, at }) => ({ rule: code, message, places: [at] })),
  ];
}

/**
 * Found where it is: a finding of the right rule that names what was changed, at the line that was changed, or at the
 * other end of what it broke with that line beside it. What is gone with its line is found at the block it stood in, or
 * at a line that still refers to it. A pipeline that can't be made any more is found by itself.
 */
function found(mutant: Mutant, before: Texts): boolean {
  const texts = { ...before, [mutant.file]: mutant.text };
  let all: Told[];
  try {
    all = told(texts);
  } catch (error) {
    return mutant.file === 'pipeline' && mutant.rules.test('pipeline') && error instanceof Error;
  }
  const refers = ({ file, line }: Place): boolean =>
    mutant.gone !== undefined &&
    FILES.some((name) => NAMES[name] === file && lineOf(texts[name], line).includes(mutant.gone ?? ''));
  const there = (place: Place): boolean =>
    mutant.gone === undefined
      ? place.file === NAMES[mutant.file] && place.line === (mutant.block ?? mutant.line)
      : refers(place);
  return all.some(
    ({ rule, message, places }) =>
      mutant.rules.test(rule) &&
      places.some(there) &&
      (mutant.words.length === 0 || mutant.words.some((word) => message.includes(word))),
  );
}

const FILES = Object.keys(NAMES) as FileName[];
const lineOf = (text: string, line: number): string => text.split('\n')[line - 1] ?? '';

test('the examples themselves have no findings', () => {
  for (const example of EXAMPLES) expect(told(textsOf(example))).toEqual([]);
});

test(`of ${COUNT} mutants 95 % are found by the right rule at the right line`, () => {
  const seed = suiteSeed();
  const random = new Random(seed);
  const texts = new Map(EXAMPLES.map((example) => [example, textsOf(example)] as const));
  const pools = [...Map.groupBy(EXAMPLES.flatMap(mutantsOf), ({ operator }) => operator).values()];
  // Each operator gets its turn: there are many more fields than containers.
  const chosen = Array.from({ length: COUNT }, (_, index) => random.pick(pools[index % pools.length] ?? []));
  const survivors = chosen.filter((mutant) => !found(mutant, texts.get(mutant.example) ?? textsOf(mutant.example)));
  const list = [
    ...new Set(
      survivors.map(
        ({ operator, example, file, line, what }) => `${operator}: examples/${example}/${NAMES[file]}:${line} ${what}`,
      ),
    ),
  ].toSorted();
  const share = 1 - survivors.length / chosen.length;
  console.log(
    `seed ${seed}: ${chosen.length} mutants by ${pools.length} operators, ${(100 * share).toFixed(1)} % found${list.length > 0 ? `; survivors:\n${list.join('\n')}` : ''}`,
  );
  expect(share).toBeGreaterThanOrEqual(0.95);
});
