// C25: documents that belong together, and lie in two partitions.
import { textAround } from './said.ts';
import { saying } from './service.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';

/** "two documents, one in each user's partition", "mirrored registrations: one document for each partner". */
const PAIR =
  /\b(?:two|both|dual|mirrored|2)\b[^.|]{0,60}\b(?:documents?|records?|items?|copies)\b[^.|]{0,60}\b(?:in|under|for) (?:each|both|different|separate|two)\b[^.|]{0,30}\bpartitions?\b|\bdual[- ]writes?\b|\bwrites?\b[^.|]{0,12}\btwo\b[^.|]{0,12}\bdocuments\b/i;
/** What completes a half that is missing. */
const COMPLETES =
  /\b(?:saga|outbox|compensat\w*|reconcil\w*|change feed|retr(?:y|ies|ied)|idempoten\w*|eventual\w*|rollback|not atomic|no transaction|queue)\b/i;
/** So many lines around the sentence belong to it. */
const NEAR = 12;

export const PAIRS: readonly Rule[] = [
  {
    id: 'C25',
    title: 'Two documents in two partitions are written by something that completes both',
    severity: 'warning',
    source: SOURCES.microsoft('Transactional batch operations in Azure Cosmos DB'),
    why: 'A transaction has one partition key (ASM-E121). A program that writes a friendship into the partitions of both people, and stops in between, leaves half of it, and no query shows which half is missing. The rule reads sentences that put two documents into two partitions, or that call a write a dual write. It accepts a text beside them that names what completes them.',
    hint: 'Write one of them, and derive the other by a projection. Or name the job that finds and completes halves.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      // While a container moves, both are written for a time.
      const all = saying(design, PAIR).filter(({ text }) => !/\bmigrat|\bbackfill/i.test(text));
      if (all.length === 0) {
        yield missing('a sentence about two documents in two partitions');
        return;
      }
      const open = all.filter(({ at }) => !COMPLETES.test(textAround(design, at.line, NEAR)));
      yield* together(
        open,
        'Two documents in two partitions aren’t one transaction, and nothing is said to complete a half',
      );
    },
  },
];
