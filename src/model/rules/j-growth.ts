// J28 and J38: documents that grow until the service refuses them, and lists that return them whole.
import { type Annotation, type Annotations, same, sameField } from '../annotations/annotations.ts';
import {
  type TypeField,
  type WholeType,
  accessesOf,
  article,
  hasPurpose,
  listed,
  outerOf,
  typesOf,
} from '../annotations/merged.ts';
import { isExisting, isSmall as annotatedSmall } from '../annotations/scale.ts';
import { PROFILES } from '../estimate.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

/** Lists that stay small although they may grow: what a person sets or has. Ids take little room. */
const SMALL =
  /^(?:pets?|favou?rites?\w*|tags?|labels?|roles?|\w*address(?:es)?|phones?|emails?|images?|photos?|\w*preferences?|settings?|languages?|permissions?|amenities|categories|skills|certifications?|devices?|links?|urls?|options?|attributes?|partitions|months|years|dates|\w*_?ids)$/i;
/** Whether each day adds to it. The ids of members and followers are many. */
const isEndless = (path: string): boolean => {
  const last = path.split('.').at(-1) ?? '';
  return !SMALL.test(last) || /(?:member|follower|participant|message|event|post)\w*ids$/i.test(last);
};
/** Content whose size somebody else decides. */
const FOREIGN = /html|raw|body|payload|file|attachment|transcript|base64|binary|image|audio|video|content|dump|pdf/i;

interface Part {
  readonly type: WholeType;
  readonly field: TypeField;
  readonly at: Place;
}

const nameOf = ({ type, field }: Part): string => `${type.name}.${field.path}`;

/** The fields of stored documents. An element's own fields are the business of the list. */
const partsOf = (annotations: Annotations, which: (field: TypeField, type: WholeType) => boolean): Part[] =>
  typesOf(annotations)
    .filter(({ name }) => !outerOf(annotations, name))
    .flatMap((type) =>
      type.fields
        .filter((field) => !field.path.includes('[') && which(field, type))
        .map((field) => ({ type, field, at: field.at })),
    );

/** Where there are examples, the field is in one of them. An index may name a field that no document has. */
const isShown = ({ path }: TypeField, { examples }: WholeType): boolean =>
  examples.length === 0 || examples.some((example) => (path.split('.')[0] ?? path) in example);

const placesOf = (annotations: Annotations, parts: readonly Part[]): Place[] =>
  annotations
    .of('type')
    .filter(({ type, fields }) =>
      parts.some(
        (part) => same(part.type.name, type) && fields.some(({ path }) => path.replace('[]', '') === part.field.path),
      ),
    )
    .map(({ at }) => at);

/** What is over one day: its events end with it. */
const ENDS = /^(?:game|match|round|fixture|heat|puzzle|quiz|exam|lap|set)(?:s|state|session|result|data)?$/i;
const PERIOD =
  /(?:^|[._])(?:date|day|month|week|year|hour|period|bucket|window)(?:key|bucket)?$|(?:Date|Day|Month|Week|Year|Hour|Period|Bucket|Window)(?:Key)?$/;

/**
 * Whether the document ends before its list matters: its id has a date, so that each day begins another; it is of one game
 * or match; or the text bounds its size.
 */
function isBounded(annotations: Annotations, { name, container }: WholeType): boolean {
  const ids = annotations.of('id').filter(({ type }) => same(type, name));
  const byPeriod = ids.some(
    ({ from = [], format = '' }) =>
      from.some((field) => PERIOD.test(field)) || /(?:yyyy|\{?(?:date|day|month|week)\b)/i.test(format),
  );
  const bounded = annotations
    .of('scale')
    .some(
      ({ type, container: where, bytes, bounded: all }) =>
        all === true && bytes !== undefined && (same(type, name) || (type === undefined && same(where, container))),
    );
  return byPeriod || bounded || ENDS.test(name) || isExisting(annotations, { type: name });
}

/** What stands below "Non-goals" is named only to leave it out. */
function isNoGoal({ lines }: Annotations, { line }: Place): boolean {
  for (let at = line - 1; at >= 0; at--) {
    const heading = lines[at] ?? '';
    if (/^\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)/.test(heading))
      return /non-?goals?|out of scope|not in scope|deferred|exclu/i.test(heading);
  }
  return false;
}

function* growing(annotations: Annotations): Iterable<Found> {
  const all = partsOf(annotations, ({ grows, max }) => grows === true && max === undefined);
  const endless = all.filter(
    ({ field, type, at }) =>
      isEndless(field.path) &&
      !hasPurpose(type, 'lease') &&
      !isBounded(annotations, type) &&
      !isNoGoal(annotations, at),
  );
  if (endless.length === 0) return;
  const writers = endless.flatMap(({ type, field }) =>
    accessesOf(annotations, type.name).filter(({ sets = [] }) =>
      sets.some((one) => one === field.path || one.startsWith(`${field.path}[`)),
    ),
  );
  const one = endless.length === 1;
  yield* hinted(
    together(
      endless,
      `${listed(endless.map(nameOf))} grow${one ? 's' : ''} inside ${one ? 'one document' : 'a document each'} without an end: each element that is added rewrites the whole document and costs RU for all of it, and at 2 MB the service refuses the write`,
      [...placesOf(annotations, endless), ...writers.map(({ at }) => at)],
    ),
    `Write each element of ${listed(endless.map(nameOf))} as a document of its own, with ${listed(endless.map(({ type }) => `the id of its ${type.name}`))} as the partition key or a part of it; keep only the newest few in the ${listed(endless.map(({ type }) => type.name))}.`,
  );
}

function* large(annotations: Annotations): Iterable<Found> {
  const limited = annotations.of('limit').filter(({ limit }) => limit === 'item-size');
  const all = partsOf(
    annotations,
    (field, type) =>
      field.large === true &&
      field.type !== 'vector' &&
      field.type !== 'number' &&
      field.max === undefined &&
      isShown(field, type) &&
      !isBounded(annotations, type) &&
      (FOREIGN.test(field.path) || limited.length > 0 || hasPurpose(type, 'cache', 'result')),
  );
  if (all.length === 0) return;
  const write = PROFILES.microsoft.create(100_000);
  const one = all.length === 1;
  yield* hinted(
    together(
      all,
      `${listed(all.map((part) => `${nameOf(part)}${part.type.container === undefined ? '' : ` in ${part.type.container}`}`))} ${one ? 'is' : 'are'} large and ${one ? 'lies' : 'lie'} in the item itself, and no place says how large ${one ? 'it' : 'they'} can be: 100 KB take about ${n(write)} RU for each write without indexing, and above 2 MB the item is refused`,
      [...placesOf(annotations, all), ...limited.map(({ at }) => at)],
    ),
    `Keep ${listed(all.map(nameOf))} in Blob Storage, and only ${one ? 'its' : 'their'} address, size and hash in Cosmos DB; or state a limit, and what happens above it.`,
  );
}

/** "< 2 MB" of a type that has lists. */
function* assumed(annotations: Annotations): Iterable<Found> {
  for (const type of typesOf(annotations)) {
    const size = annotations
      .of('fact')
      .find(
        (fact) =>
          same(fact.of, type.name) &&
          /size/i.test(fact.property) &&
          /(?:^|\D)2 ?MB/i.test(`${fact.value} ${fact.unit ?? ''}`),
      );
    const lists = type.fields.filter(
      ({ path, type: kind, max, grows, large: isLarge }) =>
        !path.includes('[') && max === undefined && (kind === 'array' || grows === true || isLarge === true),
    );
    if (!size || lists.length === 0) continue;
    const names = listed(lists.map(({ path }) => path));
    yield* hinted(
      together(
        [size, ...lists],
        `${type.name} is assumed to stay below 2 MB, but ${names} ${lists.length === 1 ? 'has' : 'have'} no limit: one large source gives more, and then the write is refused and ${article(type.name)} can’t be stored at all`,
        type.places,
      ),
      `Split ${names} over several documents under the same partition key, or store a ${type.name} above a stated size in Blob Storage.`,
    );
  }
}

/** Lists of which there are some dozens. */
const isSmall = (annotations: Annotations, type: string | undefined): boolean =>
  /categor|tag|setting|config|role|status|countr|language|plan\b|connector|template/i.test(type ?? '') ||
  hasPurpose(
    typesOf(annotations).find(({ name }) => same(name, type)),
    'reference',
  );

/** An answer of figures has a fixed size, whatever was read for it. */
const FIGURES = /statistic|stats\b|average|summary|totals?\b|count|aggregat|report|dashboard/i;
/** A process has to take all of it. */
const WORK = /\bpoll|\bprocess|\bworker|\bscan\b|\bdue\b|\bsweep|\bmigrat|\bexport|\bbackfill/i;

/** "A player has few games": a bound for each value that the access has. */
const isFewEach = (annotations: Annotations, type: string | undefined, equals: readonly string[]): boolean =>
  annotations
    .of('scale')
    .some(
      ({ type: whose, within = [], bounded }) =>
        bounded === true &&
        same(whose, type) &&
        within.length > 0 &&
        within.every((field) => equals.some((one) => sameField(one, field))),
    );

/** Whether an access lists documents for somebody to read: no work, no general method, no ids that the caller has. */
const isForScreen =
  (annotations: Annotations) =>
  ({ name, aim, accepted, type, words, sql, ranges = [], equals }: Annotation<'access'>): boolean =>
    aim !== 'work' &&
    aim !== 'maintenance' &&
    aim !== 'guard' &&
    accepted !== true &&
    !WORK.test(name) &&
    !/\bsql\b|querytext|querydefinition/i.test(sql === undefined ? words : '') &&
    !/\btop\s*[\d@({]|\blimit\s*[\d@({]/i.test(`${sql ?? ''} ${words}`) &&
    ![...ranges, ...equals].some((path) => sameField(path, 'id')) &&
    !annotatedSmall(annotations, { type }) &&
    !isFewEach(annotations, type, equals);

function* whole(annotations: Annotations): Iterable<Found> {
  const heavy = partsOf(
    annotations,
    ({ grows, large: isLarge, type: kind, path }) =>
      (isLarge === true && FOREIGN.test(path)) || kind === 'vector' || (grows === true && isEndless(path)),
  );
  const lists = annotations
    .of('access')
    .filter(isForScreen(annotations))
    .filter(
      ({ operation, returns, sql, searches, often }) =>
        operation === 'query' &&
        returns === 'list' &&
        searches === undefined &&
        often !== 'rarely' &&
        (sql === undefined || /\bselect\s+(?:top\s+\S+\s+)?(?:\*|c\b(?!\.))/i.test(sql)),
    );
  for (const [name, parts] of Map.groupBy(heavy, ({ type }) => type.name)) {
    const mine = lists.filter((one) => same(one.type, name));
    const unpaged = mine.filter(({ paged }) => paged !== true);
    const [first] = unpaged;
    if (!first) continue;
    const shown = listed(parts.map(({ field }) => field.path));
    yield* hinted(
      together(
        unpaged,
        `${listed([...new Set(unpaged.map((one) => `"${one.name}"`))])} return${new Set(unpaged.map((one) => one.name)).size === 1 ? 's' : ''} whole documents of ${name} with their ${shown}, and no limit or page is stated: a list reads and sends all of it, and costs more with every document`,
        parts.map(({ at }) => at),
      ),
      `Select what the list shows without ${shown}, and page it by a continuation token.`,
    );
  }
  const open = annotations
    .of('access')
    .filter(
      ({ operation, returns, paged, type, aim, name, accepted, equals }) =>
        (aim === undefined || aim === 'show') &&
        accepted !== true &&
        !FIGURES.test(name) &&
        !annotatedSmall(annotations, { type }) &&
        !isFewEach(annotations, type, equals) &&
        operation === 'query' &&
        returns === 'list' &&
        paged === false &&
        !isSmall(annotations, type) &&
        !heavy.some((part) => same(part.type.name, type)),
    );
  yield* hinted(
    together(
      open,
      `${listed([...new Set(open.map(({ name }) => `"${name}"`))])} return${open.length === 1 ? 's' : ''} all documents at once: the cost and the answer grow with each of ${listed(open.map(({ type, container }) => type ?? container ?? 'them'))}, and a page of a query ends at 4 MB anyhow`,
    ),
    `Page ${listed([...new Set(open.map(({ name }) => `"${name}"`))])} by a continuation token, and give each page a largest number.`,
  );
}

export const GROWING: readonly Rule[] = [
  {
    id: 'J28',
    title: 'No document grows without an end, and large content is outside',
    severity: 'warning',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas and default limits'),
    why: 'An item has at most 2 MB, and is stored and billed as a whole: to add one message to a conversation of 500 KB costs as much as to write 500 KB. The rule takes lists to which use adds without a stated end, and content of tens of KB or more that lies in the item. It leaves out lists that stay small by their nature, and fields with a stated maximum.',
    hint: 'Write elements as documents of their own, and large content into Blob Storage.',
    instead: ['B1', 'D9'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (partsOf(annotations, ({ grows, large: isLarge }) => grows === true || isLarge === true).length === 0)
        yield missing('a field that grows or is large');
      yield* growing(annotations);
      yield* large(annotations);
      yield* assumed(annotations);
    },
  },
  {
    id: 'J38',
    title: 'A list doesn’t return large documents whole, nor all of them at once',
    severity: 'warning',
    source: SOURCES.microsoft('Request Units in Azure Cosmos DB'),
    why: 'A query is charged for the documents that it reads and returns. A list of conversations that carries all their messages reads the whole history for a page of titles. The rule takes reads that return a list of documents with growing or large fields, without a projection in their SQL and without a stated page, and reads that are said to return everything.',
    hint: 'Select the fields that the list shows, and page it by a continuation token.',
    instead: ['E11', 'E13'],
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (!annotations.of('access').some(({ returns }) => returns === 'list'))
        yield missing('a read that returns a list');
      yield* whole(annotations);
    },
  },
];
