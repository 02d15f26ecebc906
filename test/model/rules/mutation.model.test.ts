// 500 mistakes in the documents and pipelines of the examples: 95 % are found by the right rule at the right line.
import { expect, test } from 'vitest';
import { contractRules } from '../../../src/definition/contract/rules.ts';
import type { Documents } from '../../../src/model/documents.ts';
import type { Place } from '../../../src/model/model.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { MODEL_RULES, checkDocuments } from '../../../src/model/rules/index.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Mutant, NAMES, type Texts, mutantsOf, pipelineOf, textsOf } from './mutants.ts';

const EXAMPLES = ['flights', 'storefront'];
const COUNT = Number(process.env['MILLRACE_HISTORIES'] ?? 500);
const TODAY = new Date('2026-12-01T00:00:00Z');

interface Told {
  readonly rule: string;
  readonly message: string;
  readonly places: readonly Place[];
}

const requirementsOf = new Map<string, Documents['requirements']>();

/** Everything that is said of an example with these texts. */
function told({ requirements, design, pipeline }: Texts): Told[] {
  const known = requirementsOf.get(requirements) ?? parseRequirements(requirements, NAMES.requirements);
  requirementsOf.set(requirements, known);
  const documents: Documents = { requirements: known, design: parseDesign(design, NAMES.design) };
  const rules = [...MODEL_RULES, ...contractRules(pipelineOf(pipeline), { file: NAMES.pipeline, text: pipeline })];
  const report = checkDocuments(documents, rules, { today: TODAY });
  return [
    ...report.findings.map(({ rule, message, at, related = [] }) => ({ rule, message, places: [at, ...related] })),
    ...report.reading
      .filter(({ severity }) => severity !== 'information')
      .map(({ code, message, at }) => ({ rule: code, message, places: [at] })),
  ];
}

/** Found where it is: the line, or for what is gone its name. A pipeline that can't be made any more is found by itself. */
function found(mutant: Mutant, texts: Texts): boolean {
  let all: Told[];
  try {
    all = told({ ...texts, [mutant.file]: mutant.text });
  } catch (error) {
    return mutant.file === 'pipeline' && mutant.rules.test('pipeline') && error instanceof Error;
  }
  return all.some(({ rule, message, places }) => {
    const here = places.some(({ file, line }) => file === NAMES[mutant.file] && line === mutant.line);
    return (
      mutant.rules.test(rule) &&
      (here || (mutant.name !== undefined && new RegExp(String.raw`\b${mutant.name}\b`).test(message)))
    );
  });
}

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
