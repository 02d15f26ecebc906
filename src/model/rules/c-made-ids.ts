// C36 and A20: ids that are made of values.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { declaredIn } from './declared.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { textAround, wordsOf } from './said.ts';

interface Template {
  /** `order:{}`: what is fixed. */
  readonly form: string;
  readonly parts: readonly string[];
  readonly at: Place;
}

const QUOTED = /[`"'](?<made>[^`"'\s/]*\$?[{<]\w[\w.*-]*[}>][^`"'\s/]*)[`"']/g;
const PART = /\$?[{<](?<name>\w[\w.*-]*)[}>]/g;
/** The line, or the one above, says that this is an id. */
const OF_ID = /\bids?\b|_id\b|\bpoint[- ]read|\bbatch\b/i;
const OF_ELSE = /\b(?:cache|redis|blob|topic|channel|route|url|endpoint|queue|room|container name|database name)\b/i;

/** All templates of ids: `order:{number}`, `{storeId}|{day}`. */
function templatesIn(design: Design): Template[] {
  return design.lines.flatMap((text, index): Template[] => {
    if (text.length > 600 || !/[{<]\w/.test(text) || OF_ELSE.test(text)) return [];
    const line = index + 1;
    if (!OF_ID.test(textAround(design, line, 3, 0))) return [];
    return [...text.matchAll(QUOTED)].map(({ groups: { made = '' } = {} }) => ({
      form: made.replaceAll(PART, '{}'),
      parts: [...made.matchAll(PART)].map(({ groups: { name = '' } = {} }) => name.split('*')[0] ?? name),
      at: { file: design.file, line },
    }));
  });
}

const FREE_NAME =
  /^(?:name|title|label|url|link|path|file_?name|description|text|query|subject|category_?name)$|[a-z](?:Name|Title|Url|Path|Text|Query)$/;
const FREE =
  /\bfree[- ]text\b|\bas[- ]is\b|\bas typed\b|\buser[- ](?:entered|supplied|provided|defined)\b|\bany string\b|\bvariant string\b/i;
const EMPTY = /\|\s*null\b|\bnullable\b|\boptional\b|\w\?\s*[:—–-]/i;
const SAFE = /\b(?:encod|hash|slug|saniti[sz]|escap|normali[sz]|sha-?\d|base64)\w*/i;

/** What has slashes in it wherever it comes from. */
const SLASHED = /^(?:(?:file|blob|full|relative)_?)?(?:path|url|uri)$|(?:File|Blob)(?:Path|Url)$/i;

/** What is wrong with a part of an id, and the line that shows it. */
function faultOf(design: Design, name: string, made: Place): { readonly why: string; readonly at: Place } | undefined {
  const declared = declaredIn(design).filter(({ field }) => field === name);
  const saying = (words: RegExp): Place | undefined =>
    declared.find(({ at }) => words.test(design.lines[at.line - 1] ?? ''))?.at;
  const free = saying(FREE);
  if (free) return { why: `${name} is free text`, at: free };
  const empty = saying(EMPTY) ?? declared.find(({ optional }) => optional)?.at;
  if (empty) return { why: `${name} may be null`, at: empty };
  const [first] = declared;
  if (SLASHED.test(name) && /\bid\b/i.test(design.lines[made.line - 1] ?? ''))
    return { why: `${name} has slashes`, at: made };
  return FREE_NAME.test(name) && first ? { why: `${name} is free text`, at: first.at } : undefined;
}

/** Another name for the same: `id` of `userId`. */
const GENERIC = /^(?:id|uuid|guid|key|hash|value|n|x|date|timestamp|seq\w*)$/i;
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_.-]/g, '');
const differs = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length &&
  one.some((name, index) => {
    const [a, b] = [plain(name), plain(other[index] ?? '')];
    return !GENERIC.test(a) && !GENERIC.test(b) && !a.endsWith(b) && !b.endsWith(a);
  });

export const MADE_IDS: readonly Rule[] = [
  {
    id: 'C36',
    title: 'An id is made of values that an id can have',
    severity: 'warning',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas'),
    why: 'An id has no / \\ # ? (C11), and a part that is null or absent is written as a word or as nothing, so two things get one id, or one thing two. A name, a title or a text of another system has such characters one day ("1/2 l", "#9"), and then the create fails or the document can’t be read. The rule reads ids made of fields in braces (`{itemId}|{label}`), and the declarations of these fields. It accepts a word of encoding beside the id.',
    hint: 'Encode the part (percent encoding or a hash), write a fixed word for null, and say so beside the id.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = templatesIn(design).filter(({ parts }) => parts.length > 1);
      if (all.length === 0) {
        yield missing('an id that is made of fields');
        return;
      }
      const found = all.flatMap(({ parts, at }) => {
        if (SAFE.test(textAround(design, at.line, 1))) return [];
        const faults = parts.flatMap((name) => faultOf(design, name, at) ?? []);
        return faults.length === 0 ? [] : [{ at, faults }];
      });
      const faults = found.flatMap((one) => one.faults);
      yield* together(
        found,
        `An id is made of what an id can’t hold, in ${wordsOf(design, found)}: ${[...new Set(faults.map(({ why }) => why))].join(', ')}`,
        faults.map(({ at }) => at),
      );
    },
  },
  {
    id: 'A20',
    title: 'An id is made in one way',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A program that writes `order:{orderNumber}` and another that reads `order:{requestId}` miss one another: the point read finds nothing, and a create that should be refused as a repetition succeeds. The rule compares ids with the same fixed text whose fields in braces have other names. It passes over names such as `id`, and over ids of caches, topics and addresses.',
    hint: 'Write which field it is, in each place.',
    needs: [DESIGN],
    *check({ design }): Iterable<RuleResult> {
      if (!design) return;
      const all = templatesIn(design).filter(({ form }) => /[a-z]{2}/i.test(form));
      if (all.length === 0) {
        yield missing('an id with a fixed text and a field in braces');
        return;
      }
      for (const [form, same] of Map.groupBy(all, (one) => one.form)) {
        const [first] = same;
        const other = same.find((one) => first && differs(first.parts, one.parts));
        if (first && other)
          yield {
            message: `${form} is made of ${first.parts.join(', ')} here, and of ${other.parts.join(', ')} in line ${other.at.line}`,
            at: first.at,
            related: same.filter((one) => one !== first).map(({ at }) => at),
          };
      }
    },
  },
];
