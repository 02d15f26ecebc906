// Policies that leave out a path which the container's documents don't have (for C21).
import type { ContainerDetail } from '../../documents.ts';
import { fieldOf } from '../../indexed.ts';
import type { SourceLine } from '../../model.ts';
import { creationsIn } from '../creations.ts';
import { type Facts, examplesIn, valueAt } from '../facts.ts';
import { fieldsOf } from '../fields.ts';
import { type Found, together } from '../rule.ts';

interface Excluded {
  readonly detail: ContainerDetail;
  readonly field: string;
  readonly at: SourceLine;
}

const PATH = /["'`](?<path>\/[\w/[\]"]+\/[?*])["'`]/g;

/** The excluded paths of a policy, and of a call that creates the container. */
function excludedIn(facts: Facts): Excluded[] {
  const stated = facts.containers.flatMap((detail) =>
    detail.index.excluded.map(({ text, at }) => ({ detail, field: fieldOf(text), at })),
  );
  const created = (facts.design ? creationsIn(facts.design) : []).flatMap(({ detail, at, lines }) => {
    const begin = lines.findIndex((line) => /excluded_?paths/i.test(line));
    // Composite indexes and included paths may follow in the same call.
    const end = lines.findIndex((line, index) => index > begin && /included_?paths|composite|]/i.test(line));
    return (begin < 0 ? [] : lines.slice(begin, end < 0 ? undefined : end + 1)).flatMap((line, index) =>
      [...line.matchAll(PATH)].map(({ groups: { path = '' } = {} }) => ({
        detail,
        field: fieldOf(path),
        at: { ...at, line: at.line + begin + index },
      })),
    );
  });
  return [...stated, ...created].filter(({ field }) => field !== '' && !field.startsWith('_') && !field.includes('*'));
}

/** Excluded paths that no document of the container has. */
export function* excludedElsewhere(facts: Facts): Iterable<Found> {
  const all = excludedIn(facts).filter(
    ({ detail: { container } }) => examplesIn(container).length > 0 && container.partialExamples === undefined,
  );
  const has = (detail: ContainerDetail, field: string): boolean => {
    const [first = ''] = field.split('.');
    return (
      examplesIn(detail.container).some((example) => valueAt(example, first) !== undefined) ||
      fieldsOf(facts, detail).some((one) => one.field === first)
    );
  };
  // One policy may be of several containers; it needs only one of them to have the field, or to show no fields.
  const elsewhere = ({ detail, field, at }: Excluded): boolean =>
    facts.containers.some(
      (other) =>
        other !== detail &&
        other.index.excluded.some((path) => path.at.line === at.line) &&
        (examplesIn(other.container).length === 0 || has(other, field)),
    );
  const odd = all.filter((one) => !has(one.detail, one.field) && !elsewhere(one));
  for (const [detail, paths] of Map.groupBy(odd, (one) => one.detail))
    yield* together(
      paths,
      `${detail.container.name}: the policy excludes ${paths.map(({ field }) => field).join(', ')}, which no document has`,
      [detail.container.at],
    );
}
