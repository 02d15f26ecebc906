// The two documents of a folder, and the pipeline beside them where there is one.
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { contractRules } from '../../contract/contract-rules.ts';
import type { Unloadable } from '../../contract/declared.ts';
import type { Pipeline } from '../../definition/specs.ts';
import { modelPath } from '../../definition/model-ref.ts';
import type { Documents } from '../../model/documents.ts';
import { readDesign } from '../../model/reader/design.ts';
import { readRequirements } from '../../model/reader/requirements.ts';
import { MODEL_RULES } from '../../model/rules/index.ts';
import type { Rule } from '../../model/rules/rule.ts';
import { suggestion } from '../../base/near.ts';
import type { DeclaredPipeline, Workspace } from '../../runtime/workspace.ts';

/** As the modelling prompt names them. */
export const REQUIREMENTS = 'cosmosdb_requirements.md';
export const DESIGN = 'cosmosdb_data_model.md';

export interface Pair {
  readonly folder: string;
  readonly documents: Documents;
  readonly pipeline: Pipeline | undefined;
  /** Why the pipeline that is there is undefined: a finding of `rules`, and for all others an error. */
  readonly unloadable: UsageError | undefined;
  readonly rules: readonly Rule[];
}

/** Every rule there is, for lists and pages. */
export const everyRule = (): Rule[] => [...MODEL_RULES, ...contractRules()];

/**
 * Reads what is to be checked: `directory`, else the pipeline folder. A pipeline that can't be loaded doesn't keep the
 * documents from being read.
 * @throws UsageError `model-missing`, and whatever the readers throw
 */
export async function readPair(workspace: Workspace, directory: string | undefined): Promise<Pair> {
  const named = directory === undefined ? workspace.folder : resolve(workspace.directory, directory);
  const kind = await kindOf(named);
  if (kind === undefined) {
    const siblings = await readdir(dirname(named)).catch(() => []);
    throw missing(`There is no ${directory ?? named}${suggestion(basename(named), siblings)}`);
  }
  // One of the documents may be named instead of its folder.
  const folder = kind === 'file' ? dirname(named) : named;
  const declared = await workspace.declared(folder);
  const pipeline = declared && 'pipeline' in declared ? declared.pipeline : undefined;
  const design = pipeline ? modelPath(pipeline, folder) : join(folder, DESIGN);
  const requirements = join(dirname(design), REQUIREMENTS);
  const [hasDesign, hasRequirements] = [
    (await kindOf(design)) !== undefined,
    (await kindOf(requirements)) !== undefined,
  ];
  if (!hasDesign && !hasRequirements) {
    const others = (await readdir(folder)).filter((name) => name.endsWith('.md'));
    throw missing(
      `${folder} has neither ${DESIGN} nor ${REQUIREMENTS}${suggestion(DESIGN, others) || suggestion(REQUIREMENTS, others)}`,
    );
  }
  const read = hasRequirements ? await readRequirements(requirements) : undefined;
  const documents: Documents = {
    requirements: read,
    design: hasDesign
      ? await readDesign(
          design,
          read?.patterns.map(({ id }) => id),
        )
      : undefined,
  };
  const unloadable = declared && 'unloadable' in declared ? declared.unloadable : undefined;
  return {
    folder,
    documents,
    pipeline,
    unloadable,
    rules: [...MODEL_RULES, ...contractRules(pipeline, declared?.source, declared && whyNot(declared))],
  };
}

/** With the line that the error names, where it names one. */
function whyNot(declared: DeclaredPipeline): Unloadable | undefined {
  if (!('unloadable' in declared)) return undefined;
  const { file } = declared.source;
  const { message, mend, cause } = declared.unloadable;
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  const line = Number(stack.split(basename(file))[1]?.match(/^:(\d+)/)?.[1] ?? 1);
  return { message, at: { file, line }, ...(mend !== undefined && { mend }) };
}

const missing = (what: string): UsageError =>
  new UsageError('model-missing', what, { mend: `Name a folder with ${DESIGN}, and ${REQUIREMENTS} beside it.` });

async function kindOf(path: string): Promise<'file' | 'directory' | undefined> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file';
  } catch {
    return undefined;
  }
}
