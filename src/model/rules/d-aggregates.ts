// D: what lies together in a document or container, and what doesn't.
import type { Pair } from '../documents.ts';
import type { DocumentType } from '../model.ts';
import { near } from '../../base/near.ts';
import { type Facts, examplesIn, figures } from './facts.ts';
import { sums } from './arithmetic.ts';
import { type Need, type Rule, type Verdict, SOURCES, missing, n, noDesign, quoted } from './rule.ts';

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
    title: 'What is read together lies together',
    severity: 'warning',
    source: `${SOURCES.seed}; its upstream adds the identifying relationship`,
    why: 'Over 50 % overlap, a natural parent and a bounded size: then two containers cost two requests for what one would answer.',
    mend: 'Put them into one document or one container, or write down what speaks against it.',
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
            message: `${both(pair)}: ${n(share)} % overlap and bounded, yet separate`,
            at: place(pair),
            evidence: `${n(share)} % > ${settings.thresholds.multi} %`,
          };
      }
    },
  },
  {
    id: 'D2',
    title: 'What is read apart, grows without bound or is operated apart lies apart',
    severity: 'error',
    source: SOURCES.seed,
    why: 'Under 30 % overlap most reads pay for what they don’t want; what grows without bound fills its key; and what is scaled or backed up apart can’t share a container.',
    mend: 'Separate them.',
    needs: [PAIRS],
    *check({ pairs }) {
      for (const pair of pairs) {
        if (pair.decision === undefined || pair.decision === 'separate') continue;
        const share = overlap(pair);
        const why =
          share !== undefined && share < 30
            ? `only ${n(share)} % overlap`
            : pair.unbounded
              ? 'growth without bound'
              : pair.independent
                ? 'operated independently'
                : undefined;
        if (why !== undefined)
          yield {
            message: `${both(pair)}: ${why}, yet together`,
            at: place(pair),
            ...(share !== undefined && share < 30 && { evidence: `${n(share)} % < 30 %` }),
          };
      }
    },
  },
  {
    id: 'D3',
    title: 'Between 30 and 50 % the decision is a calculation',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'There, cost is weighed against complexity; a justification without a number weighs nothing.',
    mend: 'Write RU of both ways into the justification.',
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
            message: `${both(pair)}: ${n(share)} % overlap, and the justification has no number`,
            at: pair.places.justification ?? pair.at,
          };
      }
    },
  },
  {
    id: 'D4',
    title: 'Between 30 and 70 % several types in one container were considered',
    severity: 'warning',
    source: SOURCES.seed,
    why: 'Documents of their own in one partition are the middle way between embedding and separating.',
    mend: 'Say why it is, or isn’t, a multi-document container.',
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
            message: `${both(pair)}: ${n(share)} % overlap, and a multi-document container isn't mentioned`,
            at: place(pair),
          };
      }
    },
  },
  {
    id: 'D5',
    title: 'Which thresholds were used is known',
    severity: 'information',
    source: 'the modelling prompt’s upstream, which gives several tables that disagree',
    why: 'One part says 90 and 50 %, another 40 to 80, a third 70. The table here is a setting: single document above 90 %, several types in one container from 50 %. It tells where a decision would differ.',
    mend: 'Nothing, or set the thresholds that your team uses.',
    needs: [PAIRS],
    *check({ pairs, settings: { thresholds } }) {
      for (const pair of pairs) {
        const share = overlap(pair);
        if (share === undefined || pair.unbounded) continue;
        if (pair.decision === 'single' && share <= thresholds.single)
          yield {
            message: `${both(pair)}: one document at ${n(share)} % overlap; by the thresholds ${thresholds.single}/${thresholds.multi} it is above ${thresholds.single} %`,
            at: place(pair),
          };
        if (pair.decision === 'multi' && share < thresholds.multi)
          yield {
            message: `${both(pair)}: one container at ${n(share)} % overlap; by the thresholds ${thresholds.single}/${thresholds.multi} it is from ${thresholds.multi} % on`,
            at: place(pair),
          };
      }
    },
  },
  {
    id: 'D6',
    title: 'What is embedded is bounded: count × size is 1 MB at most',
    severity: 'error',
    source: 'the modelling prompt’s upstream (1 MB); Microsoft’s limit is 2 MB',
    why: 'An embedded list grows the document with each element, and every write of it costs RU for the whole.',
    mend: 'Give it a bound, or documents of its own.',
    needs: [PAIRS],
    *check({ pairs }) {
      const embedded = pairs.filter(({ decision }) => decision === 'single');
      if (embedded.length === 0) {
        yield missing('an embedded entity');
        return;
      }
      for (const pair of embedded) {
        const at = pair.places.size ?? pair.at;
        if (pair.unbounded) yield { message: `${both(pair)}: embedded, and without bound`, at };
        else if (pair.maxBytes !== undefined && pair.maxBytes > 1e6)
          yield {
            severity: pair.maxBytes > 2e6 ? 'error' : 'warning',
            message: `${both(pair)}: embedded, up to ${n(pair.maxBytes / 1e6)} MB`,
            at,
            evidence: `${n(pair.maxBytes / 1e6)} MB > ${pair.maxBytes > 2e6 ? 2 : 1} MB`,
          };
      }
    },
  },
  {
    id: 'D7',
    title: 'Arithmetic that is written out is right',
    severity: 'warning',
    source: `${SOURCES.seed}: costs are double-checked`,
    why: 'RU sums that were wrong have led to wrong designs. It works every `a × b + c = d` of both documents out again, with the rounding that is written, or one percent.',
    mend: 'Correct the figure that is wrong.',
    *check({ prose }) {
      for (const { text, at } of prose) {
        for (const { written, value, stated } of sums(text))
          yield {
            message: `${quoted(written, 80)}: it is ${n(value)}, not ${n(stated)}`,
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
    title: 'Several types in one container have a discriminator, and examples of one type one shape',
    severity: 'error',
    source: `${SOURCES.seed}; the change feed brings all types of a container`,
    why: 'The feed has documents of every type; without a field that tells them apart a projection can’t know what it has. Examples of one type have one JSON type a field, null aside; it warns too where a field that all others have is missing and one of nearly its name is there.',
    mend: 'Give every document a `type`.',
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
            message: `${container.name} holds several types, and ${untyped.length} of ${examples.length} examples have no type`,
            at,
          };
        }
      }
    },
  },
];

/** JSON types and names that one example has against all others of its type. */
function* shapes(facts: Facts, container: string, { name, examples, at }: DocumentType): Iterable<Verdict> {
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
        mend: 'Give the field one JSON type in all examples.',
        related: [facts.example(most?.[0], at)],
      };
    if (having.length !== 1 || examples.length < 3) continue;
    const [odd] = having;
    const common = [...fields].filter((other) => examples.every((example) => other in example === (example !== odd)));
    const meant = near(field, common);
    if (meant !== undefined)
      yield {
        severity: 'warning',
        message: `${container} (${name}): one example has ${field}, all others ${meant}`,
        at: facts.example(odd, at),
        mend: `Write ${meant}.`,
      };
  }
}

const jsonType = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);
