// Sentences that say nothing wrong give no finding, wherever they stand in the examples' documents.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { TRUE_SENTENCES } from './true-sentences.ts';

const FILES = { requirements: 'cosmosdb_requirements.md', design: 'cosmosdb_data_model.md' };
type Texts = Record<keyof typeof FILES, string>;

/** Each finding by rule and words; lines move. */
const findings = ({ requirements, design }: Texts): string[] => {
  const read = parseRequirements(requirements, FILES.requirements);
  const report = checkDocuments({
    requirements: read,
    design: parseDesign(
      design,
      FILES.design,
      read.patterns.map(({ id }) => id),
    ),
  });
  return [...report.findings, ...report.reading.filter(({ severity }) => severity !== 'information')].map(
    ({ message }) => message,
  );
};

const paragraphs = (all: readonly string[]): string => `\n${all.join('\n\n')}\n`;
const bullets = (all: readonly string[]): string => all.map((text) => `- ${text}\n`).join('');
const labelled = (all: readonly string[]): string =>
  all.map((text, index) => `- **Note ${index + 1}**: ${text}\n`).join('');
const quotes = (all: readonly string[]): string => `\n${all.map((text) => `> ${text}\n`).join('>\n')}\n`;

type Form = (all: readonly string[]) => string;
/** The document, the words behind which the sentences stand, and their form. */
const PLACES: readonly (readonly [of: keyof Texts, behind: RegExp, form: Form])[] = [
  ['design', /^## Design Philosophy & Approach\n/m, paragraphs],
  ['design', /^## Aggregate Design Decisions\n/m, bullets],
  ['design', /^- \*\*Consistency Level\*\*: .*\n/m, bullets],
  ['design', /^- \*\*Consistency Level\*\*: .*\n/m, labelled],
  ['design', /^## Access Pattern Mapping\n/m, paragraphs],
  ['design', /^## Hot Partition Analysis\n/m, bullets],
  ['design', /^## Trade-offs and Optimizations\n/m, labelled],
  ['design', /^## Global Distribution Strategy\n/m, quotes],
  ['design', /^$(?![^])/m, paragraphs],
  ['requirements', /^## Application Overview\n/m, paragraphs],
  ['requirements', /^## Design Considerations\n/m, bullets],
];

for (const example of ['flights', 'storefront'])
  test(`true sentences in ${example} give no finding`, () => {
    const texts: Texts = {
      requirements: readFileSync(`examples/${example}/${FILES.requirements}`, 'utf8'),
      design: readFileSync(`examples/${example}/${FILES.design}`, 'utf8'),
    };
    const before = findings(texts);
    for (const [of, behind, form] of PLACES) {
      const text = texts[of].replace(behind, (found) => `${found}${form(TRUE_SENTENCES)}`);
      expect(text).not.toBe(texts[of]);
      expect([String(behind), findings({ ...texts, [of]: text })]).toEqual([String(behind), before]);
    }
  });

test('there are forty sentences at least', () => {
  expect(new Set(TRUE_SENTENCES).size).toBeGreaterThanOrEqual(40);
});
