// F20: what is done to all that belongs to something, and may stop in between.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { textAround, wordsOf } from './said.ts';

const WHOLE =
  /\bcascad\w+ delet\w+|\bdelet\w+ cascad\w+|\bcascade (?:delete|removal)|\bdelet(?:e|es|ing|ion of)\b[^.|]{0,50}\b(?:first |also |then |and )(?:moves?|removes?|deletes?|reassigns?|updates?)\b[^.|]{0,30}\b(?:affected|all|its|their|related|child|dependent|associated|every)\b|\bdelet(?:ing|ion of) (?:an? |the |its )?`?\w+`? (?:also )?(?:deletes?|removes?|erases?) (?:all|its|their|every|both)\b|\b(?:delet|remov|eras)(?:e|es|ing) all (?:of )?(?:the )?(?:user|customer|member|account|tenant)(?:['’]s)? (?:data|documents|items|records)\b|\bhard-?delet\w*\b[^.|]{0,30}\brelated\b|\b(?:mov|reassign|renam)(?:e|es|ing)\b[^.|]{0,30}\ball (?:of )?(?:its|their|the|affected) (?:\w+ )?(?:entries|items|documents|records|\w+s) (?:to|into|under)\b/i;
const RELATIONAL = /\bON DELETE CASCADE\b|\bforeign keys?\b/i;
/** What ends it after a stop. */
const FINISHED =
  /\b(?:resum\w*|continuation|idempoten\w*|change feed|background|queue|retr(?:y|ies|ied)|in (?:batches|pages|chunks)|batch(?:es)? of|workflow|saga|durable (?:functions?|orchestr\w*|tasks?|entit\w+)|delete by partition key|soft[- ]?delet\w*|\bttl\b|job)\b/i;
const NEAR = 4;
/** "No cascade delete". */
const NEGATED = /\b(?:no|without|never|not|don['’]t)\s+(?:an?\s+|any\s+)?$/i;

/** Sentences that begin in a line; the next line may end them. */
function sentences({ lines, file }: Design): { at: Place; more: Place[] }[] {
  return lines.flatMap((text, index) => {
    if (text.length > 600 || text.startsWith('#')) return [];
    const next = lines[index + 1] ?? '';
    const goesOn = text.length > 40 && /^\s*\w/.test(next) && !/[.:|]\s*$/.test(text);
    const found = WHOLE.exec(goesOn ? `${text} ${next}` : text);
    if (!found || found.index >= text.length || NEGATED.test(text.slice(0, found.index))) return [];
    const line = index + 1;
    return [{ at: { file, line }, more: goesOn ? [{ file, line: line + 1 }] : [] }];
  });
}

export const WHOLES: readonly Rule[] = [
  {
    id: 'F20',
    title: 'What is done to all documents of something is finished after a stop',
    severity: 'warning',
    source: SOURCES.microsoft('Transactional batch operations in Azure Cosmos DB'),
    why: 'A batch has at most 100 operations and one partition key (ASM-E13). "Deleting a category moves its entries" is many requests, and the program can stop after any of them: then a part has moved, and who asks in the meantime sees both. The rule reads sentences about a delete that cascades, or that first moves or deletes what belongs to it, such as "deleting a file deletes its parts". It accepts a text beside them that says how it goes on: a job that can be resumed, pages, the change feed, a mark first.',
    hint: 'Mark the parent first (a state that everyone respects), let a job or a handler of the change feed work through the rest by a query, and delete the parent last.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = sentences(design).filter(({ at }) => !RELATIONAL.test(design.lines[at.line - 1] ?? ''));
      if (all.length === 0) {
        yield missing('a sentence about a delete of all that belongs to something');
        return;
      }
      const open = all.filter(({ at }) => !FINISHED.test(textAround(design, at.line, NEAR)));
      yield* together(
        open,
        `A delete takes many requests, no transaction has them all, and nothing is said to finish them after a stop: ${wordsOf(design, open)}`,
        open.flatMap(({ more }) => more),
      );
    },
  },
];
