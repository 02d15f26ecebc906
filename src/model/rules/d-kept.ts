// D14: totals that the application itself keeps, when something else changes.
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { textAround } from './said.ts';
import { saying } from './service.ts';

const KEPT =
  /\b(?:when(?:ever)?|each time|every time|on each|on every|after each)\b[^.|]{0,60}\b(?:updat|increment|recalculat|adjust|bump|refresh)\w*\b[^.|]{0,50}\b(?:metrics?|counters?|counts?|totals?|statistics|stats|summar(?:y|ies)|aggregates?|averages?|balances?)\b|\b(?:updat|maintain)\w*\b[^.|]{0,40}\b(?:statistics|metrics|counters|totals)\b[^.|]{0,40}\brunning averages?\b/i;
/** What makes a repeated or a lost update harmless. */
const SAFE =
  /\bchange feed\b|\bprojection|\betag\b|\bif-match\b|\boptimistic|\btransaction|\bidempoten|\bexactly once\b|\bbatch job\b|\brebuil|\brecomput|\bmaterialized view by\b|\bstored procedure\b|\btrigger/i;
const NEAR = 3;

export const KEEPING: readonly Rule[] = [
  {
    id: 'D14',
    title: 'A total that the application keeps survives a repeated request',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}`,
    why: 'A program that writes a document and then raises a total in another one can stop in between, and repeats the whole after a lost answer: the total misses one, or counts it twice. Two programs that read, add and write lose one of both. The rule reads sentences that update metrics, counters or averages when something else changes, and accepts a text beside them that names the change feed, an ETag, a transaction or another guard.',
    hint: 'Derive the total by an aggregate, which counts each document once. Or name the guard.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = saying(design, KEPT);
      if (all.length === 0) {
        yield missing('a sentence about a total that the application keeps');
        return;
      }
      const open = all.filter(({ at }) => !SAFE.test(textAround(design, at.line, NEAR)));
      yield* together(open, 'A repeated or an interrupted request leaves this total wrong');
    },
  },
];
