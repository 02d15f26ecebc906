import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isObject } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';

/**
 * The folder of the pipeline: `asked`, else MILLRACE_PIPELINE, else "millrace".pipeline of the nearest package.json that
 * has it, else `pipeline/`.
 */
export function pipelineFolder(directory: string, asked?: string): string {
  const wanted = asked ?? process.env['MILLRACE_PIPELINE'];
  if (wanted) return resolve(directory, wanted);
  for (let at = resolve(directory); ; at = dirname(at)) {
    const configured = configuredIn(join(at, 'package.json'));
    if (configured !== undefined) return resolve(at, configured);
    if (dirname(at) === at) return resolve(directory, 'pipeline');
  }
}

function configuredIn(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw sharedError('unreadable', `${file} is not valid JSON`, {
      hint: 'Correct the file, or name the folder with `--pipeline`.',
      cause: error,
    });
  }
  const { millrace = {} } = isObject(content) ? content : {};
  const pipeline = isObject(millrace) ? millrace['pipeline'] : null;
  if (pipeline === undefined || typeof pipeline === 'string') return pipeline;
  throw sharedError('unreadable', `"millrace".pipeline in ${file} is not a string`, {
    hint: 'Write "millrace": { "pipeline": "pipeline" }.',
  });
}
