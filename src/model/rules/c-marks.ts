// C40: documents that are marked as deleted, and queries that find them.
import type { ContainerDetail } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';

const MARK = /^(?:is_?|soft_?)?deleted$/i;
const TIME_OF_IT = /^(?:soft_?)?deleted_?(?:at|on)$/i;
const isMark = (field: string, value: unknown): boolean =>
  (MARK.test(field) && typeof value === 'boolean') ||
  (TIME_OF_IT.test(field) && (value === null || typeof value === 'string'));

/** The query is of deleted documents, or of all. */
const OF_DELETED =
  /\b(?:deleted|purg\w*|clean[- ]?up|restor\w*|trash|archiv\w*|admin\w*|audit|export|all documents)\b/i;

interface Marked {
  readonly detail: ContainerDetail;
  readonly mark: string;
  readonly from: Place;
  readonly open: readonly { readonly at: Place }[];
  readonly asked: boolean;
}

/** Lists of documents that may be marked, without the mark in the query. */
function markedIn(facts: Facts): Marked[] {
  return facts.containers.flatMap((detail): Marked[] => {
    const { container } = detail;
    const types = container.types.flatMap(({ name, examples }) =>
      examples.flatMap((one) => {
        const mark = Object.keys(one).find((field) => isMark(field, one[field]));
        return mark === undefined ? [] : [{ name, mark, from: facts.field(one, mark, container.at) }];
      }),
    );
    const [first] = types;
    if (!first) return [];
    const questions = facts.asked(detail).filter(({ queries }) => queries.length > 0);
    const open = questions.filter(
      ({ text, queries }) =>
        !OF_DELETED.test(text) &&
        queries.some(({ text: sql, equal }) => {
          const [, type] = /\btype\s*=\s*['"]([^'"]+)['"]/.exec(sql) ?? [];
          const isMarked = type === undefined ? isAll(container, types) : types.some(({ name }) => name === type);
          return isMarked && !equal.includes('id') && !/deleted/i.test(sql);
        }),
    );
    return [{ detail, mark: first.mark, from: first.from, open, asked: questions.length > 0 }];
  });
}

/** Whether all documents that are shown have the mark, so that a query without a type finds marked ones. */
const isAll = (container: ContainerDetail['container'], types: readonly { readonly name: string }[]): boolean =>
  examplesIn(container).length > 0 &&
  container.types.every(({ name, examples }) => examples.length === 0 || types.some((one) => one.name === name));

export const MARKS: readonly Rule[] = [
  {
    id: 'C40',
    title: 'A list leaves out what is marked as deleted',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A document with `isDeleted: true` or a `deletedAt` is in the container as before, until its TTL ends, and every query finds it that doesn’t ask for the mark. So what a person has deleted stays in lists and totals. The rule reads the queries of containers whose examples have such a field, and passes over reads by the id, and over queries that the text says are of deleted documents or for administration.',
    hint: 'Add a condition on the mark to each query.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = markedIn(facts);
      if (!all.some(({ asked }) => asked)) {
        yield missing('a query of documents with a mark of deletion');
        return;
      }
      for (const { detail, mark, from, open } of all)
        for (const finding of together(
          open,
          `${detail.container.name}: a list without a condition on ${mark} also shows what is deleted`,
          [from],
        ))
          yield {
            ...finding,
            hint: TIME_OF_IT.test(mark)
              ? `Add \`NOT IS_DEFINED(c.${mark})\` to each query, or \`IS_NULL(c.${mark})\` if all documents have the field.`
              : `Add \`c.${mark} = false\` to each query, or \`NOT IS_DEFINED(c.${mark})\` if documents get the mark later.`,
          };
    },
  },
];
