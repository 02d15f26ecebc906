// What the section of projections says of data that follow from others: Millrace keeps the sink of a projection exact, also
// when a change comes again or the source is deleted. So the rules on annotations ask no more for that.
import type { ProjectionRow } from '../documents.ts';
import { type Annotation, Annotations, same } from './annotations.ts';

type Derived = Annotation<'derived'>;

/** Kinds whose sink consists of nothing else than what the projection writes. `embed` fills single fields. */
const FORMS: Readonly<Record<string, Derived['form']>> = { copy: 'view', aggregate: 'aggregate', reference: 'view' };

/** The annotations with what the rows of projections state. */
export function withProjections(annotations: Annotations, rows: readonly ProjectionRow[]): Annotations {
  const stated = rows.flatMap((row) => statedBy(row) ?? []);
  if (stated.length === 0) return annotations;
  const all = annotations.all.map((one) => {
    const row = one.kind === 'derived' ? stated.find(({ type }) => same(type, one.type)) : undefined;
    return one.kind === 'derived' && row
      ? { ...one, keptBy: one.keptBy ?? row.keptBy, onRepeat: row.onRepeat, onDelete: one.onDelete ?? row.onDelete }
      : one;
  });
  const { file, lines, planned, findings, coverage } = annotations;
  return new Annotations(file, lines, [...all, ...stated, ...planned], findings, coverage);
}

function statedBy({ name, kind, source, sink, deletes, at }: ProjectionRow): Derived | undefined {
  const form = FORMS[kind];
  if (form === undefined || sink?.type === undefined || source?.type === undefined || deletes === '') return undefined;
  return {
    kind: 'derived',
    what: name,
    form,
    type: sink.type,
    of: source.type,
    keptBy: 'change-feed',
    onRepeat: 'safe',
    // `keep` is an answer, too.
    onDelete: /^keep/i.test(deletes) ? 'tombstone' : 'removed',
    line: at.line,
    words: name,
    at,
  };
}
