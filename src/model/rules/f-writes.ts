// F24 to F26: what the requirements ask of a write, against the row that does it, and what an erased document still shows.
import type { ContainerDetail, Operation } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Access, type Facts, examplesIn, fieldsIn } from './facts.ts';
import { MARKED } from './f-removed.ts';
import { type Rule, type RuleResult, DESIGN, MAPPING, PATTERNS, SOURCES, missing, quoted } from './rule.ts';

const CONDITION =
  /\bif-?match\b|\be-?tags?\b|\boptimistic (?:concurrency|lock\w*|control)|\bconditional (?:writes?|replaces?|updates?|patch(?:es)?|deletes?|puts?)\b/i;
const DENIED =
  /\b(?:no|not|without|instead of|doesn['’]t need|don['’]t need)\b[^.;]{0,25}(?:if-?match|e-?tag|optimistic|condition)|(?:if-?match|e-?tag|optimistic|condition)[^.;]{0,40}\b(?:unnecessary|not (?:needed|necessary|required))\b/i;
/** What decides between two writers without an ETag. */
const GUARDED =
  /\bbatch|\btransaction|\bstored procedure|\bcreates?\b|\binsert|\bif-?none-?match|\bfilter ?predicate|\bcondition|\bincr(?:ements?)?\b/i;
/** A sentence of writes; "every answer has an ETag" is none. */
const WRITING = /\b(?:writ|updat|replac|patch|upsert|delet|modif)/i;
const WRITES: ReadonlySet<Operation> = new Set(['replace', 'patch', 'upsert', 'delete']);

const asked = ({ pattern }: Access): string =>
  pattern ? `${pattern.description} ; ${pattern.requirements} ; ${pattern.considerations}` : '';
const done = ({ row }: Access): string => `${row.operationText} ; ${row.notes}`;

/** Considerations that name an operation and nothing else, and what isn't it. */
const ONE: Readonly<Record<string, { readonly is: Operation; readonly not: readonly Operation[] }>> = {
  create: { is: 'create', not: ['upsert', 'replace'] },
  replace: { is: 'replace', not: ['upsert'] },
  'point read': { is: 'point-read', not: ['query', 'cross-partition'] },
};

const MARKER = /^(?:is_?)?deleted(?:_?at|_?on)?$|^removed_?at$|^erased_?at$|^anonymi[sz]ed_?at$/i;
const OVERWRITTEN =
  /(?<fields>[^.;]{3,80}?)\b(?:is|are|be|gets?)\s+(?:\w+ly\s+)?(?:overwritten|erased|anonymi[sz]ed|redacted|blanked|cleared|masked|scrubbed)\b/gi;
/** What few sentences have; the whole expression tries every word of every sentence. */
const ANY = /overwritten|erased|anonymi|redacted|blanked|cleared|masked|scrubbed/i;
const ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const PHONE = /^\+\d[\d ()/-]{6,}$/;
const ERASED = /erased|deleted|anonym|redact|removed|unknown|invalid|noreply|^x+@/i;

interface Kept {
  readonly field: string;
  readonly value: string;
  readonly at: Place;
  readonly from: Place;
}

/** "The email stays, only the name": the name; of a list with "and" all; none of those that aren't overwritten. */
function named(said: string): string {
  const last = said.slice(said.lastIndexOf(',') + 1);
  const group = /\band\b/i.test(last) ? said : last;
  return /\b(?:not|never|stays?|kept)\b|n['’]t\b/i.test(group) ? '' : group;
}

/** Fields that the container's text says are overwritten when a document is marked. */
function overwritten({ container, prose }: ContainerDetail): { field: string; at: Place }[] {
  const said = prose.filter(({ text }) => ANY.test(text));
  if (said.length === 0) return [];
  const fields = [...fieldsIn(container)].filter((field) => !MARKER.test(field));
  return said.flatMap(({ text, at }) =>
    [...text.matchAll(OVERWRITTEN)].flatMap(({ groups }) => {
      const group = new Set(named(groups?.['fields'] ?? '').match(/[\w$]+/g));
      return fields.filter((field) => group.has(field)).map((field) => ({ field, at }));
    }),
  );
}

function keptIn(facts: Facts, detail: ContainerDetail): Kept[] {
  const marked = examplesIn(detail.container).filter((example) =>
    Object.keys(example).some((name) => MARKER.test(name) && Boolean(example[name])),
  );
  return overwritten(detail).flatMap(({ field, at: from }) =>
    marked.flatMap((example): Kept[] => {
      const value = example[field];
      const isKept = typeof value === 'string' && (ADDRESS.test(value) || PHONE.test(value)) && !ERASED.test(value);
      return isKept ? [{ field, value, at: facts.field(example, field, detail.container.at), from }] : [];
    }),
  );
}

export const WRITE_RULES: readonly Rule[] = [
  {
    id: 'F24',
    title: 'A row writes under the condition, and by the operation, that its pattern asks for',
    severity: 'error',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'A replace with If-Match fails if another one has changed the document since it was read. An upsert or a replace without it writes the whole document back as it was read, and the other change is lost; no answer shows it. The requirements ask for the condition ("replace with If-Match", "optimistic concurrency"), and the row must have it. If the considerations of a pattern are "create", "replace" or "point read" alone, the row must have this operation: an upsert instead of a create overwrites what is there, and instead of a replace it brings a deleted document back.',
    hint: 'Write the condition beside the operation: `Replace with If-Match`. Or correct the requirement.',
    needs: [DESIGN, MAPPING, PATTERNS],
    *check(facts): Iterable<RuleResult> {
      const isSaidOfAll = (facts.design?.prose ?? []).some(
        ({ text }) => /\b(?:all|every|each)\b/i.test(text) && CONDITION.test(text) && WRITING.test(text),
      );
      for (const access of facts.accesses) {
        const { pattern, row } = access;
        if (!pattern || row.operations.length === 0) continue;
        const wanted = asked(access);
        const of = { at: row.at, related: [pattern.at], words: quoted(row.operationText, 30) };
        const isOpen = row.operations.some((one) => WRITES.has(one)) && !GUARDED.test(done(access));
        if (!isSaidOfAll && CONDITION.test(wanted) && !DENIED.test(wanted) && isOpen && !CONDITION.test(done(access)))
          yield {
            ...of,
            message: `Pattern ${pattern.printed} asks for a condition, but row ${row.printed} writes without one: ${quoted(row.operationText)}`,
          };
        const one = ONE[pattern.considerations.toLowerCase().replaceAll(/[.`*]/g, '').trim()];
        if (one && !row.operations.includes(one.is) && row.operations.some((operation) => one.not.includes(operation)))
          yield {
            ...of,
            severity: 'warning',
            message: `Pattern ${pattern.printed} asks for "${pattern.considerations.trim()}", but row ${row.printed} does: ${quoted(row.operationText)}`,
          };
      }
    },
  },
  {
    id: 'F25',
    title: 'What the requirements only mark as deleted isn’t deleted',
    severity: 'error',
    source: SOURCES.feed,
    why: 'A pattern marks a document as deleted because the latest-version feed shows no deletes, or because it must come back. A delete in its row removes the document: copies, sums and search keep it for good. A pattern that purges or removes is passed over. Whether another example shows a marker doesn’t help this row.',
    hint: 'Write the mark in the row: `Replace with deletedAt and ttl`. Or correct the requirement.',
    needs: [DESIGN, MAPPING, PATTERNS],
    *check(facts): Iterable<RuleResult> {
      const marking = facts.accesses.filter(({ pattern }) => {
        const text = pattern ? `${pattern.description} ${pattern.requirements} ${pattern.considerations}` : '';
        const names = (pattern?.attributes ?? '').split(/[^\w]+/);
        return (
          !/\bpurg|\bhard[- ]?delet|\bremov/i.test(pattern?.description ?? '') &&
          ((MARKED.test(text) && !/\b(?:no|not|without)\b[^.;]{0,12}soft/i.test(text)) ||
            names.some((name) => MARKER.test(name) && name !== 'deleted'))
        );
      });
      if (marking.length === 0) yield missing('a pattern with a soft delete');
      for (const { pattern, row } of marking)
        if (
          pattern &&
          row.operations.includes('delete') &&
          !/\bsoft\b|\bmark|deleted_?at|is_?deleted|\bttl\b|\bpurge|\breplace|\bpatch|\bupsert/i.test(
            `${row.operationText} ${row.notes}`,
          )
        )
          yield {
            message: `Pattern ${pattern.printed} marks the document as deleted, but row ${row.printed} deletes it`,
            at: row.at,
            related: [pattern.at],
            words: quoted(row.operationText, 30),
          };
    },
  },
  {
    id: 'F26',
    title: 'An erased document shows no address that its text says is overwritten',
    severity: 'error',
    source: SOURCES.ours,
    why: 'A request to erase somebody’s data isn’t fulfilled while the marked document still has the e-mail address or the telephone number. It stays until the document expires, and every reader of the feed gets it. The rule reads "name and email are overwritten" beside a container, and looks at these fields in examples with a mark such as `deletedAt`.',
    hint: 'Overwrite the field in the same write that sets the mark, and show that in the example.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      if (facts.containers.every((detail) => overwritten(detail).length === 0))
        yield missing('a field that is said to be overwritten');
      for (const detail of facts.containers)
        for (const { field, value, at, from } of keptIn(facts, detail))
          yield {
            message: `${field} of ${detail.container.name} is said to be overwritten, but a marked example has ${value}`,
            at,
            related: [from],
            words: value,
          };
    },
  },
];
