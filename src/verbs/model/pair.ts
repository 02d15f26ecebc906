// The two documents of a folder, and the pipeline beside them if there is one.
import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError } from '../../base/errors.ts';
import { contractRules } from '../../contract/contract-rules.ts';
import type { PipelineSource, Unloadable } from '../../contract/declared.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Design, ModelDocuments } from '../../model/documents.ts';
import { waiversIn } from '../../model/reader/common.ts';
import { readDesign } from '../../model/reader/design.ts';
import { readRequirements } from '../../model/reader/requirements.ts';
import { MODEL_RULES } from '../../model/rules/index.ts';
import type { Rule } from '../../model/rules/rule.ts';
import { suggestion } from '../../base/near.ts';
import { placeIn } from '../../runtime/pipeline/code-frame.ts';
import { modelOf } from '../../runtime/pipeline/load-pipeline.ts';
import type { DeclaredPipeline, Workspace } from '../../runtime/workspace.ts';
import { reviewLinesOf, readReview } from './review.ts';

/** The names that the modelling prompt uses. */
export const REQUIREMENTS = 'cosmosdb_requirements.md';
export const DESIGN_FILE = 'cosmosdb_data_model.md';
const OWN: ReadonlySet<string> = new Set([REQUIREMENTS, DESIGN_FILE]);

export interface ReadPair {
  readonly folder: string;
  readonly documents: ModelDocuments;
  readonly pipeline: Pipeline | undefined;
  /** The text of the pipeline, also of one that can't be loaded. */
  readonly source: PipelineSource | undefined;
  /** Why the pipeline can't be loaded: `model check` reports it as a finding, other verbs throw it. */
  readonly unloadable: UsageError | undefined;
  readonly rules: readonly Rule[];
}

/** All rules, for lists and pages. */
export const everyRule = (): Rule[] => [...MODEL_RULES, ...contractRules()];

/** Where the documents of a folder are, and the pipeline beside them. */
interface Located {
  readonly folder: string;
  readonly design: string;
  readonly requirements: string;
  readonly declared: DeclaredPipeline | undefined;
}

/**
 * Looks for the documents in `directory`, else in the pipeline folder. A Markdown file with another name than theirs is a
 * data model that stands alone.
 * @throws UsageError `missing`
 */
async function locate(workspace: Workspace, directory: string | undefined): Promise<Located> {
  const named = directory === undefined ? workspace.folder : resolve(workspace.directory, directory);
  const kind = await kindOf(named);
  if (kind === undefined) {
    const siblings = await readdir(dirname(named)).catch(() => []);
    throw missing(`There is no ${directory ?? named}${suggestion(basename(named), siblings)}`);
  }
  const file = kind === 'file' && !OWN.has(basename(named)) && /\.(?:md|markdown)$/i.test(named) ? named : undefined;
  const folder = kind === 'file' ? dirname(named) : named;
  const declared = await workspace.declared(folder);
  const design = join(folder, DESIGN_FILE);
  if (file !== undefined) return { folder, design: file, requirements: '', declared: undefined };
  return { folder, design, requirements: join(dirname(design), REQUIREMENTS), declared };
}

/** The path of the data model, and that of the requirements if there are some. @throws UsageError `missing` */
export async function pathsOf(
  workspace: Workspace,
  directory: string | undefined,
): Promise<{ readonly design: string; readonly requirements: string | undefined }> {
  const { design, requirements } = await locate(workspace, directory);
  if ((await kindOf(design)) !== 'file') throw missing(`There is no ${design}`);
  return { design, requirements: (await kindOf(requirements)) === 'file' ? requirements : undefined };
}

/**
 * Reads the documents and the pipeline. The documents are read even if the pipeline can't be loaded. `optional`: a pipeline
 * needs no document.
 * @throws UsageError `missing`, `unreadable`, and the errors of the readers
 */
export async function readPair(
  workspace: Workspace,
  directory: string | undefined,
  { optional = false }: { readonly optional?: boolean } = {},
): Promise<ReadPair> {
  const { folder, design, requirements, declared } = await locate(workspace, directory);
  const [hasDesign, hasRequirements] = [
    (await kindOf(design)) !== undefined,
    (await kindOf(requirements)) !== undefined,
  ];
  if (!hasDesign && !hasRequirements && !(optional && declared)) {
    const others = (await readdir(folder)).filter((name) => name.endsWith('.md'));
    throw missing(
      `${folder} has neither ${DESIGN_FILE} nor ${REQUIREMENTS}${suggestion(DESIGN_FILE, others) || suggestion(REQUIREMENTS, others)}`,
    );
  }
  const read = hasRequirements ? await readRequirements(requirements) : undefined;
  const known = read?.patterns.map(({ id }) => id);
  const review = hasDesign ? await readReview(design, read) : undefined;
  const readable = hasDesign ? await designOf(design, known, review !== undefined) : undefined;
  const alone = hasDesign && !readable ? await reviewLinesOf(design) : undefined;
  const documents: ModelDocuments = {
    requirements: read,
    design: readable,
    ...(alone && { waivers: waiversIn(alone.lines.join('\n'), design) }),
    ...(review && { review }),
  };
  const unloadable = declared && 'unloadable' in declared ? declared.unloadable : undefined;
  const pipeline = declared && 'pipeline' in declared ? declared.pipeline : undefined;
  const source = declared && {
    ...declared.source,
    ...(hasDesign && {
      documentDigest: createHash('sha256')
        .update(await readFile(design))
        .digest('hex'),
    }),
    ...(!hasDesign && pipeline && { code: await modelOf(pipeline, folder) }),
  };
  return {
    folder,
    documents,
    pipeline,
    source,
    unloadable,
    rules: [...MODEL_RULES, ...contractRules(pipeline, source, declared && whyNot(declared))],
  };
}

/** A document in which the reader finds no container can be checked by its review. */
async function designOf(
  file: string,
  known: readonly string[] | undefined,
  reviewed: boolean,
): Promise<Design | undefined> {
  try {
    const design = await readDesign(file, known);
    // What the reader only skipped, somebody has read.
    return reviewed
      ? { ...design, findings: design.findings.filter(({ severity }) => severity !== 'information') }
      : design;
  } catch (cause) {
    if (reviewed && cause instanceof UsageError && cause.code === 'model-without-containers') return undefined;
    throw cause;
  }
}
/** Why the pipeline can't be loaded, with the line of the error if its stack has one. */
function whyNot(declared: DeclaredPipeline): Unloadable | undefined {
  if (!('unloadable' in declared)) return undefined;
  const { file } = declared.source;
  const { message, hint, cause } = declared.unloadable;
  const place = placeIn(dirname(file), cause);
  const line = place?.file === file ? place.line : 1;
  return { message, at: { file, line }, ...(hint !== undefined && { hint }) };
}

const missing = (what: string): UsageError =>
  sharedError('missing', what, { hint: `Name a folder with ${DESIGN_FILE} and ${REQUIREMENTS}.` });

async function kindOf(path: string): Promise<'file' | 'directory' | undefined> {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file';
  } catch {
    return undefined;
  }
}

/** Relative to the working directory, if the file lies below it. */
export function shortPath(directory: string, file: string): string {
  const path = relative(directory, file);
  return !isAbsolute(file) || path.startsWith('..') ? file : path.split(sep).join('/');
}
