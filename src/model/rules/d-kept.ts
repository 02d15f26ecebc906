// D14: totals that the application itself keeps, when something else changes.
import type { Place } from '../model.ts';
import type { Facts } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying, textAround } from './said.ts';
import { saying } from './service.ts';

const KEPT =
  /\b(?:when(?:ever)?|each time|every time|on each|on every|after each)\b[^.|]{0,60}\b(?:updat|increment|recalculat|adjust|bump|refresh)\w*\b[^.|]{0,50}\b(?:metrics?|counters?|counts?|totals?|statistics|stats|summar(?:y|ies)|aggregates?|averages?|balances?)\b|\b(?:updat|maintain)\w*\b[^.|]{0,40}\b(?:statistics|metrics|counters|totals)\b[^.|]{0,40}\brunning averages?\b/i;
/** What makes a repeated or a lost update harmless. */
const SAFE =
  /\bchange feed\b|\bprojection|\betag\b|\bif-match\b|\boptimistic|\btransaction|\bidempoten|\bexactly once\b|\bbatch job\b|\brebuil|\brecomput|\bmaterialized view by\b|\bstored procedure\b|\btrigger/i;
const NEAR = 3;

/** A container of numbers that each new document takes one of. */
const SEQUENCES = /counter|sequence|(?:^|[-_])seq(?:$|[-_])|numbering/i;
const NUMBER =
  /^(?:current|last|next)_?(?:value|number|id|no|seq(?:uence)?)?$|^(?:seq(?:uence)?(?:_?number)?|value|counter)$/i;
const GUARDED =
  /\bpatch\w*\b[^.|]{0,40}\bincr|\bincr\w*\b[^.|]{0,40}\bpatch|\bpatch (?:operation|increment)|\betag\b|\bif-match\b|\boptimistic|\bstored procedure\b|\bretr(?:y|ies)\b[^.|]{0,30}\b(?:412|conflict)/i;
/** A field of an example guards nothing. */
const FIELD = /["'/]_?etag/i;

function sequencesIn(facts: Facts): { readonly name: string; readonly at: Place; readonly field: Place }[] {
  return facts.containers.flatMap((detail) => {
    const { container } = detail;
    if (!SEQUENCES.test(container.name)) return [];
    const found = fieldsOf(facts, detail).find(({ field }) => NUMBER.test(field));
    return found ? [{ name: container.name, at: facts.place(detail, 'partitionKey'), field: found.at }] : [];
  });
}

export const KEEPING: readonly Rule[] = [
  {
    id: 'D14',
    title: 'A total that the application keeps survives a repeated request',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}`,
    why: 'A program that writes a document and then raises a total in another one can stop in between, and repeats the whole after a lost answer: the total misses one, or counts it twice. Two programs that read, add and write lose one of both. The rule reads sentences that update metrics, counters or averages when something else changes, and accepts a text beside them that names the change feed, an ETag, a transaction or another guard. The same holds for a document from which numbers are taken, such as the next number of a case: without an ETag or a patch that increments, two requests take one number.',
    hint: 'Derive the total by an aggregate, which counts each document once. Or name the guard.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const sequences = sequencesIn(facts);
      if (!linesSaying(design, GUARDED).some(([, text]) => !FIELD.test(text)))
        yield* together(
          sequences,
          `${sequences.map(({ name }) => name).join(', ')}: two requests that read, add and write take the same number, and nothing guards it`,
          sequences.map(({ field }) => field),
        );
      const all = saying(design, KEPT);
      if (all.length + sequences.length === 0) {
        yield missing('a sentence about a total that the application keeps');
        return;
      }
      const open = all.filter(({ at }) => !SAFE.test(textAround(design, at.line, NEAR)));
      yield* together(open, 'A repeated or an interrupted request leaves this total wrong');
    },
  },
];
