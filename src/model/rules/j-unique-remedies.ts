// What a value that exists once is, for J20, and what would keep it so.
import { type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { accessesOf, covers as coversExactly, typeOf } from '../annotations/merged.ts';
import type { Place } from '../model.ts';

const lower = (fields: readonly string[]): string[] => fields.map((field) => field.toLowerCase());
/** A class has `FileUrl`, and its documents `fileUrl`. */
export const covers = (given: readonly string[], fields: readonly string[]): boolean =>
  coversExactly(lower(given), lower(fields));
export const sameFields = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && covers(a, b);

export interface Expected {
  readonly type: string;
  readonly fields: readonly string[];
  /** The scope in which the value is expected once, as any place states it. */
  readonly within: readonly string[];
  readonly by: ReadonlySet<string>;
  readonly places: readonly { readonly at: Place }[];
}

export interface Made {
  readonly from: readonly string[] | undefined;
  readonly random: boolean;
  readonly at: Place | undefined;
}

export interface Open extends Expected {
  readonly cause: 'check-first' | 'index' | 'partition' | 'random' | 'wider' | 'none';
  readonly container: string | undefined;
  readonly key: readonly string[] | undefined;
  /** A unique key could hold it where the documents are now. */
  readonly could: boolean;
  readonly id: Made;
  /** What the id has beside the value. */
  readonly further: readonly string[];
}

/** Whether a use is to put the new document over the one of before, as a second code for an e-mail. */
const overwrites = (annotations: Annotations, type: string): boolean =>
  accessesOf(annotations, type).some(({ operation }) => operation === 'upsert') ||
  annotations
    .of('flow')
    .some(({ steps }) => steps.some((step) => step.operation === 'upsert' && same(step.type, type)));

const pathsOf = (fields: readonly string[]): string =>
  fields.map((field) => `/${field.replaceAll('.', '/')}`).join(',');

/** What people enter: it may change, and may have characters that an id can't have. */
const FREE = /(?:name|title|label|path|url|text|subject|description|address|phrase)$/i;

const isFlag = (annotations: Annotations, { type, fields }: Expected): boolean =>
  fields.length === 1 &&
  typeOf(annotations, type)?.fields.some((field) => field.type === 'boolean' && covers(fields, [field.path])) === true;

/** "One version is published": a unique key would also allow only one that isn't. */
const flagHint = ({ type, fields, within }: Open): string =>
  `Name the ${type} whose ${fields.join(', ')} is true in a document with a fixed id${within.length > 0 ? ` for each ${within.join(', ')}` : ''}, and replace that with If-Match: there is only one then. No unique key on ${pathsOf(fields)}: it would allow only one that is false, too.`;

/** The fields of a unique key: the scope too, without what the partition key has already. */
function keyOf({ fields, within, key = [] }: Open): string {
  const own = key.map(fieldOf);
  const scope = [...within, ...fields].filter((field) => fields.includes(field) || !covers(own, [field]));
  return pathsOf(scope);
}

export function hintOf(annotations: Annotations, group: readonly Open[]): string {
  const [flags, others] = [
    group.filter((one) => isFlag(annotations, one)),
    group.filter((one) => !isFlag(annotations, one)),
  ];
  const first = others.find(({ could }) => !could) ?? others[0];
  return [...(first ? [valueHint(annotations, first, others)] : []), ...flags.map(flagHint)].join(' ');
}

function valueHint(annotations: Annotations, first: Open, group: readonly Open[]): string {
  const { type, fields, within, could, container } = first;
  const several = group.length > 1;
  const value = several ? 'the value' : [...within, ...fields].join(', ');
  const free = group.some((one) => one.fields.some((field) => FREE.test(field)));
  const made = free ? `a hash of ${value} (an id can’t have / \\ ? #)` : value;
  const key = `${container ?? 'the container'} a unique key on ${[...new Set(group.map(keyOf))].join(' and one on ')} when it is created`;
  if (!could)
    return `Keep ${several ? 'for each of these fields ' : ''}a document whose id is made of ${made}, in a container with the key /id, and create it before the ${type}: the second create fails with 409. Delete it together with the ${type}.`;
  if (overwrites(annotations, type))
    return `Make the id of ${type} from ${made}: then an upsert replaces the document of before, and there is only one.`;
  // The id stays as it is, and what people enter may change.
  return free
    ? `Give ${key}; the id can stay as it is.`
    : `Make the id of ${type} from ${made} and create without upsert, so that the second create fails with 409; or give ${key}.`;
}
