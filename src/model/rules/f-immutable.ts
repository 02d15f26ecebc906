// F23: documents that are called immutable, and have fields that are written later.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { isIn, linesOf } from './declared.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

const IMMUTABLE =
  /\b(?:immutable|append[- ]only|write[- ]once|never (?:updated|changed|modified|rewritten)|no updates)\b/i;
const NOT_WHOLE = /\b(?:after|once|until|except|unless|partition key|ids? (?:is|are)|field|value|not)\b/i;
/** Times of a later write. */
const LATER =
  /^(?:updated|modified|last_?(?:updated|modified|changed)|override|overridden|update|resolved|reviewed|approved|completed|cancelled|closed|acknowledged)_?(?:at|on|timestamp|time|date)$/i;

/** The names in a document of what is written after it was created. */
function laterIn(value: unknown): string[] {
  return isObject(value)
    ? Object.entries(value).flatMap(([name, inner]) => [...(LATER.test(name) ? [name] : []), ...laterIn(inner)])
    : [];
}

/** The lines about a container with such a word. */
const claims = (design: Design, detail: ContainerDetail): { readonly at: Place; readonly text: string }[] => {
  const span = linesOf(design, detail);
  return linesSaying(design, IMMUTABLE)
    .filter(([line, text]) => isIn(span, line) || text.toLowerCase().includes(detail.container.name.toLowerCase()))
    .map(([line, text]) => ({ at: { file: design.file, line }, text }));
};

const writtenLater = (facts: Facts, { container }: ContainerDetail): { readonly field: string; readonly at: Place }[] =>
  examplesIn(container).flatMap((one) =>
    [...new Set(laterIn(one))].map((field) => ({ field, at: facts.field(one, field, container.at) })),
  );

export const IMMUTABLES: readonly Rule[] = [
  {
    id: 'F23',
    title: 'What is called immutable isn’t written again',
    severity: 'error',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'A log that is called immutable, and whose document has `overrideTimestamp` or `updatedAt`, is rewritten: the change feed’s latest version has lost what was there before, nothing shows who changed it, and the TTL of a document begins again with each write, so it stays longer than the policy says (ASM-E18). An auditor who relies on the sentence is misled. The rule compares such sentences about a container with the names of later times in its examples.',
    hint: 'Write each later event as a document of its own in the same partition (`eventType: "overridden"`), and read them together. Or delete the word, and write who may change what.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      let known = false;
      for (const detail of facts.containers) {
        const said = claims(design, detail);
        if (said.length === 0 || examplesIn(detail.container).length === 0) continue;
        known = true;
        const later = writtenLater(facts, detail);
        if (later.length > 0)
          yield* together(
            said.filter(({ text }) => !NOT_WHOLE.test(text)),
            `${detail.container.name}: called immutable, and its document has ${later.map(({ field }) => field).join(', ')}, which are written later`,
            later.map(({ at }) => at),
          );
      }
      if (!known) yield missing('a container that is called immutable');
    },
  },
];
