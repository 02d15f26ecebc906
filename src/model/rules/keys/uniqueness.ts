// C16 and C17: documents that must be one.
import { shortenedIn } from './composed.ts';
import { valueAt } from '../facts.ts';
import { type Rule, DESIGN, SOURCES, quoted, together } from '../rule.ts';

/** Types of which one person makes at most one for each thing. */
const ONCE =
  /^(like|vote|flag|follow|follower|favou?rite|bookmark|rating|reaction|friendship|membership|subscription|rsvp|upvote|attendance|enrol?lment)s?$/i;

/** Two documents with the id "uuid" have different ids. */
const PLACEHOLDER = /^(?:<.*>|\{.*\}|\.{3}|string|unique.*|auto.*|(?:.*[-_ ])?(?:uu?id|guid)(?:[-_ ].*)?|id)$/i;

const identity = (example: Readonly<Record<string, unknown>>, key: readonly string[]): string | undefined =>
  typeof example['id'] === 'string' && !PLACEHOLDER.test(example['id'])
    ? JSON.stringify([example['id'], ...key.map((path) => valueAt(example, path))])
    : undefined;

export const UNIQUENESS: readonly Rule[] = [
  {
    id: 'C16',
    title: 'No two examples have the same id and partition key',
    source: SOURCES.microsoft('Databases, containers, and items in Azure Cosmos DB'),
    why: 'The second create fails with 409, and an upsert replaces the first document. Types in one container share its ids, so two types that number their documents alike replace each other.',
    hint: 'Put the type into the id, as in `order|1`, or correct one of the examples.',
    needs: [DESIGN],
    *check(facts) {
      for (const { container } of facts.containers) {
        if (container.partitionKey.length === 0) continue;
        const seen = new Map<string, { readonly type: string; readonly example: object }>();
        for (const { name, examples, at } of container.types) {
          for (const example of examples) {
            const own = identity(example, container.partitionKey);
            if (own === undefined) continue;
            const before = seen.get(own);
            if (before)
              yield {
                message: `${container.name}: a ${name} and a ${before.type} have the same id "${quoted(String(example['id']), 40)}" and the same key`,
                at: facts.field(example, 'id', at),
                related: [facts.field(before.example, 'id', at)],
              };
            else seen.set(own, { type: name, example });
          }
        }
      }
    },
  },
  {
    id: 'C17',
    title: 'A document that may exist once for two others has an id that says so',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Unique key constraints in Azure Cosmos DB')}`,
    why: 'A like, a vote or a membership exists once for a person and a thing. With an id by chance, a repeated request makes a second document, and a query before the write doesn’t prevent it. If the id is made of both, the second create fails with 409. The rule looks at types with such a name whose examples have two fields that end in Id, and whose id contains none of their values. It also finds ids that shorten the values which they are made of (`user123` for `user-abc-123`).',
    hint: 'Make the id of both, as in `post1|user7`, or add a unique key policy over both fields.',
    needs: [DESIGN],
    *check(facts) {
      for (const { container } of facts.containers) {
        for (const { name, examples, at } of container.types) {
          if (!ONCE.test(name) && !ONCE.test(container.name)) continue;
          const [first] = examples;
          if (!first) continue;
          const others = Object.keys(first).filter((field) => /.(Id|_id)$/.test(field) && field !== 'tenantId');
          const known = examples.some((example) =>
            others.some(
              (field) => typeof example[field] === 'string' && String(example['id']).includes(example[field]),
            ),
          );
          const unique = (container.uniqueKeys ?? []).some(({ paths }) =>
            paths.some((path) => others.includes(path.slice(1))),
          );
          if (others.length >= 2 && !known && !unique)
            yield {
              message: `${container.name}: the id ${name === container.name ? '' : `of a ${name} `}says nothing of ${others.join(' and ')}, so a repeated request makes a second one`,
              at: facts.field(first, 'id', at),
            };
        }
      }
      for (const [{ container }, all] of Map.groupBy(shortenedIn(facts), ({ detail }) => detail))
        yield* together(
          all,
          `${container.name}: the id isn’t made of the fields as they are: ${all.map(({ what }) => what).join(', ')}`,
        );
    },
  },
];
