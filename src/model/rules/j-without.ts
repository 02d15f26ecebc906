// J31: what is entered while Cosmos DB can't be reached.
import type { Annotation, Annotations } from '../annotations/annotations.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, together } from './rule.ts';

type Fact = Annotation<'fact'>;

const WITHOUT =
  /fall-?back|\bwithout (?:an? )?(?:cosmos|database|endpoint|connection)|\b(?:cosmos ?db|database|db)\b.{0,20}\b(?:unavailable|unreachable|down|not configured|isn.t configured|fails)/i;
/** The fallback is one of the database, and not of a cache or a model. */
const STORE = /cosmos|database|\bdb\b|repositor|persist|\bstor(?:e|es|ed|age)\b|endpoint|connection/i;
const OTHER = /redis|cache|search|openai|\bllm\b|\bmodel\b/i;
const GOES_ON = /memory|continue|still works?|graceful|not persisted|keeps? working|\bworks\b/i;
const COMES_BACK = /queue|replay|writes? back|written back|retr(?:y|ies)|sync/i;

const LOST = (memory: boolean): string =>
  `Without Cosmos DB the application goes on${memory ? ', with data in the memory of one instance' : ' and doesn’t store'}, and nothing is said to write ${memory ? 'them' : 'it'} back: what users enter then is lost without an error, ${memory ? 'instances show different data, and' : 'and'} a wrong setting in production looks like success`;
const REFUSED =
  /refus|reject|50\d|throw|fails? (?:fast|at)|errors?\b|no (?:fall-?back|offline|queue)|not (?:provided|supported|offered)/i;

/** What the annotations call a fallback. */
function* fallbacks(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('fallback');
  const open = all.filter(
    ({ keeps, words }) => keeps === 'memory' || keeps === 'file' || (keeps === 'nothing' && !REFUSED.test(words)),
  );
  if (all.some(({ writesBack, keeps }) => writesBack === true || keeps === 'queue')) return;
  yield* together(open, LOST(open.some(({ keeps }) => keeps === 'memory')));
}

/** What facts say of it, where no annotation calls it a fallback. */
function* without(annotations: Annotations): Iterable<Found> {
  const text = ({ of, property, value, words }: Fact): string => `${of} ${property} ${value} ${words}`;
  const all = annotations
    .of('fact')
    .filter((fact) => WITHOUT.test(text(fact)) && STORE.test(text(fact)) && !OTHER.test(text(fact)));
  const going = all.filter(
    (fact) => GOES_ON.test(text(fact)) && !(fact.value === false && /works?|continue|function/i.test(fact.property)),
  );
  if (going.length === 0 || all.some((fact) => COMES_BACK.test(text(fact)))) return;
  yield* together(all, LOST(all.some((fact) => /memory/i.test(text(fact)))));
}

export const WITHOUT_STORE: readonly Rule[] = [
  {
    id: 'J31',
    title: 'What is entered while Cosmos DB can’t be reached isn’t lost in silence',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A program that falls back to memory accepts what it can’t keep. The next restart forgets it, and each instance has its own. A missing setting then goes unnoticed until data is missed. The rule takes fallbacks, or facts on what the application does without Cosmos DB, and accepts any word on a queue, a retry or a write back.',
    hint: 'Refuse writes with 503 while Cosmos DB can’t be reached, and fail at the start if it isn’t configured outside of development.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      yield* annotations.of('fallback').length > 0 ? fallbacks(annotations) : without(annotations);
    },
  },
];
