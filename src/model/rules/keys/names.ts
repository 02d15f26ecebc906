// C21: the names by which queries, patterns and policies speak of fields.
import type { ContainerDetail } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { lackingAttributes } from './examples.ts';
import { declaredOf, isIn, linesOf } from '../declared.ts';
import { excludedElsewhere } from '../indexes/absent.ts';
import { type Facts, fieldsIn } from '../facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, part } from '../rule.ts';

/** `user_id`, `userId` and `UserId` are one word. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_\W]/g, '');

/** The fields of a container by its examples and declarations, with the names that JSON has. */
const fieldsOf = (facts: Facts, detail: ContainerDetail): Set<string> =>
  new Set([
    ...fieldsIn(detail.container),
    ...(facts.design ? declaredOf(facts.design, detail).map(({ field }) => field) : []),
    ...detail.container.partitionKey.map((path) => path.split('/')[1] ?? ''),
  ]);

/** Fewer fields are no description of a document. */
const DESCRIBED = 3;

/** Fields that queries name and no document has, if every document is described and no text mentions the field. */
function unknownIn(
  facts: Facts,
  detail: ContainerDetail,
  fields: ReadonlySet<string>,
): { name: string; at: SourceLine }[] {
  const { design } = facts;
  if (!design || detail.container.partialExamples || fields.size <= DESCRIBED) return [];
  const mentions = (name: string): boolean => {
    const field = new RegExp(`["'\`]${name}["'\`]|\\b${name}\\??\\s*:|\\|\\s*${name}\\s*\\||\\/${name}\\b`);
    const found = design.lines.flatMap((line, index) => (field.test(line) ? [index + 1] : []));
    // What the sections of other containers say isn't about this one.
    return found.some(
      (line) => !facts.containers.some((other) => other !== detail && isIn(linesOf(design, other), line)),
    );
  };
  return facts.asked(detail).flatMap(({ queries, at }) =>
    queries.flatMap(({ filters, order }) =>
      [...new Set([...filters, ...order.map(({ path }) => path)].map((path) => path.split('.')[0] ?? ''))]
        .filter((name) => /^[A-Za-z]\w*$/.test(name) && name !== 'id' && name !== 'ttl' && !fields.has(name))
        .filter((name) => ![...fields].some((field) => plain(field) === plain(name)) && !mentions(name))
        .map((name) => ({ name, at })),
    ),
  );
}

interface Misnamed {
  readonly written: string;
  readonly has: string;
  readonly at: SourceLine;
}

function* misnamed(facts: Facts, detail: ContainerDetail, fields: ReadonlySet<string>): Iterable<Misnamed> {
  for (const { queries, at } of facts.asked(detail)) {
    for (const { filters, order } of queries)
      for (const path of new Set([...filters, ...order.map((one) => one.path)])) {
        const [first = ''] = path.split('.');
        if (fields.has(first) || first.startsWith('_')) continue;
        const has = [...fields].find((field) => plain(field) === plain(first));
        if (has !== undefined) yield { written: first, has, at };
      }
  }
}

export const NAMES: readonly Rule[] = [
  {
    id: 'C21',
    title: 'Queries, policies and patterns name fields that the documents have',
    source: SOURCES.microsoft('Queries in Azure Cosmos DB for NoSQL'),
    why: 'Names of fields are case-sensitive. A query with `c.WorldId` over documents with `worldId` finds nothing, and gives no error. The rule compares the fields that queries filter or order by with those of examples and declarations. It fails if a name differs in its letters’ case or in underscores only. It warns about a name that neither the documents nor the text have, about an attribute such as `lowestBattery` of a pattern that no example has, and about an excluded index path that no document has: it saves nothing, and the large fields stay indexed (ASM-E141).',
    hint: 'Write the name as it is in the JSON.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      yield* part(
        lackingAttributes(facts),
        'warning',
        'Add the field to the examples of the container and to what writes it, or name the attribute as the documents do.',
      );
      yield* part(
        excludedElsewhere(facts),
        'warning',
        'Exclude the large fields of this container’s own documents, or move the path to the container that has it.',
      );
      for (const detail of facts.containers) {
        const fields = fieldsOf(facts, detail);
        if (fields.size < DESCRIBED) continue;
        const [lost, ...rest] = unknownIn(facts, detail, fields);
        if (lost)
          yield {
            severity: 'warning',
            message: `Queries of ${detail.container.name} name ${[...new Set([lost, ...rest].map(({ name }) => name))].join(', ')}, which no document has`,
            at: lost.at,
            related: rest.map(({ at }) => at),
          };
        const found = [...misnamed(facts, detail, fields)];
        const [first] = found;
        if (!first) continue;
        const pairs = new Set(found.map(({ written, has }) => `${written} (the documents have ${has})`));
        yield {
          message: `Queries of ${detail.container.name} name ${[...pairs].join(', ')}; names are case-sensitive`,
          at: first.at,
          related: found.slice(1).map(({ at }) => at),
        };
      }
    },
  },
];
