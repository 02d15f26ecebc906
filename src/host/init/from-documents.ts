// The parts of a project that follow from somebody's own modelling documents.
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { model as modelAt } from '../../definition/model-ref.ts';
import { definePipeline } from '../../definition/pipeline.ts';
import type { ProjectionRow, Reference } from '../../model/documents.ts';
import { type Model, examplesOf } from '../../model/model.ts';
import { readDesign } from '../../model/reader/design.ts';
import { factsOf } from '../../model/rules/index.ts';
import { generateTypes, modelName } from '../../model/types/generate.ts';
import { filesOf } from '../../operations/model/infra.ts';
import { type ProjectionCode, projectionCode } from './projection-code.ts';
import { fieldsOf, refer, typeRef, variable } from './writing.ts';
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
  /** Projections whose rows say everything. */
  readonly declared: readonly string[];
  /** Those whose rows leave a question, which stands in the pipeline beside the code so far. */
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
  const read = await readDesign(file);
  const { projections: rows } = read;
  const written = rows.map((row) => projectionCode(model, row, rows));
  const tenant = factsOf({ requirements: undefined, design: read }).tenant?.field;
  const pipeline = definePipeline({ name, model: modelAt(file), projections: [] });
  const infra = await filesOf({ pipeline, model }, { leases: 'leases', state: 'millrace' });
  return {
    files: [
      { to: `pipeline/${DESIGN}`, text: design },
      ...(requirements === undefined ? [] : [{ to: `pipeline/${REQUIREMENTS}`, text: requirements }]),
      { to: 'pipeline/model.types.ts', text: generateTypes(model) },
      { to: 'pipeline/pipeline.ts', text: pipelineText(name, model, written, tenant) },
      { to: 'pipeline/workload.ts', text: workloadText(model, rows) },
      ...infra.map((of) => ({ to: `infra/${of.file}`, text: of.text })),
    ],
    declared: written.filter(({ questions }) => questions.length === 0).map((of) => of.name),
    toDeclare: written.filter(({ questions }) => questions.length > 0).map((of) => of.name),
  };
}

/** Fields by which documents say that they are deleted, as rule G7 knows them. */
const DELETED = /^(?:is)?deleted(At)?$|^removed(At)$/i;

function pipelineText(
  name: string,
  model: Model,
  written: readonly ProjectionCode[],
  tenant: string | undefined,
): string {
  const root = modelName(model.title);
  const done = written.filter(({ questions }) => questions.length === 0);
  const marks = marksOf(model, done);
  const deletions = marks.flatMap(({ of, mark }) =>
    mark === undefined ? [] : [`    source({ of: ${typeRef(of)}, deleted: (${variable(of.type)}) => ${mark} }),`],
  );
  const unmarked = marks.filter(({ mark }) => mark === undefined);
  const asked = unmarked.map(
    ({ of }) =>
      `  // Question: which field of ${of.type} says that it is deleted? Add source({ of: ${typeRef(of)}, deleted: (${variable(of.type)}) => … }) to \`sources\`, unless none ever is.`,
  );
  const builders = [...new Set(done.flatMap(({ builder }) => builder ?? []))].toSorted();
  const imports = [...builders, 'definePipeline', 'model', ...(deletions.length > 0 ? ['source'] : [])].toSorted();
  const entries = written.flatMap(({ name: of, lines, questions }) =>
    questions.length === 0
      ? lines.map((line) => `    ${line}`)
      : [
          `    // ${of} is not declared yet.`,
          ...questions.map((question) => `    // Question: ${question}`),
          ...lines.map((line) => `    // ${line}`),
        ],
  );
  return `// The projections of the pipeline. \`npx millrace model types\` writes model.types.ts from the document.
import { ${imports.join(', ')} } from 'millrace';
import type { ${root} } from './model.types.ts';

const m = model<${root}>('./${DESIGN}');

export default definePipeline({
  name: '${name}',
  model: m,
${tenant === undefined ? '' : `  tenant: '${tenant}',\n`}${deletions.length === 0 ? '' : `  sources: [\n${deletions.join('\n')}\n  ],\n`}${asked.map((line) => `${line}\n`).join('')}  projections: [${entries.length === 0 ? '' : `\n${entries.join('\n')}\n  `}],
});
`;
}

/** Of each source of a projection that removes what is deleted: how its documents say it; undefined: no field shows it. */
function marksOf(model: Model, written: readonly ProjectionCode[]) {
  const sources = written.flatMap(({ builder, reads }) => (builder === 'embed' ? [] : reads.slice(0, 1)));
  return [...new Map(sources.map((of) => [`${of.container}/${of.type}`, of])).values()].map((of) => {
    const field = [...fieldsOf(model, of).keys()].find((name) => DELETED.test(name));
    const value = field === undefined ? undefined : refer(variable(of.type), field);
    return { of, mark: value && (/at$/i.test(field ?? '') ? `${value} != null` : `${value} === true`) };
  });
}

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
