// J31 and J32: what happens without Cosmos DB, and figures of the document that one partition can't hold.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { listed, typesOf } from '../annotations/merged.ts';
import { quantities } from '../reader/quantity.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, n, together } from './rule.ts';

type Fact = Annotation<'fact'>;

const WITHOUT =
  /fall-?back|\bwithout (?:an? )?(?:cosmos|database|endpoint|connection)|\b(?:cosmos ?db|database|db)\b.{0,20}\b(?:unavailable|unreachable|down|not configured|isn.t configured|fails)/i;
const GOES_ON = /memory|continue|still works?|graceful|not persisted|keeps? working|\bworks\b/i;
const COMES_BACK = /queue|replay|writes? back|written back|retr(?:y|ies)|sync/i;

function* without(annotations: Annotations): Iterable<Found> {
  const text = ({ of, property, value, words }: Fact): string => `${of} ${property} ${value} ${words}`;
  const all = annotations.of('fact').filter((fact) => WITHOUT.test(text(fact)));
  const going = all.filter(
    (fact) => GOES_ON.test(text(fact)) && !(fact.value === false && /works?|continue|function/i.test(fact.property)),
  );
  if (going.length === 0 || all.some((fact) => COMES_BACK.test(text(fact)))) return;
  const memory = all.some((fact) => /memory/i.test(text(fact)));
  yield* together(
    all,
    `Without Cosmos DB the application goes on${memory ? ', with data in the memory of one instance' : ' and doesn’t store'}, and nothing is said to write ${memory ? 'them' : 'it'} back: what users enter then is lost without an error, ${memory ? 'instances show different data, and' : 'and'} a wrong setting in production looks like success`,
  );
}

const KB = 1e3;
const SIZES: Readonly<Record<string, number>> = {
  b: 1,
  byte: 1,
  bytes: 1,
  kb: KB,
  mb: KB ** 2,
  gb: KB ** 3,
  tb: KB ** 4,
};
/** What one value of a partition key may hold. */
const LOGICAL = 20 * KB ** 3;

interface Figure {
  readonly high: number;
  readonly fact: Fact;
}

const highOf = ({ value, unit = '' }: Fact, scaled: boolean): number | undefined => {
  const [first] = quantities(typeof value === 'number' ? `${value} ${unit}` : `${String(value)} ${unit}`);
  if (!first) return undefined;
  const size = SIZES[first.unit.toLowerCase()];
  return scaled ? (size === undefined ? undefined : first.high * size) : size === undefined ? first.high : undefined;
};

const figuresOf = (facts: readonly Fact[], scaled: boolean): Figure[] =>
  facts.flatMap((fact) => {
    const high = highOf(fact, scaled);
    return high === undefined ? [] : [{ high, fact }];
  });

function* tooFull(annotations: Annotations): Iterable<Found> {
  const facts = annotations.of('fact');
  const counts = figuresOf(
    facts.filter(({ of, property }) => {
      const about = `${of} ${property}`;
      return (
        /\b(?:documents?|items?|records?|messages?|events?)\b/i.test(about) &&
        /\b(?:per|in an?|of an?|each)\b.{0,12}\bpartition/i.test(about)
      );
    }),
    false,
  );
  const sizes = figuresOf(
    facts.filter(
      ({ of, property }) =>
        /size/i.test(property) &&
        !/max/i.test(property) &&
        (typesOf(annotations).some(({ name }) => same(name, of)) || /^(?:documents?|items?)$/i.test(of)),
    ),
    true,
  );
  const most = counts.toSorted((a, b) => b.high - a.high)[0];
  const largest = sizes.toSorted((a, b) => b.high - a.high)[0];
  if (!most || !largest || most.high * largest.high <= LOGICAL) return;
  const gb = n((most.high * largest.high) / KB ** 3);
  const targets = facts.filter(({ of, property }) => /partition/i.test(of) && /size/i.test(property));
  const evidence = `${n(most.high)} × ${n(largest.high / KB)} KB = ${gb} GB`;
  for (const found of together(
    [most.fact],
    `${n(most.high)} documents in a partition at the ${n(largest.high / KB)} KB of ${largest.fact.of} are ${gb} GB, and a logical partition takes 20 GB: writes to a full one are refused`,
    [
      largest.fact.at,
      ...targets.map(({ at }) => at),
      ...annotations.of('limit').flatMap(({ limit, at }) => (limit === 'logical-partition-size' ? [at] : [])),
    ],
  ))
    yield {
      ...found,
      evidence,
      hint: `State how many documents a value of ${listed(annotations.containers.flatMap((name) => annotations.keyOf(name) ?? [])) || 'the key'} may have so that their size stays below 20 GB, and what starts a new value before.`,
    };
}

export const FIGURES: readonly Rule[] = [
  {
    id: 'J31',
    title: 'What is entered while Cosmos DB can’t be reached isn’t lost in silence',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A program that falls back to memory accepts what it can’t keep. The next restart forgets it, and each instance has its own. A missing setting then goes unnoticed until data is missed. The rule takes facts on what the application does without Cosmos DB, and accepts any word on a queue, a retry or a write back.',
    hint: 'Refuse writes with 503 while Cosmos DB can’t be reached, and fail at the start if it isn’t configured outside of development.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* without(annotations);
    },
  },
  {
    id: 'J32',
    title: 'The stated number of documents of a partition, at their stated size, fits into it',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A logical partition holds 20 GB (ASM-E121). The document states how many documents one has, and how large they are; the product is worked out by nobody else. The rule takes the larger ends of both.',
    hint: 'Choose a key with more values, or state what starts a new value.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (annotations) yield* tooFull(annotations);
    },
  },
];
