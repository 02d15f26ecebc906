// F18: documents that are marked as deleted, and stay.
import { fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';
import { saying } from './service.ts';

/** Words for a mark instead of a deletion. */
export const MARKED = /\bsoft[- ]?delet|\bsoft removal\b|逻辑删除|論理削除/i;
const DENIED = /\b(?:no|not|without|instead of|never|future|rather than)\b[^.|]{0,20}\bsoft[- ]?delet/i;
/** What ends them, or why they are kept. */
const ENDED =
  /\bttl\b|time[- ]to[- ]live|purg|hard[- ]?delet|\bretention|permanent\w* (?:delet|remov)|clean[- ]?up|archiv|\brestor\w+|\bundelet|\brecover\w+ (?:deleted|within)|\baudit trail|complian|物理删除/i;

export const REMOVED: readonly Rule[] = [
  {
    id: 'F18',
    title: 'What is marked as deleted is removed one day, or is kept for a reason',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'A soft delete only sets a field. The document costs storage, is read by every query that forgets the field, and holds its unique keys and its id. If it has personal data, a request to erase it isn’t fulfilled. The rule reads sentences about a soft delete. It accepts a TTL anywhere in the documents, and a sentence that names a purge, a retention, an archive or a way back.',
    hint: 'Set `ttl` with the mark, so that the document goes after some days. Or write for how long, and for what, it is kept.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const marks = saying(design, MARKED).filter(({ text }) => !DENIED.test(text));
      if (marks.length === 0) {
        yield missing('a sentence about a soft delete');
        return;
      }
      const ends =
        linesSaying(design, ENDED).length > 0 ||
        containers.some(({ container }) => container.defaultTtl !== undefined || fieldsIn(container).has('ttl'));
      if (!ends) yield* together(marks, 'Documents that are marked as deleted stay: nothing removes them');
    },
  },
];
