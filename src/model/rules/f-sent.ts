// F19: what a reader of the feed sends, when a page comes again.
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { textAround } from './said.ts';
import { saying } from './service.ts';

const FEED = /change[- _]?feed|cosmosDBTrigger/i;
/** A call in code, or a sentence. */
const SENDS =
  /\b(?:await )?(?:[\w.]*\.)?(?:send|push|notify|publish)(?:Push|Email|Sms|Notification|Message|Alert)\w*\(|\bchange[- _]?feed\b[^.|]{0,80}\b(?:send|sends|push|pushes|trigger|triggers)\b[^.|]{0,30}\b(?:e-?mails?|notifications?|push(?:es)?|sms|alerts?|webhooks?)\b/i;
const COUNTS =
  /\b(?:await )?(?:[\w.]*\.)?(?:update|increment|add)(?:Realtime|Daily|Usage)?(?:Metrics|Counters?|Stats|Statistics|Totals?)\w*\(/i;
const SAFE =
  /\bidempoten|\bdedup|\bduplicate|\balready (?:sent|processed|handled)|\bprocessed(?:Events|Changes|Ids)?\b|\bexactly once\b|\bat[- ]least[- ]once\b|\betag\b|\bmessage ?id\b|\bevent ?id\b|\boutbox\b/i;
/** So many lines of a program belong to its trigger. */
const [BEFORE, AROUND] = [15, 20];

export const SENT: readonly Rule[] = [
  {
    id: 'F19',
    title: 'What a reader of the feed sends or counts may come twice',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'The feed delivers at least once: after a crash, or after a lease changes its owner, a page is handled again. A push is then sent twice, and a counter counts twice. The rule reads programs with a call that sends or counts below a change feed, and sentences that say that the feed sends. It accepts a text beside them that names what makes a repetition harmless.',
    hint: 'Send with a key that the receiver knows again, such as the id and version of the document. Derive counters by an aggregate.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = [...saying(design, SENDS), ...saying(design, COUNTS)].filter(({ at }) =>
        FEED.test(textAround(design, at.line, BEFORE, 0)),
      );
      if (all.length === 0) {
        yield missing('a reader of the feed that sends or counts');
        return;
      }
      yield* together(
        all.filter(({ at }) => !SAFE.test(textAround(design, at.line, AROUND))),
        'The feed may deliver a change again, and then this happens twice',
      );
    },
  },
];
