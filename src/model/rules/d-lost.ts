// D20 and D21: a list that two requests write back, and a view that a program fills and never clears.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import type { DocumentType, Place } from '../model.ts';
import { declaredOf } from './declared.ts';
import { namedLike } from '../reader/owners.ts';
import { GROWING } from './d-growth.ts';
import { type Facts, examplesIn } from './facts.ts';
import type { Field } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';
import { fencedIn } from './fenced.ts';

/** Anything that lets one of two requests know of the other, wherever the document has it. */
const GUARDED =
  /\be-?tags?\b|\bif-match\b|\boptimistic|\bconcurren\w+ (?:control|update|write|edit)s?\b|\bpatch(?:es|ing)?\b|\bpatch_?item|\bstored procedure|\bsingle[- ]writer\b|\blast[- ]write(?:r)?[- ]wins\b|\bsession lock|\bappend[- ]only\b/i;
/** A field of an example, or an address, guards nothing. */
const NO_GUARD = /["'/]_?etag|^\W*\**`?PATCH\b|\bPATCH `?\/|\|\s*`?PATCH\b/;
const CHANGES =
  /\b(?:append(?:s|ed|ing)?|add(?:s|ed|ing)|upsert(?:s|ed|ing)?|replac(?:es?|ed|ing)|updat(?:es?|ed|ing)|sav(?:es?|ed|ing))\b/i;

/** Lists of objects, or of what is added one by one. */
function listsIn(facts: Facts, detail: ContainerDetail, types: readonly DocumentType[]): Field[] {
  const { container } = detail;
  const shown = examplesIn(container).flatMap((one) =>
    Object.entries(one)
      .filter(
        ([field, value]) => Array.isArray(value) && (GROWING.test(field) || value.some((element) => isObject(element))),
      )
      .map(([field]) => ({ field, at: facts.field(one, field, container.at) })),
  );
  const declared = facts.design ? declaredOf(facts.design, detail) : [];
  // What the text says of components is of the documents `component`, not of a list of them.
  return [...shown, ...declared.filter(({ array, field }) => array && GROWING.test(field))].filter(
    ({ field }) => namedLike(field, types) === undefined,
  );
}

/** The lines that say that the list, or the document that has it, is changed. */
function changesOf(design: Design, { container }: ContainerDetail, lists: readonly Field[]): Place[] {
  const fields = [...new Set(lists.map(({ field }) => field))];
  // Of several types, those whose documents have the list.
  const owners =
    container.types.length > 1
      ? container.types.filter(({ examples }) => examples.some((one) => fields.some((field) => field in one)))
      : [container];
  const names = [...fields, ...owners.map(({ name }) => name.replace(/s$/i, ''))];
  const of = new RegExp(
    String.raw`(?:^|[^\w/])(?:${names.map((name) => name.replaceAll(/\W/g, '.')).join('|')})s?\b`,
    'i',
  );
  return linesSaying(design, CHANGES).flatMap(([line, text]) =>
    text.length <= 400 && !/^\s*(?:[#"]|```)/.test(text) && of.test(text) ? [{ file: design.file, line }] : [],
  );
}

/** So many lines about changes are enough. */
const SHOWN = 5;

/** A document for each person, thing or talk that is in use at several places at the same time. */
const changedIn = (facts: Facts, design: Design) => {
  // Without a type, documents are called like their container.
  const types = facts.containers.flatMap(({ container }) =>
    container.types.filter(({ name }) => name !== container.name.toLowerCase()),
  );
  return facts.containers.flatMap((detail) => {
    if (detail.derived) return [];
    const lists = listsIn(facts, detail, types);
    const changes = lists.length === 0 ? [] : changesOf(design, detail, lists);
    // The one of which the text speaks, or one that grows.
    const list =
      lists.find(({ field }) => changes.some(({ line }) => design.lines[line - 1]?.includes(field))) ??
      lists.find(({ field }) => GROWING.test(field)) ??
      lists[0];
    return changes.length === 0 || !list ? [] : [{ detail, list, changes }];
  });
};

const HANDLES = /\bchange[- _]?feed|CosmosDBTrigger|\b\w*changes\b/i;
const FILLS = /\bupsert(?:_?item)?(?:Async)?\s*[(<]/i;
const CLEARS = /\bdelete\w*\s*[(<]|\bremove\w*\s*[(<]|\bttl\b|isDeleted|\bdeleted\b/i;
const A_VIEW = /\b(?:materiali[sz]ed|read[- ]?model|view|lookup|index container|denormali[sz]\w*)/i;

/** Programs that fill a view from changes by upserts. */
function filledIn({ lines, file }: Design): { at: Place; from: Place; clears: boolean }[] {
  return fencedIn(lines).flatMap(({ begin, block }) => {
    const text = block.join('\n');
    const above = lines.slice(Math.max(0, begin - 4), begin).join('\n');
    const upsert = block.findIndex((line) => FILLS.test(line));
    const from = block.findIndex((line) => HANDLES.test(line));
    return upsert < 0 || from < 0 || !/change[- ]?feed/i.test(above + text) || !A_VIEW.test(above + text)
      ? []
      : [
          {
            at: { file, line: begin + 2 + upsert },
            from: { file, line: begin + 2 + from },
            clears: CLEARS.test(text),
          },
        ];
  });
}

const REMOVES =
  /\b(?:delet|remov|clear|clean)\w*\b[^.|]{0,60}\b(?:view|views|read models?|old entr(?:y|ies)|stale|copies)\b|\bsoft[- ]?delet|\btombstone|\brebuil[dt]/i;

export const LOST: readonly Rule[] = [
  {
    id: 'D20',
    title: 'A list in a document is changed under a condition, or by a patch',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'To add an element, a program reads the document, changes the list and writes the whole back. Two requests that do so at the same time both read the old list, and the second write removes what the first has added: a message, a line of a cart, a step of a history. The service reports nothing. A replace with the ETag of what was read fails instead (ASM-E137), and a patch adds an element without the rest (ASM-E155). The rule looks at containers with a list of objects, or of what is added one by one, whose text says that it is changed. It is silent if any sentence names an ETag, a patch or another way.',
    hint: 'Write beside the container how it is changed: "replace with If-Match, and read again after 412", or "patch: add at the end of the list". Or store each element as a document of its own.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = changedIn(facts, design);
      if (all.length === 0) {
        yield missing('a list in a document that is changed');
        return;
      }
      if (linesSaying(design, GUARDED).some(([, text]) => !NO_GUARD.test(text))) return;
      const names = all.map(({ detail, list }) => `${list.field} of ${detail.container.name}`);
      yield* together(
        all.flatMap(({ changes }) => changes.slice(0, 1).map((at) => ({ at }))),
        `Two requests that read ${names.join(', ')}, change the list and write it back lose one change, and nothing stops them`,
        all.flatMap(({ list, changes }) => [...changes.slice(1, SHOWN), list.at]),
      );
    },
  },
  {
    id: 'D21',
    title: 'A view that a program fills from the feed loses what no longer belongs into it',
    severity: 'warning',
    source: SOURCES.feed,
    why: 'A program that only upserts what the feed shows never removes a row. The feed shows no delete, and a document that moves to another group leaves its row under the old one, because the feed doesn’t show what the document was before. So readers find things that are gone. The rule reads programs that take changes and upsert into a view, without a delete, a mark or a TTL, in a document in which no sentence says what removes such rows.',
    hint: 'Mark deletes in the source (`deletedAt` and a ttl), and keep beside the view which rows a document has, so that the handler deletes the others. A projection of Millrace does both.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = filledIn(design);
      if (all.length === 0) {
        yield missing('a program that fills a view from the feed');
        return;
      }
      if (linesSaying(design, REMOVES).length > 0) return;
      const open = all.filter(({ clears }) => !clears);
      yield* together(
        open,
        'A program that fills a view only adds rows: what is deleted, or moves to another group, stays in the view',
        open.map(({ from }) => from),
      );
    },
  },
];
