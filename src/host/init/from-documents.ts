// The parts of a project that follow from somebody's own modelling documents.
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { model as modelAt } from '../../definition/model-ref.ts';
import { definePipeline } from '../../definition/pipeline.ts';
import type { ProjectionRow, Reference } from '../../model/documents.ts';
import { type Model, examplesOf } from '../../model/model.ts';
import { readDesign } from '../../model/reader/design.ts';
import { generateTypes, modelName } from '../../model/types/generate.ts';
import { filesOf } from '../../operations/model/infra.ts';
import { DESIGN, REQUIREMENTS } from '../../operations/model/pair.ts';
import { loadModel } from '../../runtime/load-pipeline.ts';
import { hostError } from '../errors.ts';

/** A file of the new project. */
export interface ProjectFile {
  readonly to: string;
  readonly text: string;
}

export interface FromDocuments {
  readonly files: readonly ProjectFile[];
  /** Projections that the document names. Their code is to be written: a row says less than a program. */
  readonly toDeclare: readonly string[];
}

/**
 * Files in place of those of the template's pipeline, for a project of this name.
 * @throws UsageError `init-documents`, and the errors of the reader
 */
export async function fromDocuments(given: string, name: string): Promise<FromDocuments> {
  const found = await stat(given).catch(() => undefined);
  const folder = found?.isFile() ? dirname(given) : given;
  const text = (file: string): Promise<string | undefined> =>
    readFile(join(folder, file), 'utf8').catch(() => undefined);
  const [design, requirements] = [await text(DESIGN), await text(REQUIREMENTS)];
  if (design === undefined) throw hostError('init-documents', `There is no ${DESIGN} in ${folder}`);
  const file = join(folder, DESIGN);
  const model = await loadModel(file);
  const { projections: rows } = await readDesign(file);
  const pipeline = definePipeline({ name, model: modelAt(file), projections: [] });
  const infra = await filesOf({ pipeline, model }, { leases: 'leases', state: 'millrace' });
  return {
    files: [
      { to: `pipeline/${DESIGN}`, text: design },
      ...(requirements === undefined ? [] : [{ to: `pipeline/${REQUIREMENTS}`, text: requirements }]),
      { to: 'pipeline/model.types.ts', text: generateTypes(model) },
      { to: 'pipeline/pipeline.ts', text: pipelineText(name, model, rows) },
      { to: 'pipeline/workload.ts', text: workloadText(model, rows) },
      ...infra.map((of) => ({ to: `infra/${of.file}`, text: of.text })),
    ],
    toDeclare: rows.map((row) => row.name),
  };
}

function pipelineText(name: string, model: Model, rows: readonly ProjectionRow[]): string {
  const root = modelName(model.title);
  const listed = rows.map(
    (row) => `    // ${row.name} (${row.kind}): ${say(row.source, row.sourceText)} → ${say(row.sink, row.sinkText)}`,
  );
  const projections =
    listed.length === 0
      ? '  projections: [],'
      : ['  projections: [', '    // The document names these; declare each one.', ...listed, '  ],'].join('\n');
  return `// The projections of the pipeline. \`npx millrace model types\` writes model.types.ts from the document.
import { definePipeline, model } from 'millrace';
import type { ${root} } from './model.types.ts';

const m = model<${root}>('./${DESIGN}');

export default definePipeline({
  name: '${name}',
  model: m,
${projections}
});
`;
}

const say = (of: Reference | undefined, text: string): string =>
  (of ? `${of.container}${of.type === undefined ? '' : ` (${of.type})`}` : text).replaceAll(/\s+/g, ' ');

/** The document's examples, of the types that no projection writes. */
function workloadText(model: Model, rows: readonly ProjectionRow[]): string {
  const derived = ({ container, type }: Reference): boolean =>
    rows.some(({ sink }) => sink?.container === container && (sink.type === undefined || sink.type === type));
  const steps = model.containers.flatMap(({ name: container, types }) =>
    types
      .filter(({ name: type }) => !derived({ container, type }))
      .flatMap(({ name: type }) => examplesOf(model, { container, type }))
      .map((document) => `  ${JSON.stringify({ container, upsert: document })},\n`),
  );
  return `// The data that \`millrace dev\` and the tests load: the examples of the document.
import type { Load } from 'millrace';

const steps = [
${steps.join('')}];

export const load: Load = async function* () {
  yield* steps;
};
`;
}
