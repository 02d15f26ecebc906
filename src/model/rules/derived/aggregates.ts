// D: which entities share a document or container, and which don't.
import type { Pair } from '../../documents.ts';
import type { DocumentType } from '../../model.ts';
import { near } from '../../../base/near.ts';
import { TYPE, mixed } from './untyped-queries.ts';
import { type Facts, examplesIn } from '../facts.ts';
import { type Need, type Rule, type RuleResult, SOURCES, missing, n, noDesign } from '../rule.ts';

const PAIRS: Need = {
  what: 'aggregate analyses and the consolidation table (cosmosdb_requirements.md)',
  there: ({ pairs }) => pairs.length > 0,
};
const both = ({ parent, child }: Pair): string => `${parent} + ${child}`;
const place = (pair: Pair) => pair.places.decision ?? pair.at;
const overlap = (pair: Pair): number | undefined => pair.correlation ?? pair.both;

/** Percent of overlap above which entities belong together. */
const TOGETHER = 50;

export const AGGREGATES: readonly Rule[] = [
  {
    id: 'D1',
    title: 'Entities that are read together share a document or container',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream adds the identifying relationship`,
    why: 'With over 50 % overlap, a natural parent and a bounded size, one container needs one request where two containers need two.',
    hint: 'Put the entities into one document or one container. Or write down the reason against it.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (share === undefined) yield missing(`the overlap of ${both(pair)}`);
        else if (
          share > TOGETHER &&
          pair.naturalParent &&
          pair.bounded &&
          !pair.independent &&
          pair.decision === 'separate'
        )
          yield {
            message: `${both(pair)} are separate, but have ${n(share)} % overlap and a bounded size`,
            at: place(pair),
            evidence: `${n(share)} % > ${TOGETHER} %`,
          };
      }
    },
  },
  {
    id: 'D2',
    title: 'Entities that are read separately are separate',
    source: SOURCES.seed,
    why: 'Under 30 % overlap, most reads pay for data that they don’t need.',
    hint: 'Put the entities into separate containers.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        if (pair.decision === undefined || pair.decision === 'separate') continue;
        const share = overlap(pair);
        if (share !== undefined && share < 30)
          yield {
            message: `${both(pair)} are together, but have only ${n(share)} % overlap`,
            at: place(pair),
            evidence: `${n(share)} % < 30 %`,
          };
      }
    },
  },
  {
    id: 'D8',
    title:
      'Several types in one container have a discriminator, queries name it, and all examples of a type have one shape',
    source: `${SOURCES.seed}; the change feed returns all types of a container`,
    why: 'The feed returns documents of every type, and a projection recognises them by the field `type` (`document_type`, `kind` and the like count too). A query with only the key as its condition returns all types of the partition, and TOP or LIMIT counts them. In examples of one type, a field has one JSON type, apart from null. The rule also warns if one example has a field with nearly the name of a field that all others have.',
    hint: 'Add a `type` to every document.',
    *check(facts) {
      const { design, containers } = facts;
      if (!design) {
        yield noDesign;
        return;
      }
      yield* mixed(facts);
      for (const { container } of containers)
        for (const type of container.types) yield* shapes(facts, container.name, type);
      for (const { container, prose } of containers) {
        const examples = examplesIn(container);
        const untyped = examples.filter(
          (example) =>
            !Object.entries(example).some(
              ([name, value]) => TYPE.test(name) && typeof value === 'string' && value !== '',
            ),
        );
        const stated =
          prose.find(({ label }) => /document types?|文档类型/i.test(label ?? ''))?.text.match(/`[\w-]+`/g)?.length ??
          0;
        const kinds = new Set(examples.map((example) => Object.keys(example).toSorted().join()));
        const disjoint =
          untyped.length > 1 &&
          kinds.size > 1 &&
          untyped.some((one) =>
            untyped.some(
              (other) =>
                Object.keys(one).filter((field) => field in other).length <
                0.5 * Math.min(Object.keys(one).length, Object.keys(other).length),
            ),
          );
        const several = container.types.length > 1 || stated > 1 || disjoint || untyped.length < examples.length;
        if (untyped.length > 0 && several) {
          const at =
            container.types.find((type) => type.examples.some((example) => untyped.includes(example)))?.at ??
            container.at;
          yield {
            message: `${container.name} has several types, but ${untyped.length} of ${examples.length} examples have no field type`,
            at,
          };
        }
      }
    },
  },
];

/** Fields whose JSON type or name in one example differs from all other examples of its type. */
function* shapes(facts: Facts, container: string, { name, examples, at }: DocumentType): Iterable<RuleResult> {
  const fields = new Set(examples.flatMap(Object.keys));
  for (const field of fields) {
    const having = examples.filter((example) => field in example);
    const typed = having.filter((example) => example[field] !== null);
    const kinds = Map.groupBy(typed, (example) => jsonType(example[field]));
    const [least, most] = [...kinds.values()].toSorted((a, b) => a.length - b.length);
    if (kinds.size > 1 && least)
      yield {
        severity: 'warning',
        message: `${container} (${name}) has ${field} as ${[...kinds.keys()].join(' and ')}`,
        at: facts.example(least[0], at),
        hint: 'Use one JSON type for the field in all examples.',
        related: [facts.example(most?.[0], at)],
      };
    if (having.length !== 1 || examples.length < 3) continue;
    const [odd] = having;
    const common = [...fields].filter((other) => examples.every((example) => other in example === (example !== odd)));
    const meant = near(field, common);
    if (meant !== undefined)
      yield {
        severity: 'warning',
        message: `${container} (${name}): one example has the field ${field}, all others have ${meant}`,
        at: facts.example(odd, at),
        hint: `Write ${meant}.`,
      };
  }
}

const jsonType = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);
