// B24: what people ask at each visit, and what is said to cross partitions.
import { saysCrossing } from '../reader/asked.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { saying } from './service.ts';

const CROSSES = /cross[- ]partition|fan[- ]?out/i;
/** A sign-in, and a list of what belongs to the person who asks. */
const OFTEN =
  /\b(?:e-?mail look-?ups?|(?:users?|accounts?|profiles?|members?) by e-?mail|log-?in|sign-?in|authenticat\w+|owner quer\w+|by owner(?:id)?|(?:list|get) (?:a |the )?(?:user|owner|player|customer)['’]s \w+|my \w+)\b/i;
/** What another design would cost is no cost of this one. */
const SUPPOSED = /\b(?:would|wouldn['’]t|could have|had we|if we)\b[^.;|]{0,100}(?:cross[- ]partition|fan[- ]?out)/i;
const RARE =
  /\b(?:admin\w*|rare(?:ly)?|background|report\w*|batch|export|maintenance|infrequent\w*|one-?time|support staff|avoid\w*|prevent\w*|without|eliminat\w*|instead of|reduce[sd]?)\b/i;

export const VISITS: readonly Rule[] = [
  {
    id: 'B24',
    title: 'What people ask at each visit reads one partition',
    severity: 'warning',
    source: SOURCES.microsoft('Query a container in Azure Cosmos DB'),
    why: 'A sign-in by address, and the first list that a person sees, are the most frequent requests of most applications. If they cross partitions, each of them costs 2.5 RU or more for every physical partition (B8), and costs more as the data grows. The rule reads lines that say cross-partition of a lookup by address, a sign-in, or a list of an owner’s own things. It passes over lines about administration, reports and rare requests, and over what another design would cost.',
    hint: 'Derive a container with this key by a projection: for an address, a document whose id and key are the address.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const crossing = saying(design, CROSSES).filter(({ text }) => saysCrossing(text));
      if (crossing.length === 0) {
        yield missing('a sentence that says cross-partition');
        return;
      }
      yield* together(
        crossing.filter(({ text }) => OFTEN.test(text) && !RARE.test(text) && !SUPPOSED.test(text)),
        'This is asked at each visit, and reads every partition',
      );
    },
  },
];
