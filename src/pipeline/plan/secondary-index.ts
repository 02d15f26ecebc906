// Whether a global secondary index of the service would do the work of a projection (ASM-E99).
import { canonical } from '../../base/json.ts';
import { type Model, containerOf, examplesOf, keyPathsOf } from '../../model/model.ts';
import { ref } from '../declaration.ts';
import { sourcesOf } from '../pipeline.ts';
import type { CopySpec, DerivedSpec, Pipeline } from '../specs.ts';
import { attempt } from '../fields/watched.ts';

/** One sentence for a projection that keeps documents in a container; none for the other kinds. */
export function indexNote(spec: DerivedSpec, pipeline: Pipeline, model: Model): string[] {
  if (!('into' in spec)) return [];
  const why = spec.kind === 'copy' ? whyNot(spec, pipeline, model) : OTHERS[spec.kind];
  if (why !== undefined) return [`A global secondary index would not serve it: ${why}.`];
  const key = keyPathsOf(model, spec.into.container).join(', ');
  return [`A global secondary index of ${spec.from.container} by ${key} would serve it, and nothing would run.`];
}

const OTHERS = {
  aggregate: 'it has no aggregates',
  reference: 'it has one item for each document, not one for each tenant',
  embed: 'it doesn’t write into the application’s documents',
} as const;

function whyNot(spec: CopySpec, pipeline: Pipeline, model: Model): string | undefined {
  const { from, into, joins } = spec;
  const rules = pipeline.sources.find((rule) => ref(rule) === ref(from));
  const writers = pipeline.projections.filter((other) => 'into' in other && other.into.container === into.container);
  const readers = pipeline.projections.filter((other) => sourcesOf(other).some((of) => ref(of) === ref(into)));
  const others = containerOf(model, from.container)?.types.filter(({ name }) => name !== from.type) ?? [];
  if (joins.length > 0) return `it has no joins, and this one reads ${joins.map(({ of }) => ref(of)).join(', ')}`;
  if (spec.where) return 'it has no conditions';
  if (others.length > 0) return `it would hold the other documents of ${from.container} too (${others[0]?.name})`;
  if (writers.length > 1 || spec.toGlobal) return `it can’t share a container, and ${into.container} has other writers`;
  if (readers.length > 0)
    return `${readers.map(({ name }) => name).join(', ')} reads its sink in the order of the versions`;
  if (spec.onDelete === 'keep') return 'it follows deletions, and this one keeps what was deleted';
  if (rules?.deleted || rules?.upcast) return `it shows ${from.type} as stored, with marks of deletion and old forms`;
  const changed = changedField(spec, model);
  return changed && `it has fields of the first level under their names, and ${changed}`;
}

/** What the examples show: the first field that isn't the source's own. */
function changedField(spec: CopySpec, model: Model): string | undefined {
  const rows = examplesOf(model, spec.from).flatMap((example) => {
    const row = attempt(() => spec.map(example, {}));
    return row ? [{ example, row }] : [];
  });
  if (rows.length === 0) return `${ref(spec.from)} has no example that shows whether this one does`;
  for (const { example, row } of rows) {
    const name = Object.keys(row).find((field) => canonical(row[field]) !== canonical(example[field]));
    if (name !== undefined) return `${name} is another`;
  }
  return undefined;
}
