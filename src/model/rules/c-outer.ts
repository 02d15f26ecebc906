// C35: numbers that another system gives, beside an id by chance.
import type { ContainerDetail, Design } from '../documents.ts';
import { declaredOf } from './declared.ts';
import { examplesIn } from './facts.ts';
import type { Field } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid, linesSaying } from './said.ts';

const NAMED = /^(?:external|source|remote|upstream|legacy|third_?party|vendor)_?(?:id|key|ref(?:erence)?|number)$/i;
/** "External ticket ID from source system". */
const DESCRIBED =
  /\b(?:external|source system|upstream|third[- ]party|legacy)\b[^|]{0,40}\b(?:id|identifier|number|key|reference)\b|\b(?:id|identifier|number|key|reference)\b[^|]{0,40}\b(?:from|in|of) (?:the |an? )?(?:external|source|upstream|third[- ]party|legacy)\b/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-|^(?:<|\{)?(?:uuid|guid)\b/i;
const REFUSED =
  /\bunique[- ]keys?\b|\bdeterministic\b|\bidempoten|\bde-?dup\w* by\b|\breserv|\bupsert\w* by\b|\bif-none-match\b/i;

function outer(design: Design, detail: ContainerDetail): Field | undefined {
  const { container } = detail;
  const shown = examplesIn(container);
  const unique = new Set((container.uniqueKeys ?? []).flatMap(({ paths }) => paths));
  const isRandom = shown.length > 0 && shown.every(({ id }) => typeof id === 'string' && UUID.test(id));
  return isRandom
    ? declaredOf(design, detail).find(
        ({ field, at }) =>
          field !== 'id' &&
          !unique.has(`/${field}`) &&
          !container.partitionKey.includes(`/${field}`) &&
          (NAMED.test(field) || DESCRIBED.test(design.lines[at.line - 1] ?? '')),
      )
    : undefined;
}

export const OUTER: readonly Rule[] = [
  {
    id: 'C35',
    title: 'What another system has numbered is found again by its number',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Unique key constraints in Azure Cosmos DB')}`,
    why: 'What comes from another system comes again: after a failed run, by a second file, by a webhook that is sent twice. With a UUID as the id the second import makes a second document, and a unique key would only hold within one partition key (ASM-E135). The rule looks for a field that is called or described as the number of another system, in documents whose ids are UUIDs. It accepts a unique key, and a text about the container that names what refuses the second.',
    hint: 'Make the id of the other system and its number (`jira|4711`), and upsert by it.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const all = containers.flatMap((detail) => {
        const field = detail.derived ? undefined : outer(design, detail);
        return field ? [{ ...field, detail }] : [];
      });
      if (all.length === 0) {
        yield missing('a number of another system beside an id by chance');
        return;
      }
      const open = all.filter(
        ({ detail, field }) =>
          !isSaid(design, detail, REFUSED) && !linesSaying(design, REFUSED).some(([, text]) => text.includes(field)),
      );
      yield* together(
        open,
        `${open.map(({ detail, field }) => `${detail.container.name} by ${field}`).join(', ')}: with a UUID as the id a second import makes a second document`,
      );
    },
  },
];
