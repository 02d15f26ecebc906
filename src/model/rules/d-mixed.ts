// D16: queries that mean documents of one type and return those of all.
import type { Query } from '../query.ts';
import type { Container, DocumentType } from '../model.ts';
import { type Question, examplesIn, valueAt } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';

/** All documents of the partition are meant. */
const ALL =
  /\b(?:all (?:documents|items|types|data|entities)|everything|whole|entire|complete|bundle|together with|and (?:its|their)|with (?:its|their|all)|cascade|export|erase|GDPR)\b/i;
const TYPE = /^(?:_?type|kind|doc_?type|document_?type|entity_?type|item_?type|discriminator)$/i;

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

export const MIXED: readonly Rule[] = [
  {
    id: 'D16',
    title: 'A query of one type names the type, where the partition has others',
    severity: 'error',
    source: SOURCES.microsoft('Modeling data in Azure Cosmos DB'),
    why: 'Several types in one container share its partitions. A query with only the key as its condition returns all of them: the list of messages then has the session among them, and TOP or LIMIT counts it. The rule looks at containers of several types, of which a query elsewhere names one or some examples have no field for it. It reads queries whose conditions and order are fields that two types or more have. It passes over text that wants all of a partition.',
    hint: "Give every document a `type`, and add `AND c.type = 'message'` to the query.",
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const mixed = facts.containers.filter(({ container }) => container.types.length > 1);
      const asked = mixed.flatMap((detail) => facts.asked(detail)).filter(({ queries }) => queries.length > 0);
      if (asked.length === 0) {
        yield missing('a query of a container with several types');
        return;
      }
      for (const detail of mixed) {
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
        yield* together(
          open,
          `${container.name}: this query names no type, and returns ${[...types].join(', ')} alike`,
          container.types.map(({ at }) => at),
        );
      }
    },
  },
];
