// E13: large fields that are indexed because no policy leaves them out.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Field, fieldsOf, isAsked } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid, linesSaying } from './said.ts';

/** Texts of people and models, what other services sent, and vectors. */
const LARGE =
  /^(?:content|body|html|markdown|transcript|payload|embeddings?|vectors?|bounding_?box(?:es)?|analysis|key_?points)$|^(?:raw|full|original|extracted|ocr|cleaned)_?[A-Z]?[a-z]*(?:content|text|body|response|data|html|payload|json|output)$|(?:[a-z]|_)(?:Content|Text|Body|Html|Markdown|Transcript|Payload|Embeddings?|Vectors?|Analysis)$|_(?:content|text|body|html|markdown|transcript|payload|embeddings?|vectors?|analysis)$/;
/** Short, though they are called so. */
const SHORT = /alt_?text|button_?text|label|placeholder|hash|context_?id|preview|content_?type/i;

/** Seldom written. */
const STANDING = /config|setting|template|prompt|preference/i;

/** Somebody thought of the index. */
const CONSIDERED =
  /index(?:ing)?[-_ ]?polic|excluded_?paths|included_?paths|\bindex(?:ed|es|ing)\b|\bunindexed\b|composite|インデックス|索引|[ií]ndices?\b|\bIndizes\b/i;
/** Of another service. */
const OTHER =
  /ai search|cognitive search|azure search|search index|elastic|github|pages?index|\bindex\.(?:html|ts|js)/i;

const largeIn = (facts: Facts, detail: ContainerDetail): readonly Field[] =>
  STANDING.test(detail.container.name)
    ? []
    : fieldsOf(facts, detail).filter(({ field }) => LARGE.test(field) && !SHORT.test(field));

/** Where an example has the field: `/messages/[]/content` for one in the elements of a list. */
function pathOf(detail: ContainerDetail, field: string): string {
  const search = (value: unknown, path: string): string | undefined => {
    if (Array.isArray(value)) return value.map((element) => search(element, `${path}/[]`)).find(Boolean);
    if (!isObject(value)) return undefined;
    return field in value
      ? `${path}/${field}`
      : Object.entries(value)
          .map(([name, inner]) => search(inner, `${path}/${name}`))
          .find(Boolean);
  };
  const path = examplesIn(detail.container)
    .map((one) => search(one, ''))
    .find((found) => found !== undefined);
  return path === undefined || path === `/${field}` ? field : path;
}

const isBare = ({ container, index }: ContainerDetail): boolean =>
  container.indexingPolicy === undefined && index.included.length + index.excluded.length === 0;

/** With a policy for one container, the others have been forgotten. */
const isConsidered = (design: Design): boolean =>
  design.containers.every(isBare) && linesSaying(design, CONSIDERED).some(([, text]) => !OTHER.test(text));

export const LARGE_FIELDS: readonly Rule[] = [
  {
    id: 'E13',
    title: 'Large fields that no query filters on are left out of the index',
    severity: 'warning',
    source: SOURCES.microsoft('Indexing policies in Azure Cosmos DB'),
    why: 'Without a policy Cosmos DB indexes every property: also the text of a message, the raw answer of another service, each value of a nested analysis and each number of a vector. Every write then costs more RU, and the index takes space (ASM-E141). The rule knows such fields by their names, in examples and declarations. It passes over fields that a query filters on. It is silent if the document speaks of its index and gives no policy at all; if some containers have a policy, it asks for the others.',
    hint: 'State an indexing policy: include `/*`, and exclude the paths of the large fields: with `/?` at the end for a text, with `/*` for an object.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = facts.containers
        .map((detail) => ({ detail, fields: largeIn(facts, detail) }))
        .filter(({ fields }) => fields.length > 0);
      if (all.length === 0) {
        yield missing('a large field');
        return;
      }
      if (isConsidered(design)) return;
      const open = all
        .filter(({ detail }) => isBare(detail) && !isSaid(design, detail, CONSIDERED))
        .map(({ detail, fields }) => ({ detail, fields: fields.filter(({ field }) => !isAsked(facts, detail, field)) }))
        .filter(({ fields }) => fields.length > 0);
      const named = open.map(
        ({ detail, fields }) =>
          `${detail.container.name} (${fields.map(({ field }) => pathOf(detail, field)).join(', ')})`,
      );
      yield* together(
        open.flatMap(({ fields }) => fields),
        `${named.join(', ')}: no indexing policy leaves these large fields out, so each write indexes them`,
        open.map(({ detail }) => facts.place(detail, 'partitionKey')),
      );
    },
  },
];
