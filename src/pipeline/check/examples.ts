// Runs the projections on the data model's examples. This finds errors for which every document of a type would be
// parked, before anything runs.
import { MillraceError, messageOf } from '../../base/errors.ts';
import { thrownAt } from '../../base/user-code.ts';
import { type Model, examplesOf, keyPathsOf, exampleValueAt } from '../../model/model.ts';
import { about, error, ref } from '../declaration.ts';
import { type Doc, type Finding, type Pipeline, type ProjectionSpec, type SourceRef, isOutside } from '../specs.ts';
import { withRows } from '../tables/bind.ts';
import { recompute } from '../oracle/recompute.ts';
import { recomputeRows } from '../oracle/recompute-rows.ts';

/** At most one finding for each projection and reason, even if many examples have the problem. */
export function checkExamples(pipeline: Pipeline, model: Model): Finding[] {
  const examples = (of: SourceRef): readonly Doc[] => examplesOf(model, of);
  const findings = new Map<string, Finding>();
  const found = (of: string, key: string, finding: Finding): void => {
    for (const named of about(of, [finding])) findings.set(key, findings.get(key) ?? named);
  };
  const refused =
    ({ name, from }: { readonly name: string; readonly from: SourceRef }) =>
    (doc: Doc, cause: unknown): void => {
      const code = cause instanceof MillraceError ? cause.code : 'projection-threw';
      const hint = (cause instanceof MillraceError ? cause.hint : undefined) ?? 'Correct the function or the example.';
      const message = `Projection ${name} can't take the example ${String(doc['id'])} of ${ref(from)}: ${messageOf(cause)}${thrownAt(cause)}`;
      found(name, `${name} ${code}`, error('example-refused', message, hint));
    };
  const written = new Map<string, ProjectionSpec>();
  for (const spec of pipeline.projections) {
    const paths = keyPathsOf(model, spec.into.container);
    const rows = recompute(spec, examples, pipeline.sources, { keyPaths: paths, refused: refused(spec) });
    for (const [key, row] of rows) {
      const bad = paths.find((path) => !isScalar(exampleValueAt(row, path)));
      if (bad !== undefined) {
        const message = `For an example of ${ref(spec.from)}, projection ${spec.name} returns a document without a string, number or boolean in ${bad}, the key of ${spec.into.container}`;
        found(
          spec.name,
          `${spec.name} key`,
          error('sink-key-value', message, `Return ${bad.slice(1)} in every document.`),
        );
      }
      const place = `${spec.into.container} ${key}`;
      const other = written.get(place);
      if (other && other.name !== spec.name) {
        const message = `Projections ${other.name} and ${spec.name} both write the document ${key} of ${spec.into.container}`;
        const hint = 'Give one of them another type or container: a document has one writer only.';
        found(spec.name, `${other.name} ${spec.name}`, error('sink-shared', message, hint));
      }
      written.set(place, spec);
    }
  }
  for (const spec of pipeline.effects)
    if (isOutside(spec))
      recomputeRows(withRows(spec, pipeline, model), examples(spec.from), pipeline.sources, {
        keyPaths: keyPathsOf(model, spec.from.container),
        refused: refused(spec),
      });
  return [...findings.values()];
}

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);
