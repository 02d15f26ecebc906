// J48: what several places say of the deletion of a type.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { linesOf } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, together } from './rule.ts';

type Deletion = Annotation<'deletion'>;

/** A place that forbids it to all, and one that allows it; or both for the same role. */
function clash(all: readonly Deletion[]): { readonly against: Deletion; readonly allowing: Deletion } | undefined {
  for (const against of all.filter(({ allowed }) => allowed === false)) {
    const allowing = all.find(
      (one) =>
        one.allowed !== false &&
        one.at.line !== against.at.line &&
        one.way === against.way &&
        one.existing === against.existing &&
        one.environment === against.environment &&
        (against.by === undefined || same(one.by, against.by)),
    );
    if (allowing) return { against, allowing };
  }
  return undefined;
}

const said = ({ way, by }: Deletion): string =>
  `${way === 'soft' ? 'marked as deleted' : 'deleted for good'}${by === undefined ? '' : ` by ${by}`}`;

export const WHO_DELETES: readonly Rule[] = [
  {
    id: 'J48',
    title: 'All places state the same of whether a type is deleted',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Where one place says that documents of a type can’t be deleted, and another gives a role or a request that deletes them, programs are built by either. What refers to the documents, and what a regulator was promised, then depends on the program. The rule compares the annotations on the deletion of one type, in the same way and by the same role.',
    hint: 'Decide who may delete what, and write it in every place.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('deletion').length === 0) yield missing('a deletion in an annotation');
      yield* contradicting(annotations);
    },
  },
];

function* contradicting(annotations: Annotations): Iterable<Found> {
  const groups = Map.groupBy(
    annotations.of('deletion'),
    ({ type }) => annotations.types.find((name) => same(name, type)) ?? type,
  );
  const all = [...groups].flatMap(([type, places]) => {
    const both = clash(places);
    return both ? [{ type, ...both }] : [];
  });
  yield* together(
    all.flatMap(({ against, allowing }) => [against, allowing]),
    `${listed(all.map(({ type, against, allowing }) => `${type} is never ${said(against)} (${linesOf([against])}) and is ${said(allowing)} (${linesOf([allowing])})`))}. Both can’t be true, and what refers to such a document is built by one of them`,
  );
}
