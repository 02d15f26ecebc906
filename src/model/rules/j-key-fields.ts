// J45 and J46: whether the types of a container have its key, and one field that tells them apart.
import { type Annotation, type Annotations, fieldOf, same } from '../annotations/annotations.ts';
import { type MergedType, accessesTo, hasField, linesOf, plain, typesIn } from '../annotations/described.ts';
import { isCallers, keyValues } from '../annotations/known.ts';
import { listed, outerOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { keyed } from './j-key-values.ts';
import {
  type Found,
  type Rule,
  type RuleResult,
  ANNOTATIONS,
  SOURCES,
  hinted,
  missing,
  quoted,
  together,
} from './rule.ts';

/** So few fields don't describe a document. */
const DESCRIBED = 3;
/** A class may have fields of another one. */
const INHERITS =
  /\b(?:extends|inherits?|implements|base (?:class|type|document|entity)|common fields|in addition to)\b|class \w+\s*[:(]\s*\w+/i;

const stored = (annotations: Annotations, container: string): readonly MergedType[] =>
  typesIn(annotations, container).filter(
    ({ type }) =>
      !outerOf(annotations, type) && !isExisting(annotations, { type }) && annotations.containersOf(type).length === 1,
  );

/** Whether a place says what value the documents of a type have for the key. */
const isAnswered = (annotations: Annotations, container: string, { type, fields }: MergedType): boolean => {
  const own = keyValues(annotations, container, type);
  return own.some(
    ({ type: whose, format, from = [] }) =>
      (whose !== undefined && (format !== undefined || from.length > 0)) ||
      (whose === undefined && format !== undefined && from.length === 0) ||
      (from.length > 0 &&
        from.every((path) => plain(path) === 'id' || fields.some((field) => plain(field.path) === plain(path)))),
  );
};

function* lacking(annotations: Annotations, container: string, key: string): Iterable<Found> {
  if (plain(key) === 'id') return;
  const types = stored(annotations, container).filter(
    (type) =>
      !hasField(type, key) &&
      !isAnswered(annotations, container, type) &&
      // Examples are told by the rule on examples.
      type.definitions.some(({ paths }) => paths.length >= DESCRIBED) &&
      !annotations.of('example').some((one) => same(one.type, type.type)) &&
      !type.definitions.some(({ at }) =>
        INHERITS.test(annotations.lines.slice(Math.max(0, at.line - 4), at.line + 1).join(' ')),
      ) &&
      annotations
        .of('type')
        .some(
          (one) =>
            same(one.type, type.type) &&
            one.complete === true &&
            !one.fields.some(({ path }) => plain(path) === plain(key)),
        ),
  );
  const names = listed(types.map(({ type }) => type));
  const like = types.flatMap(({ fields }) =>
    fields.filter(({ declared }) => declared.some(({ refersTo }) => refersTo !== undefined)).map(({ path }) => path),
  );
  yield* hinted(
    together(
      types.flatMap(({ definitions }) => definitions.slice(0, 1)),
      `${container} is keyed by ${key} (${linesOf(annotations.keysOf(container).slice(0, 1))}), and the fields of ${names} have no ${key} (${linesOf(types.flatMap(({ definitions }) => definitions))}). Its documents all lie in the one partition without a value, and a read by ${key} doesn’t find them`,
      annotations.keysOf(container).map(({ at }) => at),
    ),
    `Add ${key} to ${names}${like.length > 0 ? `, or key ${container} by what it has, such as ${listed(like.slice(0, 2), 'or')}` : `, or choose another key for ${container}`}.`,
  );
}

/** The key's value is told for some types and not for the others of the same container. */
function* unsaid(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const types = stored(annotations, container);
  const told = annotations.of('keyValue').filter((one) => same(one.container, container) && one.type !== undefined);
  const isForAll = annotations
    .of('keyValue')
    .some(
      (one) =>
        same(one.container, container) &&
        one.type === undefined &&
        (one.from?.length ?? 0) > 0 &&
        one.from?.every((path) => plain(path) === 'id'),
    );
  // That the field has its own value says nothing that the others lack.
  const isSpecial = told.some(
    ({ from = [], format, required }) =>
      required === false || format !== undefined || from.some((path) => plain(path) !== plain(key)),
  );
  if (!isSpecial || isCallers(annotations, key) || isForAll || types.length < 2) return;
  const open = types.filter(
    (type) =>
      !hasField(type, key) &&
      !isAnswered(annotations, container, type) &&
      !mentions(annotations, type, key) &&
      !isInTable(annotations, type, told),
  );
  if (open.length === 0 || open.length === types.length) return;
  const names = listed(open.map(({ type }) => type));
  yield* hinted(
    together(
      open,
      `${container} is keyed by ${key}, and no place says what ${key} is of ${names}, as it does for ${listed(told.map(({ type = '' }) => type))} (${linesOf(told)}). Documents without it all lie in one partition, and a point read of them takes a value that nobody has stated`,
      [...told, ...annotations.keysOf(container)].map(({ at }) => at),
    ),
    `State the value of ${key} for ${names}.`,
  );
}

/** The type has a row beside one that tells a value: then an annotation is missing, and not the value. */
const isInTable = (
  { lines }: Annotations,
  { type }: MergedType,
  told: readonly { readonly at: { readonly line: number } }[],
): boolean =>
  told.some(({ at }) =>
    [at.line - 2, at.line].some((index) => {
      const [row = '', own = ''] = [lines[index], lines[at.line - 1]].map((text) => (text ?? '').trim());
      return /^[|*-]/.test(row) && row[0] === own[0] && row.toLowerCase().includes(type.toLowerCase());
    }),
  );

/** A line speaks of the type and the key. */
const mentions = ({ lines }: Annotations, { type }: MergedType, key: string): boolean =>
  lines.some((line) => line.toLowerCase().includes(type.toLowerCase()) && line.includes(key));

/** Old documents without the key, because of which documents whose id is known are read by a query. */
function* byQuery(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const old = annotations.of('keyValue').filter((one) => same(one.container, container) && one.required === false);
  const reads = accessesTo(annotations, container).filter(
    ({ operation, equals, returns, aim }) =>
      operation === 'query' &&
      returns !== 'list' &&
      returns !== 'count' &&
      aim !== 'maintenance' &&
      equals.length === 1 &&
      equals.every((path) => plain(path) === 'id'),
  );
  if (old.length === 0 || reads.length === 0) return;
  yield* hinted(
    together(
      [...reads, ...old],
      `${listed(reads.map(({ name }) => `"${quoted(name)}"`))}: the id is known, and ${container} is asked by a query over all partitions, because some documents have no ${key} (${linesOf(old)}). Each such read costs several times a point read, and more with every physical partition, as long as these documents stay as they are`,
      annotations.keysOf(container).map(({ at }) => at),
    ),
    `Write the documents without ${key} once again with it, delete the old ones, and read by id and key.`,
  );
}

/** A unique key on a field that types of the container don't have: a missing value is a value, and there is one of it. */
function* sparse(annotations: Annotations): Iterable<Found> {
  for (const container of annotations.containers) {
    const types = stored(annotations, container);
    const stated = annotations
      .of('container')
      .filter((one) => same(one.container, container) && one.existing !== true && (one.uniqueKeys ?? []).length > 0);
    const lines = new Set(stated.map(({ at }) => at.line));
    const fields = new Set(
      stated.flatMap(({ uniqueKeys = [] }) => uniqueKeys.flatMap((paths) => (paths.length === 1 ? paths : []))),
    );
    for (const field of fields) {
      const without = types.filter((type) => type.complete && !hasField(type, field));
      // Another line on the field may say what each type has there.
      const isSilent =
        !types.some((type) => hasField(type, field)) &&
        annotations.lines.every((line, index) => lines.has(index + 1) || !line.includes(field));
      if (types.length < 2 || (without.length === 0 && !isSilent)) continue;
      const names = listed((without.length > 0 ? without : types).map(({ type }) => type).slice(0, 5));
      yield* hinted(
        together(
          stated.filter(({ uniqueKeys = [] }) => uniqueKeys.some((paths) => paths.length === 1 && paths[0] === field)),
          `${container} has the unique key ${field} for all of its ${types.length} types, and ${without.length > 0 ? `${names} ${without.length === 1 ? 'hasn’t' : 'haven’t'} the field` : `no place says that each document of ${names} has a value of its own`}. A missing value counts as a value: of all documents without it, one for each value of the partition key is stored, and the second is refused with 409`,
          without.map(({ at }) => at),
        ),
        `Fill ${field} in every document with a value of its own, such as the type and the id.`,
      );
    }
  }
}

type Told = Annotation<'type'> & { readonly discriminator: NonNullable<Annotation<'type'>['discriminator']> };

function* discriminators(annotations: Annotations): Iterable<Found> {
  for (const container of annotations.containers) {
    if (isExisting(annotations, { container })) continue;
    const types = stored(annotations, container);
    const told = annotations
      .of('type')
      .filter((one): one is Told => one.discriminator !== undefined && types.some(({ type }) => same(type, one.type)));
    const paths = [...Map.groupBy(told, ({ discriminator }) => plain(discriminator.path)).values()];
    const common = paths.some((all) => types.every(({ type }) => all.some((one) => same(one.type, type))));
    if (paths.length < 2 || common || types.length < 3) continue;
    const texts = paths.map(
      (all) => `${all[0]?.discriminator.path ?? ''} for ${listed(all.map(({ type }) => type))} (${linesOf(all)})`,
    );
    const none = types.filter(({ type }) => !told.some((one) => same(one.type, type)));
    yield* hinted(
      together(
        [...told, ...none],
        `${container} holds ${listed(types.map(({ type }) => type))}, and they are told apart by different fields: ${listed(texts)}${none.length > 0 ? `; ${listed(none.map(({ type }) => type))} ${none.length === 1 ? 'has' : 'have'} none` : ''}. A query for one type must exclude each of the others by hand, and a new type comes up in lists that don’t know it`,
      ),
      `Give every document of ${container} one field of the same name, such as \`type\`, fill it in old documents, and filter by it in every query.`,
    );
  }
}

/** The key's field of each container that the document designs. */
const open = (annotations: Annotations): readonly { container: string; key: string }[] =>
  keyed(annotations).filter(({ container }) => !isExisting(annotations, { container }));

export const KEY_FIELDS: readonly Rule[] = [
  {
    id: 'J45',
    title: 'Every type of a container has the key’s field, or the text gives its value',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'A document without the key’s field is stored, in the partition of all documents without it. No error shows it, and reads by the key don’t find it. The rule asks for the field in types that a place lists in full, and for a word on the key’s value in the types of a container of which the document tells it for others. It also reports reads by id that are queries only because old documents lack the key, and a unique key on a field that not every type of the container has (ASM-E17).',
    hint: 'Add the field to the type, or choose a key that all types have.',
    instead: ['C1'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = open(annotations);
      if (all.length === 0) yield missing('a partition key in an annotation');
      for (const { container, key } of all) {
        for (const found of lacking(annotations, container, fieldOf(key))) yield { severity: 'error', ...found };
        yield* unsaid(annotations, container, fieldOf(key));
        yield* byQuery(annotations, container, fieldOf(key));
      }
      yield* sparse(annotations);
    },
  },
  {
    id: 'J46',
    title: 'The types of a container are told apart by one field',
    severity: 'warning',
    source: SOURCES.microsoft('Modeling data in Azure Cosmos DB'),
    why: 'Where types share a container, each query filters by what tells them apart. With a field for some types, another for others and none for old documents, every query lists what it doesn’t want, and a new type appears in all of them. The rule compares the discriminators that annotations state for the types of one container.',
    hint: 'Use one field in all documents.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('type').every(({ discriminator }) => discriminator === undefined))
        yield missing('a discriminator in an annotation');
      yield* discriminators(annotations);
    },
  },
];
