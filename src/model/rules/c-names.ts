// C21 and C22: the names by which code and queries ask for documents.
import type { ContainerDetail } from '../documents.ts';
import type { Place } from '../model.ts';
import { saysCrossing } from '../reader/asked.ts';
import { hasName } from '../reader/names.ts';
import { namedLike } from '../reader/owners.ts';
import { listsIn } from './c-lists.ts';
import { declaredOf, isIn, linesOf } from './declared.ts';
import { type Facts, fieldsIn, isOfId } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing } from './rule.ts';

/** `user_id`, `userId` and `UserId` are one word. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_\W]/g, '');

/** The fields of a container by its examples and declarations, with the names that JSON has. */
const fieldsOf = (facts: Facts, detail: ContainerDetail): Set<string> =>
  new Set([
    ...fieldsIn(detail.container),
    ...(facts.design ? declaredOf(facts.design, detail).map(({ field }) => field) : []),
    ...detail.container.partitionKey.map((path) => path.split('/')[1] ?? ''),
  ]);

/** A query within so many lines belongs to the words above it. */
const BELOW = 12;

/** Fewer fields are no description of a document. */
const DESCRIBED = 3;

/** Fields that queries name and no document has, if every document is described and no text mentions the field. */
function unknownIn(facts: Facts, detail: ContainerDetail, fields: ReadonlySet<string>): { name: string; at: Place }[] {
  const { design } = facts;
  if (!design || detail.container.partialExamples || fields.size <= DESCRIBED) return [];
  const mentions = (name: string): boolean => {
    const field = new RegExp(`["'\`]${name}["'\`]|\\b${name}\\??\\s*:|\\|\\s*${name}\\s*\\||\\/${name}\\b`);
    const found = design.lines.flatMap((line, index) => (field.test(line) ? [index + 1] : []));
    // What the sections of other containers say isn't about this one.
    return found.some(
      (line) => !facts.containers.some((other) => other !== detail && isIn(linesOf(design, other), line)),
    );
  };
  return facts.asked(detail).flatMap(({ queries, at }) =>
    queries.flatMap(({ filters, order }) =>
      [...new Set([...filters, ...order.map(({ path }) => path)].map((path) => path.split('.')[0] ?? ''))]
        .filter((name) => /^[A-Za-z]\w*$/.test(name) && name !== 'id' && name !== 'ttl' && !fields.has(name))
        .filter((name) => ![...fields].some((field) => plain(field) === plain(name)) && !mentions(name))
        .map((name) => ({ name, at })),
    ),
  );
}

interface Misnamed {
  readonly written: string;
  readonly has: string;
  readonly at: Place;
}

function* misnamed(facts: Facts, detail: ContainerDetail, fields: ReadonlySet<string>): Iterable<Misnamed> {
  for (const { queries, at } of facts.asked(detail)) {
    for (const { filters, order } of queries)
      for (const path of new Set([...filters, ...order.map((one) => one.path)])) {
        const [first = ''] = path.split('.');
        if (fields.has(first) || first.startsWith('_')) continue;
        const has = [...fields].find((field) => plain(field) === plain(first));
        if (has !== undefined) yield { written: first, has, at };
      }
  }
}

/** `getUserByEmail(`, `GetByUpn`, `get_user_by_email`: the entity may be missing. */
const LOOKUP =
  /\b(?:get|find|fetch|load|look_?up|search|list|query|read)_?(?<entity>[A-Za-z]*?(?:_[a-z]+)*?)(?:By(?=[A-Z])|_by_)(?<field>[A-Za-z_]+?)(?:_?[Aa]sync)?(?=[^\w]|$)/gi;
/** `Find users by email` in a sentence. */
const SENTENCE =
  /\b(?:get|find|fetch|load|look up|search|list|query|retrieve|read|show)\s+(?:all |an? |the )?(?:(?!by\b|for\b|per\b)[a-z-]+ ){0,2}?`?(?<entity>[a-z][\w-]*?)s?`?\s+(?:filtered )?(?:by|per|for (?:an?|the|each|every|one)(?: (?:specific|given|single))?|of (?:an?|one)(?: (?:specific|given))?)\s+`?(?<field>[a-z][\w-]*)`?/gi;

/** `Get all members`, `getAllMembers(`. */
const ALL =
  /\b(?:get|list|fetch|load|read|retrieve)(?:\s+all\s+(?:the\s+)?|_?all_?(?=[A-Z]|[a-z]))(?<entity>[A-Za-z]+)\b(?=\W*$|\s*[|.,;:(){}])/gi;

/** `GET /conversations/user/:userId`, `GET /api/users/{userId}/orders`. */
const ENDPOINT = /\bGET\b[\s|*`]{1,8}(?<path>\/[\w/:{}[\]<>.-]+)/g;
const PARAMETER = /^(?::|\{|\[|<)(?<name>\w+)[}\]>]?$/;

/** What an address lists of a container whose key is the document's own id: then no other value is the key. */
function listed(facts: Facts, path: string): { detail: ContainerDetail; field: string } | undefined {
  const steps = path.split('/').filter((step) => step !== '' && !/^(api|v\d+)$/i.test(step));
  const [before = '', between = '', last = ''] = steps.slice(-3);
  // `conversations/user/:userId`, `users/:userId/orders`.
  const [entity, parameter, owner] = PARAMETER.test(last)
    ? [before, last, between]
    : PARAMETER.test(between)
      ? [last, between, before]
      : [];
  if (entity === undefined || parameter === undefined || owner === undefined) return undefined;
  if (PARAMETER.test(entity) || PARAMETER.test(owner) || steps.length < 3) return undefined;
  const named = PARAMETER.exec(parameter)?.groups?.['name'] ?? '';
  const field = /^id$/i.test(named) ? `${owner.replace(/s$/, '')}Id` : named;
  const all = facts.containers.filter(({ container: { name } }) => isNamed(name, entity));
  const [detail] = all;
  const [first = ''] = detail?.container.partitionKey ?? [];
  const isOwn = first === '/id' || plain(first) === plain(`${singular(entity)}id`);
  return detail && all.length === 1 && isOwn && plain(field) !== plain(first) && !isNamed(owner, entity)
    ? { detail, field }
    : undefined;
}

const singular = (name: string): string => name.replace(/ies$/i, 'y').replace(/s$/i, '');
/** `chat-conversations` is "conversations" of an address. */
const isNamed = (name: string, entity: string): boolean =>
  plain(singular(name)) === plain(singular(entity)) ||
  (plain(singular(name)).endsWith(plain(singular(entity))) && /[-_]/.test(name));

/** "every comp the caller has contributed to sold_comps": a list by the person who asks. */
const OF_CALLER =
  /\b(?:every|all|each)\b[^.|]{0,40}\b(?:the )?(?:caller|current user|signed-in user|user|customer|member|owner)\b(?:['’]s|\s+(?:has|have|contributed|created|made|owns|submitted|uploaded|posted|wrote))/i;
const PERSON = /^(?:\w*?(?:user|owner|caller|customer|member|contributor|author|creator)\w*?)(?:Id|_id)$/i;

/** `listBookings()`, `get_all_threads()`, `list_conversations(limit=50)`. */
const LISTED =
  /\b(?:get_?all|list(?:_?all)?|fetch_?all)_?[A-Za-z]\w*s(?:_?from_?cosmos\w*|Async)?\(\s*(?:(?:limit|top|max\w*|page_?size)\s*[=:]\s*\w+)?\s*\)/i;

/** The container that the line names, by a field of a person that isn't its key. */
function listedFor(facts: Facts, line: string): { detail: ContainerDetail; field: string } | undefined {
  // An address has words of its own.
  const said = line.replaceAll(/\/[\w/:?=&|-]+/g, ' ');
  const named = facts.containers.filter(({ container }) => hasName(said, container.name));
  const [detail, ...others] = named;
  if (!detail || others.length > 0) return undefined;
  const fields = [...fieldsOf(facts, detail)].filter((field) => PERSON.test(field));
  const [field] = fields;
  return field !== undefined && !fields.some((one) => detail.container.partitionKey.includes(`/${one}`))
    ? { detail, field }
    : undefined;
}

interface Lookup {
  readonly detail: ContainerDetail;
  /** Undefined: all documents are asked for. */
  readonly field: string | undefined;
  readonly at: Place;
}

/** The lookups by a field that isn't the key, of containers that the line, or its section, names. */
function lookups(facts: Facts): Lookup[] {
  const { design } = facts;
  if (!design) return [];
  const spans = facts.containers.map((detail) => ({ detail, ...linesOf(design, detail) }));
  return design.lines.flatMap((line, index): Lookup[] => {
    if (line.length > 400 || !/by|all|GET|list/i.test(line)) return [];
    if (![ALL, ENDPOINT, LOOKUP, SENTENCE, LISTED, OF_CALLER].some((form) => line.search(form) >= 0)) return [];
    const near = design.lines.slice(Math.max(0, index - 2), index + 3).join('\n');
    if (saysCrossing(near)) return [];
    const own = spans.filter((span) => isIn(span, index + 1)).at(-1)?.detail;
    const all = [...line.matchAll(ALL)].flatMap(({ groups: { entity = '' } = {} }): Lookup[] => {
      const detail = namedIn(facts, entity, line);
      // With one document in each partition, a list of all reads every one of them.
      return detail && (detail.container.partitionKey.join() === '/id' || isOfId(detail.container))
        ? [{ detail, field: undefined, at: { file: design.file, line: index + 1 } }]
        : [];
    });
    const at = { file: design.file, line: index + 1 };
    const addressed = [...line.matchAll(ENDPOINT)].flatMap(({ groups: { path = '' } = {} }): Lookup[] => {
      const found = listed(facts, path);
      return found ? [{ ...found, at }] : [];
    });
    const person = OF_CALLER.test(line) ? listedFor(facts, line) : undefined;
    const [only, ...further] = facts.containers;
    // `GetByIsbnAsync` of a repository, in a document about one container.
    const alone = further.length === 0 ? only : undefined;
    // A call without the key, in such a document.
    const called = only && further.length === 0 && line.search(LISTED) >= 0 && only.container.partitionKey.length === 1;
    return [
      ...all,
      ...addressed,
      ...(person ? [{ ...person, at }] : []),
      ...(called ? [{ detail: only, field: undefined, at }] : []),
      ...[LOOKUP, SENTENCE].flatMap((form) =>
        [...line.matchAll(form)].flatMap(({ groups: { entity = '', field = '' } = {} }): Lookup[] => {
          const detail = namedIn(facts, entity, line) ?? (entity === '' ? (own ?? alone) : undefined);
          const found = detail && lookedUp(facts, detail, field, form === LOOKUP);
          return detail && found !== undefined
            ? [{ detail, field: found, at: { file: design.file, line: index + 1 } }]
            : [];
        }),
      ),
    ];
  });
}

/** The container of `User` in `getUserByEmail`, or of `IUsersRepository` in the same line. */
function namedIn({ containers }: Facts, entity: string, line: string): ContainerDetail | undefined {
  const all = containers.map(({ container }) => container);
  const names =
    entity === '' ? [...line.matchAll(/\bI?([A-Z]\w+?)Repository\b/g)].map((match) => match[1] ?? '') : [entity];
  const found = names.flatMap((name) => namedLike(name, all) ?? []);
  return containers.find(({ container }) => container === found[0]);
}

const OF_TENANT = /^\/(?:tenant|org(?:ani[sz]ation)?|company|workspace|household|family|account)_?(?:id|key)?$/i;

/** The field of the container that a lookup means, if neither the key nor the id nor another container has it. */
function lookedUp(
  facts: Facts,
  { container, ...detail }: ContainerDetail,
  words: string,
  isCode: boolean,
): string | undefined {
  const parts = words.split(/And(?=[A-Z])|_and_/).map(plain);
  const keys = container.partitionKey.map(plain);
  const isKey = (part: string): boolean => keys.includes(part) || keys.includes(`${part}id`);
  if (parts.some((part) => part === 'id' || isKey(part))) return undefined;
  // A sentence of one tenant's application doesn't name the tenant, and the request does.
  if (!isCode && container.partitionKey.some((path) => OF_TENANT.test(path))) return undefined;
  const fields = [...fieldsOf(facts, { container, ...detail })];
  const [part = ''] = parts;
  // Without a description of the documents the field of a method may be one of theirs.
  const found =
    isCode && fields.length < DESCRIBED
      ? words
      : (fields.find((field) => plain(field) === part) ?? fields.find((field) => plain(field) === `${part}id`));
  if (found === undefined) return undefined;
  const served = facts.containers.some(
    (other) => other.container !== container && plain(other.container.partitionKey[0] ?? '') === plain(found),
  );
  const asked = facts.questions.some(
    ({ detail: of, queries }) => of.container === container && queries.some(({ filters }) => filters.includes(found)),
  );
  return served || asked ? undefined : found;
}

const LIST_HINT =
  'Choose a key that the list knows, such as the owner, the source or the status. Or write "cross-partition" and how often the list is asked.';

export const NAMES: readonly Rule[] = [
  {
    id: 'C21',
    title: 'Queries name fields as the documents have them',
    severity: 'error',
    source: SOURCES.microsoft('Queries in Azure Cosmos DB for NoSQL'),
    why: 'Names of fields are case-sensitive. A query with `c.WorldId` over documents with `worldId` finds nothing, and gives no error. The rule compares the fields that queries filter or order by with those of examples and declarations. It fails if a name differs in its letters’ case or in underscores only. It warns about a name that neither the documents nor the text have.',
    hint: 'Write the name as it is in the JSON.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      if (facts.questions.every(({ queries }) => queries.length === 0)) {
        yield missing('a query');
        return;
      }
      for (const detail of facts.containers) {
        const fields = fieldsOf(facts, detail);
        if (fields.size < DESCRIBED) continue;
        const [lost, ...rest] = unknownIn(facts, detail, fields);
        if (lost)
          yield {
            severity: 'warning',
            message: `Queries of ${detail.container.name} name ${[...new Set([lost, ...rest].map(({ name }) => name))].join(', ')}, which no document has`,
            at: lost.at,
            related: rest.map(({ at }) => at),
          };
        const found = [...misnamed(facts, detail, fields)];
        const [first] = found;
        if (!first) continue;
        const pairs = new Set(found.map(({ written, has }) => `${written} (the documents have ${has})`));
        yield {
          message: `Queries of ${detail.container.name} name ${[...pairs].join(', ')}; names are case-sensitive`,
          at: first.at,
          related: found.slice(1).map(({ at }) => at),
        };
      }
    },
  },
  {
    id: 'C22',
    title: 'A lookup by another field than the key has a container for it, or is said to cross partitions',
    severity: 'warning',
    source: SOURCES.microsoft('Query a container in Azure Cosmos DB'),
    why: 'A lookup such as `getUserByEmail` is a query without the key, so it reads every partition. The rule reads the names of methods and sentences ("find users by email", "orders for a customer"), if the field is one of the container’s, and addresses such as `GET /conversations/user/:userId` and `GET /conversations` of a container whose key is its documents’ own id, types of a numbered page of it, and calls that read all (`readAll()`). It reads lists of the person who asks too ("every sale that the caller has made"). It accepts a container whose key is this field, and a text beside it that says cross-partition.',
    hint: 'Add a container whose key is this field, and keep it by a projection. Or write "cross-partition" and how often it is asked.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      // A query below the words is judged by itself (C13).
      const all = [...lookups(facts), ...listsIn(facts).map((list) => ({ ...list, field: undefined }))].filter(
        ({ detail, at }) =>
          detail.container.partitionKey.length > 0 &&
          !facts.questions.some(
            (question) =>
              question.detail === detail &&
              question.queries.length > 0 &&
              question.at.line >= at.line &&
              question.at.line <= at.line + BELOW,
          ),
      );
      for (const [detail, found] of Map.groupBy(all, (one) => one.detail)) {
        const [first, ...others] = found;
        if (!first) continue;
        const fields = [...new Set(found.flatMap(({ field }) => field ?? []))];
        yield {
          message: `${detail.container.name} is ${fields.length === 0 ? 'listed as a whole' : `looked up by ${fields.join(', ')}`}; without the key ${detail.container.partitionKey.join(', ')} this reads every partition`,
          at: first.at,
          related: [...others.map(({ at }) => at), facts.place(detail, 'partitionKey')],
          ...(fields.length === 0 && { hint: LIST_HINT }),
        };
      }
    },
  },
];
