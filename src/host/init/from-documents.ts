// The parts of a project that follow from somebody's own modelling documents.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { definePipeline } from '../../pipeline/pipeline.ts';
import type { ProjectionRow } from '../../model/documents.ts';
import { type Model, examplesOf } from '../../model/model.ts';
import { readDesign } from '../../model/reader/design.ts';
import { factsOf } from '../../model/rules/index.ts';
import { EXAMPLES_FILE, MODEL_CODE, fromDocument, writeExamples, writeModel } from '../../model/code/write.ts';
import { defineModel } from '../../model/code/define-model.ts';
import { filesOf } from '../../procedures/apply/infra.ts';
import { DESIGN_FILE, REQUIREMENTS } from '../../verbs/model/pair.ts';
import { loadModel } from '../../runtime/pipeline/load-pipeline.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A file of the new project. */
export interface ProjectFile {
  readonly to: string;
  readonly text: string;
}

export interface FromDocuments {
  readonly files: readonly ProjectFile[];
  /** The projections of the document, which a person must declare. */
  readonly toDeclare: readonly string[];
}

/**
 * Files in place of those of the template's pipeline, for a project of this name.
 * @throws UsageError `missing`, and the errors of the reader
 */
export async function fromDocuments(given: string, name: string): Promise<FromDocuments> {
  const found = await stat(given).catch(() => undefined);
  const folder = found?.isFile() ? dirname(given) : given;
  const text = (file: string): Promise<string | undefined> =>
    readFile(join(folder, file), 'utf8').catch(() => undefined);
  const [design, requirements] = [await text(DESIGN_FILE), await text(REQUIREMENTS)];
  if (design === undefined)
    throw sharedError('missing', `There is no ${DESIGN_FILE} in ${folder}`, {
      hint: 'Name the folder of the two modelling documents, or one of the documents.',
    });
  const file = join(folder, DESIGN_FILE);
  const model = await loadModel(file);
  const sha256 = createHash('sha256').update(design).digest('hex');
  const read = await readDesign(file);
  const { projections: rows } = read;
  const tenant = factsOf({ requirements: undefined, design: read }).tenant?.field;
  const pipeline = definePipeline({ name, model: defineModel({}), projections: [] });
  const infra = await filesOf({ pipeline, model }, { leases: 'leases', state: 'millrace' });
  return {
    files: [
      { to: `pipeline/${DESIGN_FILE}`, text: design },
      ...(requirements === undefined ? [] : [{ to: `pipeline/${REQUIREMENTS}`, text: requirements }]),
      { to: `pipeline/${MODEL_CODE}`, text: writeModel(model, fromDocument(DESIGN_FILE, sha256)) },
      { to: `pipeline/${EXAMPLES_FILE}`, text: writeExamples(model) },
      { to: 'pipeline/pipeline.ts', text: pipelineText(name, model, rows, tenant) },
      { to: 'pipeline/workload.ts', text: workloadText(model, rows) },
      ...infra.map((of) => ({ to: `infra/${of.file}`, text: of.text })),
    ],
    toDeclare: rows.map((row) => row.name),
  };
}

/** Fields by which documents say that they are deleted: those that `model check` knows as such. */
const DELETED = /^(?:is)?deleted(At)?$|^removed(At)$/i;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

const refer = (object: string, name: string): string =>
  IDENTIFIER.test(name) ? `${object}.${name}` : `${object}[${JSON.stringify(name)}]`;

function pipelineText(name: string, model: Model, rows: readonly ProjectionRow[], tenant: string | undefined): string {
  const deletions = applied(model, rows).flatMap(({ container, type }) => {
    const fields = examplesOf(model, { container, type }).flatMap((example) => Object.keys(example));
    const field = fields.find((of) => DELETED.test(of));
    if (field === undefined) return [];
    const mark = `${refer('document', field)} ${/at$/i.test(field) ? '!= null' : '=== true'}`;
    return [`    source({ of: ${refer(refer('m', container), type)}, deleted: (document) => ${mark} }),`];
  });
  const waiting = rows.map(
    (row) => `    // ${row.name}: ${[row.kind, row.sourceText, '→', row.sinkText].map(short).join(' ')}`,
  );
  return `// The projections of the pipeline. \`npx millrace model types\` writes model.ts from the document.
import { definePipeline${deletions.length === 0 ? '' : ', source'} } from 'millrace';
import { m } from './model.ts';

export default definePipeline({
  name: '${name}',
  model: m,
${tenant === undefined ? '' : `  tenant: '${tenant}',\n`}${deletions.length === 0 ? '' : `  sources: [\n${deletions.join('\n')}\n  ],\n`}  projections: [${waiting.length === 0 ? '' : `\n    // To declare, as node_modules/millrace/docs/projections.md shows:\n${waiting.join('\n')}\n  `}],
});
`;
}

/** A cell as one line of plain text. */
const short = (text: string): string =>
  text
    .replaceAll(/<!--.*?(?:-->|$)|`/gs, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The types whose documents applications write; an embed only writes fields into them. */
function applied(
  model: Model,
  rows: readonly ProjectionRow[],
): { readonly container: string; readonly type: string }[] {
  const derived = (container: string, type: string): boolean =>
    rows.some(
      ({ kind, sink }) =>
        !/^embed/i.test(kind) && sink?.container === container && (sink.type === undefined || sink.type === type),
    );
  return model.containers.flatMap(({ name: container, types }) =>
    types.flatMap(({ name: type }) => (derived(container, type) ? [] : [{ container, type }])),
  );
}

/** The document's examples, of the types that no projection writes. */
function workloadText(model: Model, rows: readonly ProjectionRow[]): string {
  const steps = applied(model, rows).flatMap((of) =>
    examplesOf(model, of).map((document) => `  ${JSON.stringify({ container: of.container, upsert: document })},\n`),
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
