// D: which entities share a document or container, and which don't.
import type { Pair } from '../documents.ts';
import type { DocumentType } from '../model.ts';
import { near } from '../../base/near.ts';
import { type Facts, examplesIn, figures } from './facts.ts';
import { sums } from './arithmetic.ts';
import { type Need, type Rule, type RuleResult, SOURCES, missing, n, noDesign, quoted } from './rule.ts';

const PAIRS: Need = {
  what: 'aggregate analyses and the consolidation table (cosmosdb_requirements.md)',
  there: ({ pairs }) => pairs.length > 0,
};
const both = ({ parent, child }: Pair): string => `${parent} + ${child}`;
const place = (pair: Pair) => pair.places.decision ?? pair.at;
const overlap = (pair: Pair): number | undefined => pair.correlation ?? pair.both;

export const AGGREGATES: readonly Rule[] = [
  {
    id: 'D1',
    title: 'Entities that are read together share a document or container',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream adds the identifying relationship`,
    why: 'With over 50 % overlap, a natural parent and a bounded size, one container needs one request where two containers need two.',
    hint: 'Put the entities into one document or one container. Or write down the reason against it.',
    needs: [PAIRS],
    *check({ pairs, settings }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (share === undefined) yield missing(`the overlap of ${both(pair)}`);
        else if (
          share > settings.thresholds.multi &&
          pair.naturalParent &&
          pair.bounded &&
          !pair.independent &&
          pair.decision === 'separate'
        )
          yield {
            message: `${both(pair)} are separate, but have ${n(share)} % overlap and a bounded size`,
            at: place(pair),
            evidence: `${n(share)} % > ${settings.thresholds.multi} %`,
          };
      }
    },
  },
  {
    id: 'D2',
    title: 'Entities that are read separately, grow without bound or are operated separately are separate',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Under 30 % overlap, most reads pay for data that they don’t need. Data that grows without bound fills its logical partition. Entities with different scaling or backups can’t share a container.',
    hint: 'Put the entities into separate containers.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        if (pair.decision === undefined || pair.decision === 'separate') continue;
        const share = overlap(pair);
        const why =
          share !== undefined && share < 30
            ? `have only ${n(share)} % overlap`
            : pair.unbounded
              ? 'grow without bound'
              : pair.independent
                ? 'are operated separately'
                : undefined;
        if (why !== undefined)
          yield {
            message: `${both(pair)} are together, but ${why}`,
            at: place(pair),
            ...(share !== undefined && share < 30 && { evidence: `${n(share)} % < 30 %` }),
          };
      }
    },
  },
  {
    id: 'D3',
    title: 'Between 30 and 50 % overlap a calculation justifies the decision',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'In this range the decision depends on the cost of both designs, so the justification needs numbers.',
    hint: 'Write the RU of both designs into the justification.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (
          share !== undefined &&
          share >= 30 &&
          share <= 50 &&
          !/\d/.test(pair.justification.replaceAll(/\d+\s?%/g, ''))
        )
          yield {
            message: `${both(pair)} have ${n(share)} % overlap, and the justification has no number`,
            at: pair.places.justification ?? pair.at,
          };
      }
    },
  },
  {
    id: 'D4',
    title: 'Between 30 and 70 % overlap the design considers several types in one container',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'Separate documents in one partition are the choice between embedding and separate containers.',
    hint: 'Write why the container is, or isn’t, a multi-document container.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (
          share !== undefined &&
          share >= 30 &&
          share <= 70 &&
          pair.decision !== 'multi' &&
          !/multi[- ]?document|same container|one container|several types|多文档/i.test(
            `${pair.decisionText} ${pair.justification}`,
          )
        )
          yield {
            message: `${both(pair)} have ${n(share)} % overlap, and the design doesn't mention a multi-document container`,
            at: place(pair),
          };
      }
    },
  },
  {
    id: 'D5',
    title: 'Decisions follow the configured thresholds',
    severity: 'information',
    source: 'the modelling prompt’s upstream, which gives several tables that disagree',
    why: 'One part of the upstream prompt says 90 and 50 %, another 40 to 80, a third 70. Here the thresholds are a setting: a single document above 90 %, several types in one container from 50 % on. The rule reports a decision that would be different by these thresholds.',
    hint: 'Set the thresholds that your team uses. If the decision is right, do nothing.',
    needs: [PAIRS],
    *check({ pairs, settings: { thresholds } }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (share === undefined || pair.unbounded) continue;
        if (pair.decision === 'single' && share <= thresholds.single)
          yield {
            message: `${both(pair)} share one document at ${n(share)} % overlap; by the thresholds ${thresholds.single}/${thresholds.multi} this needs more than ${thresholds.single} %`,
            at: place(pair),
          };
        if (pair.decision === 'multi' && share < thresholds.multi)
          yield {
            message: `${both(pair)} share one container at ${n(share)} % overlap; by the thresholds ${thresholds.single}/${thresholds.multi} this needs at least ${thresholds.multi} %`,
            at: place(pair),
          };
      }
    },
  },
  {
    id: 'D6',
    title: 'Embedded data is bounded: count × size is at most 1 MB',
    severity: 'error',
    source: 'the modelling prompt’s upstream (1 MB); Microsoft’s limit is 2 MB',
    why: 'Each element of an embedded list makes the document larger, and every write costs RU for the whole document.',
    hint: 'Limit the number of elements, or store them as separate documents.',
    needs: [PAIRS],
    *check({ pairs }) {
      const embedded = pairs.filter(({ decision }) => decision === 'single');
      if (embedded.length === 0) {
        yield missing('an embedded entity');
        return;
      }
      for (const pair of embedded) {
        const at = pair.places.size ?? pair.at;
        if (pair.unbounded) yield { message: `${both(pair)}: the embedded data has no bound`, at };
        else if (pair.maxBytes !== undefined && pair.maxBytes > 1e6)
          yield {
            severity: pair.maxBytes > 2e6 ? 'error' : 'warning',
            message: `${both(pair)}: the embedded data has up to ${n(pair.maxBytes / 1e6)} MB`,
            at,
            evidence: `${n(pair.maxBytes / 1e6)} MB > ${pair.maxBytes > 2e6 ? 2 : 1} MB`,
          };
      }
    },
  },
  {
    id: 'D7',
    title: 'Calculations in the documents are right',
    severity: 'warning',
    source: `${SOURCES.seed}: costs are double-checked`,
    why: 'Wrong sums of RU lead to wrong designs. The rule computes every `a × b + c = d` of both documents again. It accepts rounding in the last written digit, or one percent.',
    hint: 'Correct the wrong figure.',
    *check({ prose }) {
      for (const { text, at } of prose) {
        for (const { written, value, stated } of sums(text))
          yield {
            message: `${quoted(written, 80)}: the result is ${n(value)}, not ${n(stated)}`,
            at,
            evidence: `${quoted(written.split('=')[0] ?? '', 90)} = ${n(value)}`,
          };
      }
      if (!prose.some(({ text }) => figures(text, 'ru').length > 0 || /[×÷]/.test(text)))
        yield missing('a calculation');
    },
  },
  {
    id: 'D8',
    title: 'Several types in one container have a discriminator, and all examples of a type have one shape',
    severity: 'error',
    source: `${SOURCES.seed}; the change feed returns all types of a container`,
    why: 'The feed returns documents of every type, and a projection recognises them by the field `type`. In examples of one type, a field has one JSON type, apart from null. The rule also warns if one example has a field with nearly the name of a field that all others have.',
    hint: 'Add a `type` to every document.',
    *check(facts) {
      const { design, containers } = facts;
      if (!design) {
        yield noDesign;
        return;
      }
      for (const { container } of containers)
        for (const type of container.types) yield* shapes(facts, container.name, type);
      for (const { container, prose } of containers) {
        const examples = examplesIn(container);
        const untyped = examples.filter((example) => typeof example['type'] !== 'string' || example['type'] === '');
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
        if (untyped.length > 0 && (container.types.length > 1 || stated > 1 || disjoint)) {
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
