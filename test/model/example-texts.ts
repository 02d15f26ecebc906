// The documents and the pipeline of an example, as texts.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { compileFunction } from 'node:vm';
import * as millrace from '../../src/index.ts';
import { namesOf } from '../support/names-of.ts';
import type { Pipeline } from '../../src/pipeline/specs.ts';

export type FileName = 'requirements' | 'design' | 'pipeline';
export type Texts = Readonly<Record<FileName, string>>;

export const NAMES: Readonly<Record<FileName, string>> = {
  requirements: 'cosmosdb_requirements.md',
  design: 'cosmosdb_data_model.md',
  pipeline: 'pipeline.ts',
};

export function textsOf(example: string): Texts {
  const read = (file: FileName): string =>
    readFileSync(new URL(`../../examples/${example}/${NAMES[file]}`, import.meta.url), 'utf8');
  return { requirements: read('requirements'), design: read('design'), pipeline: read('pipeline') };
}

/** A pipeline's text as a pipeline, without a file: what it imports is handed in; what lies beside it isn't run by rules. */
export function pipelineOf(text: string): Pipeline {
  const body = stripTypeScriptTypes(text)
    .replace(/import \{[^}]*\bm\b[^}]*\} from '.\/model.ts';/, 'const m = names;')
    .replaceAll(/import\s*\{([^}]*)\}\s*from '(millrace|\.[^']*)';/g, (_, names: string, from: string) =>
      from === 'millrace'
        ? `const {${names}} = millrace;`
        : names.replaceAll(/\w+/g, 'const $& = () => undefined;').replaceAll(',', ''),
    )
    .replaceAll(/^import .*$/gm, '')
    .replace('export default', 'return');
  return compileFunction(body, ['millrace', 'names'])(millrace, namesOf()) as Pipeline;
}
