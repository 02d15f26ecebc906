// C27 and C29: a key that is kept twice, and a check that two requests pass at the same time.
import type { ContainerDetail } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Field, fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more, together } from './rule.ts';
import { linesSaying, textAround, wordsOf } from './said.ts';
import { saying } from './service.ts';

const COPY = /^_?(?:partition_?key|pk|partition_?id)$/i;

/** A field that is called the key, in documents whose key is another path. */
function secondKey(facts: Facts, detail: ContainerDetail): Field | undefined {
  const { partitionKey } = detail.container;
  const [first] = partitionKey;
  if (first === undefined || partitionKey.some((path) => COPY.test(path.slice(1)))) return undefined;
  const examples = examplesIn(detail.container);
  return fieldsOf(facts, detail).find(({ field, at }) => {
    if (!COPY.test(field)) return false;
    const shown = examples.filter((one) => field in one);
    // A definition of the container is no document; nor is a row of labels.
    const text = facts.design?.lines[at.line - 1] ?? '';
    return shown.length > 0
      ? shown.every((one) => typeof one[field] === 'string' && !one[field].startsWith('/'))
      : !/['"`|]\s*\/\w|paths|PartitionKey\(|[{(]\s*$/.test(text);
  });
}

const WRITTEN = /^\s*["']?(?:partition_?key|pk)["']?\s*:\s*(?<value>[A-Za-z_][\w.]*)\s*,?\s*$/i;
/** So many lines around it are the same object. */
const WITHIN = 4;

/** `partitionKey: date` beside `date: date`, in a program that writes documents whose key is another path. */
function writtenTwice({ design, containers }: Facts): { readonly at: Place; readonly key: string }[] {
  if (!design || containers.some(({ container }) => container.partitionKey.some((path) => COPY.test(path.slice(1)))))
    return [];
  return linesSaying(design, WRITTEN).flatMap(([line, text]) => {
    const value = WRITTEN.exec(text)?.groups?.['value'] ?? '';
    const near = textAround(design, line, WITHIN).split('\n');
    const found = containers.find(({ container }) => {
      const [, field = ''] = container.partitionKey[0]?.split('/') ?? [];
      return near.some((one) => new RegExp(String.raw`^\s*["']?${field}["']?\s*:\s*${value}\s*,?\s*$`).test(one));
    });
    return found ? [{ at: { file: design.file, line }, key: found.container.partitionKey.join(', ') }] : [];
  });
}

const CHECKED =
  /\b(?:check(?:s|ed|ing)?|quer(?:y|ies)|look(?:s|ed)? up|verif(?:y|ies)|ensures?)\b[^.|]{0,60}\b(?:exist\w*|duplicat\w*|already|unique\w*|taken)\b[^.|]{0,60}\bbefore\b[^.|]{0,30}\b(?:creat|insert|writ|add|sav|regist|upload)|\bduplicate[- ]\w+(?:[- ]\w+)? (?:checks?|detection|prevention)\b|\b(?:prevents?|rejects?|avoids?)\b[^.|]{0,20}\bduplicates?\b[^.|]{0,60}\b(?:by|via|with|using) (?:a |an )?(?:quer|check|look)|\b(?:only )?one (?:active|open|pending)\b[^.|]{0,40}\bper\b|\b(?:max(?:imum)?|highest|latest|last)\b[^.|]{0,40}\b(?:number|sequence|version)\b[^.|]{0,20}\+ ?1\b/i;
/** Whoever removes them afterwards has nothing that refuses them. */
const AFTERWARDS =
  /\bduplicates?\b[^.|]{0,20}\b(?:run|script|job|clean\w*)\b|\b(?:run|script|job)\b[^.|]{0,60}\b(?:de-?dup\w*|duplicates?)\b|\bde-?dup\w*[- ](?:script|job|run)s?\b/i;
/** What makes a second write fail. */
const ENFORCED =
  /\bunique[- ]keys?\b|\buniqueKey|\bdeterministic\b|\bif-none-match\b|\bidempoten|\breserv|\b409\b|\bconflict\b|\betag\b|\bid (?:is|=|of|format)\b|\bcomposite id\b|\bcreateItem\b|\bstored procedure\b|\btransactional batch/i;
/** A field that says which documents are the same, by its name. */
const KEY_OF_ONE = /(?:["'`]|\b)(?:coalesce|coalescing|dedup(?:e|lication)?)_?(?:Key|Hash|Id)\b/i;
const REFUSES = new RegExp(
  String.raw`${ENFORCED.source}|\bid\b[^.|]{0,20}\b(?:derived|made) (?:from|of)|\bas (?:the |its )?id\b|\bupsert`,
  'i',
);
/** So many lines around the sentence belong to it. */
const NEAR = 6;

export const DOUBLED: readonly Rule[] = [
  {
    id: 'C27',
    title: 'Documents have the partition key once',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A field such as `partitionKey` in documents whose container has another path as its key is read by no request. Either it is a second copy of the key, which each write must keep equal, or the path is wrong: then every document has the same undefined key. The rule reads examples and declarations, and objects in programs that have one value under both names.',
    hint: 'Delete the field, or make its path the key of the container.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const found = facts.containers.flatMap((detail) => {
        const field = secondKey(facts, detail);
        return field ? [{ detail, ...field }] : [];
      });
      const twice = writtenTwice(facts);
      yield* together(
        twice,
        `A program writes the value of the key ${twice[0]?.key ?? ''} a second time, in a field that is called the key`,
      );
      const [first, ...others] = found;
      if (first)
        yield {
          message: `${first.detail.container.name}${more(others.length)}: documents have ${first.field} beside the key ${first.detail.container.partitionKey.join(', ')}`,
          at: first.at,
          related: [facts.place(first.detail, 'partitionKey'), ...others.map(({ at }) => at)],
        };
    },
  },
  {
    id: 'C29',
    title: 'What may exist once is ensured by an id or a unique key, not by a look before the write',
    severity: 'warning',
    source: SOURCES.microsoft('Unique key constraints in Azure Cosmos DB'),
    why: 'Two requests look at the same time, both find nothing, and both write. The same holds for the next number that is worked out from the last. What a job removes afterwards was counted before. Only an id that is made of what must be unique, a unique key within the partition, or a condition on the write decides between them. The rule reads sentences about such a look, or about a script that removes duplicates, and fields such as `coalesceKey` and `dedupKey`, and accepts a text beside them that names what refuses the second write.',
    hint: 'Make the id of the values that must be unique, and create the document: the second create fails with 409.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = saying(design, CHECKED);
      const keys = saying(design, KEY_OF_ONE);
      const fields = keys.filter(({ at }) => !REFUSES.test(textAround(design, at.line, NEAR))).slice(0, 1);
      yield* together(
        fields,
        `Two requests at the same time make two documents with one value of a field, and nothing refuses the second: ${wordsOf(design, fields)}`,
      );
      const cleaned = saying(design, AFTERWARDS);
      if (all.length + cleaned.length + keys.length === 0) {
        yield missing('a sentence about a check before a write');
        return;
      }
      const open = all.filter(({ at }) => !ENFORCED.test(textAround(design, at.line, NEAR)));
      yield* together(
        open,
        `Two requests at the same time both pass a check before the write, and both write: ${wordsOf(design, open)}`,
      );
      yield* together(
        cleaned.filter(({ at }) => !ENFORCED.test(textAround(design, at.line, 1))),
        'Duplicates are removed afterwards: nothing refuses them, and until then every sum counts them twice',
      );
    },
  },
];
