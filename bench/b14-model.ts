import { readFileSync } from 'node:fs';
import { contractRules } from '../src/contract/contract-rules.ts';
import { readDesign } from '../src/model/reader/design.ts';
import { readRequirements } from '../src/model/reader/requirements.ts';
import { MODEL_RULES, checkDocuments } from '../src/model/rules/index.ts';
import storefront from '../examples/storefront/pipeline.ts';
import { type Benchmark, atMost, median, plain, seconds, sized } from './support/measure.ts';

const ROUNDS = sized(15, 1);

/** A normal pair, the storefront's, read and held against every rule and its pipeline: in one process, first and later. */
export const b14: Benchmark = {
  id: 'B14',
  title: 'model check of a normal pair',
  run: async () => {
    const folder = new URL('../examples/storefront/', import.meta.url);
    const design = new URL('cosmosdb_data_model.md', folder).pathname;
    const requirements = new URL('cosmosdb_requirements.md', folder).pathname;
    const source = { file: 'pipeline.ts', text: readFileSync(new URL('pipeline.ts', folder), 'utf8') };
    const once = async (): Promise<void> => {
      const asked = await readRequirements(requirements);
      const documents = {
        requirements: asked,
        design: await readDesign(
          design,
          asked.patterns.map(({ id }) => id),
        ),
      };
      checkDocuments(documents, [...MODEL_RULES, ...contractRules(storefront, source)]);
    };
    const first = await seconds(once);
    const later: number[] = [];
    for (let round = 0; round < ROUNDS; round++) later.push(await seconds(once));
    return [atMost('first check in a process', first, 1, 's'), plain('later checks, median', median(later), 's')];
  },
};
