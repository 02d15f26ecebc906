// B24: what people ask at each visit, and what is said to cross partitions.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { saysCrossing } from '../reader/asked.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { textAround, wordsOf } from './said.ts';
import { saying } from './service.ts';

const CROSSES = /cross[- ]partition|fan[- ]?out/i;
/** A sign-in, and a list of what belongs to the person who asks. */
const OFTEN =
  /\b(?:e-?mail look-?ups?|(?:users?|accounts?|profiles?|members?) by e-?mail|log-?in|sign-?in|authenticat\w+|owner quer\w+|by owner(?:id)?|(?:list|get) (?:a |the )?(?:user|owner|player|customer)['’]s \w+|my \w+)\b/i;
/** What another design would cost is no cost of this one. */
const SUPPOSED = /\b(?:would|wouldn['’]t|could have|had we|if we)\b[^.;|]{0,100}(?:cross[- ]partition|fan[- ]?out)/i;
const RARE =
  /\b(?:admin\w*|rare(?:ly)?|background|report\w*|batch|export|maintenance|infrequent\w*|one-?time|support staff|avoid\w*|prevent\w*|without|eliminat\w*|instead of|reduce[sd]?)\b/i;

const PUT_OFF =
  /\b(?:for (?:the )?(?:mvp|now|v1|the moment)|mvp\b|acceptable|good enough)\b[^|]{0,80}\b(?:at scale|later|future|when (?:it|we|the \w+) (?:grows?|scales?)|consider|revisit|optimi[sz]e)\b/i;

/** Rows of a table of frequent queries that say cross-partition. */
function frequent(design: Design): { at: Place }[] {
  let isFrequent = false;
  return design.lines.flatMap((text, index) => {
    if (text.startsWith('#')) isFrequent = FREQUENT.test(text) && !RARE.test(text);
    return isFrequent && text.trimStart().startsWith('|') && saysCrossing(text)
      ? [{ at: { file: design.file, line: index + 1 } }]
      : [];
  });
}
const FREQUENT =
  /\b(?:high[- ]frequency|frequent|hot[- ]path|critical|most common|primary)\b[^|]{0,20}\b(?:quer|read|access|pattern|lookup|operation)/i;

export const VISITS: readonly Rule[] = [
  {
    id: 'B24',
    title: 'What people ask at each visit reads one partition',
    severity: 'warning',
    source: SOURCES.microsoft('Query a container in Azure Cosmos DB'),
    why: 'A sign-in by address, and the first list that a person sees, are the most frequent requests of most applications. If they cross partitions, each of them costs 2.5 RU or more for every physical partition (B8), and costs more as the data grows. The rule reads lines that say cross-partition of a lookup by address, a sign-in, or a list of an owner’s own things. It reads rows of a table of frequent queries too, and sentences that put the answer off ("for MVP … at scale, consider"). It passes over lines about administration, reports and rare requests, and over what another design would cost.',
    hint: 'Derive by a projection a container whose key is what people ask by: for an address, a document whose id and key are the address.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const crossing = saying(design, CROSSES).filter(({ text }) => saysCrossing(text));
      if (crossing.length === 0) {
        yield missing('a sentence that says cross-partition');
        return;
      }
      const often = crossing.filter(({ text }) => OFTEN.test(text) && !RARE.test(text) && !SUPPOSED.test(text));
      yield* together(often, `What people ask at each visit reads every partition: ${wordsOf(design, often)}`);
      // Admitted, and left to a time that has no date.
      const later = crossing.filter(
        ({ text, at }) => PUT_OFF.test(textAround(design, at.line, 0, 1)) && !RARE.test(text) && !SUPPOSED.test(text),
      );
      yield* together(
        later,
        `A read of every partition is admitted, and the answer is put off: ${wordsOf(design, later)}. Until what number of documents or requests is it good enough, and what comes then?`,
      );
      const listed = frequent(design);
      yield* together(listed, `A query among the frequent ones reads every partition: ${wordsOf(design, listed)}`);
    },
  },
];
