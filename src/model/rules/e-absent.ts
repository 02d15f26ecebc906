// E14: policies that leave out a path which the container's documents don't have.
import type { ContainerDetail, Design } from '../documents.ts';
import { fieldOf } from '../indexed.ts';
import type { Place } from '../model.ts';
import { creationsIn } from './creations.ts';
import { isIn, linesOf } from './declared.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

interface Excluded {
  readonly detail: ContainerDetail;
  readonly field: string;
  readonly at: Place;
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
  const told = facts.design ? toldIn(facts.design, facts.containers) : [];
  return [...stated, ...created, ...told].filter(
    ({ field }) => field !== '' && !field.startsWith('_') && !field.includes('*'),
  );
}

/** "Indexing: `raw_payload/*` excluded" in the section of a container. */
const TOLD = /`(?<path>\/?[a-z]\w*(?:\/\w+)*\/[?*])`(?: (?:is|are))? (?:excluded|not indexed)\b/gi;

const toldIn = (design: Design, containers: readonly ContainerDetail[]): Excluded[] =>
  linesSaying(design, /`(?: (?:is|are))? (?:excluded|not indexed)\b/i).flatMap(([line, text]) => {
    const detail = containers.find((one) => one.index.excluded.length === 0 && isIn(linesOf(design, one), line));
    return detail
      ? [...text.matchAll(TOLD)].map(({ groups: { path = '' } = {} }) => ({
          detail,
          field: fieldOf(path.startsWith('/') ? path : `/${path}`),
          at: { file: design.file, line },
        }))
      : [];
  });

export const ABSENT: readonly Rule[] = [
  {
    id: 'E14',
    title: 'A policy leaves out paths that the documents have',
    severity: 'warning',
    source: SOURCES.microsoft('Indexing policies in Azure Cosmos DB'),
    why: 'An excluded path that no document of the container has saves nothing, and shows that the policy is meant for other documents: the large fields of this container are still indexed (ASM-E141). The rule compares the excluded paths of policies, of calls that create a container, and of a line such as "`raw/*` excluded" in its section, with the examples and declarations of its documents. It passes over containers whose examples are cut short.',
    hint: 'Exclude the large fields of this container’s own documents, or move the path to the container that has it.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = excludedIn(facts).filter(
        ({ detail: { container } }) => examplesIn(container).length > 0 && container.partialExamples === undefined,
      );
      if (all.length === 0) {
        yield missing('an excluded path');
        return;
      }
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
    },
  },
];
