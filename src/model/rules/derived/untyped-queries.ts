// D22, and a part of D8: queries that mean documents of one type and return those of all.
import type { Query } from '../../query.ts';
import type { Container, DocumentType } from '../../model.ts';
import { type Facts, type Question, examplesIn, valueAt } from '../facts.ts';
import { type Found, type Rule, DESIGN, together } from '../rule.ts';

/** All documents of the partition are meant. */
const ALL =
  /\b(?:all (?:documents|items|types|data|entities)|everything|whole|entire|complete|bundle|together with|and (?:its|their)|with (?:its|their|all)|cascade|export|erase|GDPR)\b/i;
export const TYPE = /^(?:_?type|kind|doc_?type|document_?type|entity_?type|item_?type|discriminator)$/i;

/** Types whose documents have the fields of the query, so that it returns them. */
const returned = (container: Container, { filters, order }: Query): DocumentType[] =>
  container.types.filter(({ examples }) =>
    examples.some((one) =>
      [...filters, ...order.map(({ path }) => path)].every((path) => valueAt(one, path) !== undefined),
    ),
  );

const isTyped = ({ queries }: Question): boolean =>
  queries.some(({ filters }) => filters.some((path) => TYPE.test(path)));

/** Whether the query has only the key as a condition, and nothing else chooses a type. */
const isOpen = ({ partitionKey }: Container, { text, filters }: Query): boolean =>
  /\bSELECT\s+(?:TOP\s+\S+\s+)?(?:\*|\w+\s+FROM)/i.test(text) &&
  filters.length > 0 &&
  filters.every((path) => partitionKey.includes(`/${path.replaceAll('.', '/')}`));

/** Queries of one type that return those of all (for D8). */
export function* mixed(facts: Facts): Iterable<Found> {
  const several = facts.containers.filter(({ container }) => container.types.length > 1);
  for (const detail of several) {
    const { container } = detail;
    const untyped = examplesIn(container).some((one) => !Object.keys(one).some((field) => TYPE.test(field)));
    const all = facts.asked(detail);
    if (!untyped && !all.some(isTyped)) continue;
    const open = all.filter(
      (question) =>
        // A lone condition in a sentence shows how queries begin.
        (question.mapped || /\bSELECT\b/i.test(question.text)) &&
        !ALL.test(question.text) &&
        question.queries.some((query) => isOpen(container, query) && returned(container, query).length > 1),
    );
    const types = new Set(
      open.flatMap(({ queries }) => queries.flatMap((query) => returned(container, query).map(({ name }) => name))),
    );
    for (const found of together(
      open,
      `${container.name}: this query names no type, and returns ${[...types].join(', ')} alike`,
      container.types.map(({ at }) => at),
    ))
      yield { ...found, hint: "Give every document a `type`, and add `AND c.type = 'message'` to the query." };
  }
}

/** Kinds whose sinks have documents of Millrace's own beside what readers want. */
const WITH_STATE: ReadonlySet<string> = new Set(['copy', 'aggregate', 'reference']);

/** Whether the conditions hold for a document that has the key and a type alone. */
function returnsState({ partitionKey }: Container, { text, filters, equal }: Query): boolean {
  const key = partitionKey.map((path) => path.slice(1).replaceAll('/', '.'));
  const lacking = new Set([...text.matchAll(/\bNOT\s+IS_DEFINED\(\s*\w+\.([\w.]+)/gi)].map((match) => match[1]));
  return !equal.includes('id') && filters.every((path) => key.includes(path) || lacking.has(path));
}

export const UNTYPED: readonly Rule[] = [
  {
    id: 'D22',
    title: 'A query of a container that projections write names the type',
    severity: 'warning',
    why: 'Beside the documents that readers want, a projection keeps documents of its own in the sink: `millrace.tombstone`, `millrace.contribution` and `millrace.locator`. They have the key and a type of their own, so a query by the key alone returns them too. The rule looks at the queries of the mapping whose container a projection writes.',
    hint: "Add `AND c.type = '…'` with the type of the sink to the query.",
    needs: [DESIGN],
    *check(facts) {
      for (const detail of facts.containers) {
        const into = facts.into(detail.container.name).filter(({ kind }) => WITH_STATE.has(kind));
        const open = facts
          .asked(detail)
          .filter(({ mapped, queries }) => mapped && queries.some((query) => returnsState(detail.container, query)));
        if (into.length === 0) continue;
        yield* together(
          open,
          `${detail.container.name}: the query names no type, so it also returns the documents that ${into.map(({ name }) => name).join(', ')} keeps for itself`,
          into.map(({ at }) => at),
        );
      }
    },
  },
];
