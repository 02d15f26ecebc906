// C34: one document for a thing, with an id by chance.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { declaredOf, isIn, linesOf } from './declared.ts';
import { ADDRESS, IDENTITY, PEOPLE, SIGNS_IN } from './c-people.ts';
import { type Facts, examplesIn } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

const ONE_EACH =
  /\b(?:single|one|exactly one|at most one|only one)\s+(?!of\b)(?:active |open |current )?(?:document|record|item|entry|row|profile|account|summary|mark|vote|rating|review|submission)\s+(?:per|for each|for every)\s+\w/i;
/** All ids of the document, or those of a container. */
const ALL_BY_CHANCE =
  /\b(?:all|every|each)\b[^.|]{0,30}\bids?\b[^.|]{0,40}\b(?:uuid\w*|guids?|random)\b|\bids?\b[^.|]{0,20}\b(?:are|is)\b[^.|]{0,20}\b(?:random|generated|new)\b[^.|]{0,15}\b(?:uuid\w*|guids?)\b/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|^(?:<|\{)?(?:uuid|guid)\b/i;
const BY_CHANCE = /\b(?:uuid\w*|guid|random|auto-?generated|nanoid|ulid)\b/i;
const EXCEPT = /\b(?:except\w*|but|unless|other than)\b/i;
/** What refuses the second one. */
const REFUSED =
  /\bunique[- ]keys?\b|\bdeterministic\b|\bidempoten|\bif-none-match\b|\bid\b\W{0,3}(?:is|=|:|equals)\W{0,3}(?:the )?`?\w+(?:Id|_id|phone|mail|key)\b|\bderived id\b/i;

/** Whether ids of a container say nothing of their documents. */
function isByChance(facts: Facts, design: Design, detail: ContainerDetail): boolean {
  const { container } = detail;
  if ((container.uniqueKeys ?? []).length > 0) return false;
  const shown = examplesIn(container).map((one) => one['id']);
  if (shown.length > 0) return shown.every((id) => typeof id === 'string' && UUID.test(id));
  const own = declaredOf(design, detail).find(({ field }) => field === 'id');
  if (own) return BY_CHANCE.test(design.lines[own.at.line - 1] ?? '');
  return linesSaying(design, ALL_BY_CHANCE).some(([line, text]) => {
    const around = design.lines.slice(line - 1, line + 3).join('\n');
    const but = EXCEPT.test(around) && new RegExp(String.raw`\b${container.name}\b`, 'i').test(around);
    return !but && !/\|/.test(text);
  });
}

/** A query by two references says that a pair has one document; the key and the id of a thing do too. */
function pairsOf(facts: Facts, detail: ContainerDetail): Place[] {
  const [key = ''] = detail.container.partitionKey;
  const isReference = (field: string): boolean => /[a-z](?:_id|Id)$/.test(field);
  return facts
    .asked(detail)
    .flatMap(({ queries, at }) =>
      queries.some(
        ({ equal, filters, order }) =>
          equal.length === 2 &&
          filters.length === 2 &&
          order.length === 0 &&
          equal.every(isReference) &&
          equal.includes(key.slice(1)),
      )
        ? [at]
        : [],
    );
}

/** The address by which people of a group sign in, if neither the id nor a unique key is it. */
function addressOf(facts: Facts, design: Design, detail: ContainerDetail): Place[] {
  const { container } = detail;
  const [key = ''] = container.partitionKey;
  // Under the person's own key C26 asks.
  if (!PEOPLE.test(container.name) || key === '' || /^\/(?:id|user_?id)$/i.test(key)) return [];
  const isLogin =
    linesSaying(design, BY_ADDRESS).length > 0 ||
    (linesSaying(design, SIGNS_IN).length > 0 && linesSaying(design, IDENTITY).length === 0);
  const field = isLogin ? fieldsOf(facts, detail).find((one) => ADDRESS.test(one.field)) : undefined;
  if (!field || container.partitionKey.includes(`/${field.field}`)) return [];
  const isUnique =
    (container.uniqueKeys ?? []).some(({ paths }) => paths.includes(`/${field.field}`)) ||
    examplesIn(container).some((one) => one['id'] !== undefined && one['id'] === one[field.field]) ||
    linesSaying(design, REFUSED).some(([, text]) => text.toLowerCase().includes(field.field.toLowerCase()));
  return isUnique ? [] : [field.at];
}
const BY_ADDRESS = /\b(?:find|get|fetch|load)_?(?:user|account|member|one)?_?by_?e_?mail\b/i;

export const ONCE_EACH: readonly Rule[] = [
  {
    id: 'C34',
    title: 'Of what there is one, the id says so',
    severity: 'warning',
    source: SOURCES.microsoft('Unique key constraints in Azure Cosmos DB'),
    why: 'Two creates with ids by chance both succeed: a repeated request, or two at the same time, make a second account of a phone number or a second mark of an answer, and sums count both. Only an id that is made of what must be unique, or a unique key within the partition, refuses the second (ASM-E135). The rule reads "a single document per teacher", and queries that set two references equal and so expect one document, of containers whose ids are UUIDs. It also looks at people under a key of a group, such as a tenant, with an address by which they sign in.',
    hint: 'Make the id of what it is one for (`phone`, `student|exam`), and create or upsert by it: then the read is a point read too.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const people = facts.containers.flatMap((detail) =>
        detail.derived ? [] : addressOf(facts, design, detail).map((at) => ({ at, name: detail.container.name })),
      );
      yield* together(
        people,
        `${people.map(({ name }) => name).join(', ')}: people sign in by an address that nothing keeps unique, so a second registration makes a second account`,
      );
      const open = facts.containers.filter((detail) => !detail.derived && isByChance(facts, design, detail));
      if (open.length + people.length === 0) {
        yield missing('a container whose ids are UUIDs');
        return;
      }
      const found = open.flatMap((detail) => {
        const span = linesOf(design, detail);
        const own = design.lines.slice(span.from - 1, span.to - 1).join('\n');
        if (REFUSED.test(own)) return [];
        const said = linesSaying(design, ONE_EACH)
          .filter(([line, text]) => isIn(span, line) || text.includes(`\`${detail.container.name}\``))
          .map(([line]): Place => ({ file: design.file, line }));
        return [...said, ...pairsOf(facts, detail)].map((at) => ({ at, name: detail.container.name }));
      });
      const ids = linesSaying(design, ALL_BY_CHANCE).map(([line]): Place => ({ file: design.file, line }));
      yield* together(
        found,
        `${[...new Set(found.map(({ name }) => name))].join(', ')}: with an id by chance nothing refuses a second document for the same`,
        found.length > 0 ? ids : [],
      );
    },
  },
];
