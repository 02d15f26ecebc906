// J13: fields and containers that accesses use and nothing declares.
import { type Annotation, type Annotations, bare, same } from '../annotations/annotations.ts';
import {
  type MergedType,
  accessesTo,
  hasField,
  hasKeyInText,
  linesOf,
  ofService,
  plain,
  describedType,
  typesIn,
  describedTypes,
} from '../annotations/described.ts';
import { listed, outerOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { near } from '../../base/near.ts';
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

type Access = Annotation<'access'>;

/** The types of which an access reads: its own, or all of its container. */
const typesOfAccess = (annotations: Annotations, access: Access): readonly MergedType[] => {
  const own = describedType(annotations, access.type);
  const container = annotations.containerOf(access);
  return own ? [own] : container === undefined ? [] : typesIn(annotations, container);
};

/** Fields that the access compares or orders by. Words in `equals` without SQL may be another name of the id. */
const usedBy = ({ equals, ranges = [], order = [], searches = [], query }: Access): string[] =>
  query
    ? [...query.filters, ...query.order.map(({ path }) => path)]
    : [...equals, ...ranges, ...order.map(({ path }) => path), ...searches];

function missingIn(
  annotations: Annotations,
  access: Access,
): { readonly fields: readonly string[]; readonly types: readonly MergedType[] } {
  const types = typesOfAccess(annotations, access);
  // An object without declared parts may have any.
  const open = types.some(({ fields }) =>
    fields.some(
      ({ path, types: sorts }) =>
        sorts.some(({ type }) => type === 'object') && !fields.some((one) => one.path.startsWith(`${path}.`)),
    ),
  );
  const isGiven = types.some(({ type }) => isExisting(annotations, { type }));
  if (types.length === 0 || open || isGiven || !types.every(({ complete }) => complete)) return { fields: [], types };
  const container = annotations.containerOf(access);
  const made = new Set([
    ...annotations.keysOf(container ?? '').flatMap(({ key }) => key.map(plain)),
    ...annotations
      .of('keyValue')
      .filter((one) => same(one.container, container))
      .flatMap(({ from = [] }) => from.map(plain)),
    ...types.flatMap(({ type }) =>
      annotations
        .of('id')
        .filter((one) => same(one.type, type))
        .flatMap(({ from = [] }) => from.map(plain)),
    ),
  ]);
  const isId = (path: string): boolean =>
    plain(path) === 'id' ||
    types.some(({ type }) => plain(path) === `${plain(bare(type))}id`) ||
    (access.query === undefined && /id$/i.test(path));
  const fields = usedBy(access).filter(
    (path) =>
      /^[\w.[\]]+$/.test(path) &&
      !isId(path) &&
      !/^(?:type|kind|doctype|entitytype|documenttype|discriminator)$/.test(plain(path)) &&
      !ofService(path) &&
      !made.has(plain(path)) &&
      !types.some((type) => hasField(type, path) || hasField(type, path.split(/[.[]/)[0] ?? path)),
  );
  return { fields: [...new Set(fields)], types };
}

function* unknownFields(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('access').flatMap((access) => {
    const { fields, types } = missingIn(annotations, access);
    return fields.length === 0 ? [] : [{ access, at: access.at, fields, types }];
  });
  for (const group of Map.groupBy(all, ({ types }) => types.map(({ type }) => type).join(' ')).values()) {
    const types = group[0]?.types ?? [];
    const fields = [...new Set(group.flatMap((one) => one.fields))];
    const names = types.flatMap((type) => type.fields.map(({ path }) => path));
    const like = fields.map((field) => near(field, names)).filter((name) => name !== undefined);
    for (const found of together(
      group,
      `${listed(group.map(({ access, fields: own }) => `"${quoted(access.name)}" (${listed(own)})`))}: ${listed(types.map(({ type }) => type))} ${types.length === 1 ? 'has' : 'have'} no such ${fields.length === 1 ? 'field' : 'fields'} (${linesOf(types.flatMap(({ definitions }) => definitions))}). A filter by a field that no document has finds nothing, and an order by it loses its meaning`,
      types.flatMap(({ definitions }) => definitions.map(({ at }) => at)),
    ))
      yield {
        ...found,
        hint:
          like.length > 0
            ? `Name ${listed(like)}, if that is meant; else add ${listed(fields)} to ${listed(types.map(({ type }) => type))}.`
            : `Add ${listed(fields)} to ${listed(types.map(({ type }) => type))}, or correct the access.`,
      };
  }
}

/** Containers that accesses and flows use, where the document declares others with their keys. */
function* unknownContainers(annotations: Annotations): Iterable<Found> {
  const declared = annotations.of('container').map(({ container }) => container);
  const keyed = declared.filter((name) => annotations.keysOf(name).length > 0);
  if (new Set(keyed.map(bare)).size < 2) return;
  const used = [
    ...annotations
      .of('access')
      .flatMap(({ container, name, at }) => (container === undefined ? [] : [{ container, name, at }])),
    ...annotations
      .of('flow')
      .flatMap(({ steps, name, at }) =>
        steps.flatMap(({ container }) => (container === undefined ? [] : [{ container, name, at }])),
      ),
  ].filter(({ container }) => !declared.some((name) => same(name, container)) && !hasKeyInText(annotations, container));
  for (const group of Map.groupBy(used, ({ container }) => bare(container)).values())
    yield* hinted(
      together(
        group,
        `${group[0]?.container ?? ''} is used by ${listed(group.map(({ name }) => `"${quoted(name)}"`))}, and no place declares such a container with its key. Nobody creates it, and how its documents are found isn’t known`,
      ),
      `Declare ${group[0]?.container ?? ''} with its partition key, or name the container that is meant.`,
    );
  const types = annotations
    .of('access')
    .filter(
      ({ type, container, operation }) =>
        type !== undefined &&
        container === undefined &&
        ['create', 'upsert', 'replace', 'patch', 'update'].includes(operation) &&
        annotations.containersOf(type).length === 0 &&
        !isExisting(annotations, { type }) &&
        !isKeptElsewhere(annotations, type),
    );
  const open = [...Map.groupBy(types, ({ type = '' }) => bare(type)).values()];
  const names = listed(open.map((group) => group[0]?.type ?? ''));
  yield* hinted(
    together(
      open.flat(),
      `${names} ${open.length === 1 ? 'is' : 'are'} written (${listed(open.flat().map(({ name }) => `"${quoted(name)}"`))}), and no place says in which container. Its key, and so its reads and transactions, are open`,
    ),
    `Name the container of ${names}, its partition key and the id.`,
  );
}

/** What passes between programs is no stored document. */
const PASSING = /(?:request|response|dto|event|message|payload|command|model|input|output|result)$/i;

/** Types with fields and an id to which stored documents refer, and that no place puts in a container. */
function* homeless(annotations: Annotations): Iterable<Found> {
  const keyed = annotations.containers.filter((name) => annotations.keysOf(name).length > 0);
  if (keyed.length < 2) return;
  const all = describedTypes(annotations).flatMap((type) => {
    const name = plain(bare(type.type));
    const refers = describedTypes(annotations).flatMap((other) =>
      annotations.containersOf(other.type).length === 0
        ? []
        : other.fields
            .filter(({ declared }) => declared.some(({ refersTo }) => same(refersTo, type.type)))
            .map(({ path, at }) => ({ path: `${other.type}.${path}`, at })),
    );
    return annotations.containersOf(type.type).length === 0 &&
      !outerOf(annotations, type.type) &&
      type.definitions.some(({ paths }) => paths.length >= 3) &&
      type.fields.some(({ path }) => plain(path) === 'id' || plain(path) === `${name}id`) &&
      refers.length > 0 &&
      !PASSING.test(name) &&
      !isExisting(annotations, { type: type.type }) &&
      !isKeptElsewhere(annotations, type.type)
      ? [{ type: type.type, at: type.definitions[0]?.at ?? type.at, refers }]
      : [];
  });
  const names = listed(all.map(({ type }) => type));
  yield* hinted(
    together(
      all,
      `${names} ${all.length === 1 ? 'has' : 'have'} fields and an id, ${listed(all.flatMap(({ refers }) => refers.map(({ path }) => path)).slice(0, 3))} ${all.length === 1 ? 'refers to it' : 'refer to them'}, and no place says in which container ${all.length === 1 ? 'it lies' : 'they lie'}. So the key and the reads are open`,
      all.flatMap(({ refers }) => refers.map(({ at }) => at)),
    ),
    `Name the container of ${names} and its partition key.`,
  );
}

/** A program's own note, where the text says that it lies with what this program keeps. */
const ELSEWHERE =
  /\b(?:beside|next to|among|with|in) (?:the |its |their |a )?(?:\w+ ){0,2}(?:leases?|lease container|checkpoints?|queue|topic|log files?|application insights|log analytics|(?:blob|table) storage|blobs?|redis)\b|\b(?:in|into|to) (?:an? |the )?(?:separate|external) (?:audit )?(?:trail|log|file|system)\b/i;

const isKeptElsewhere = (annotations: Annotations, type: string): boolean =>
  annotations.all.some((one) => 'type' in one && same(one.type, type) && ELSEWHERE.test(one.words));

/** No place says of the type more than that it has its container. */
const isNamedOnly = (annotations: Annotations, type: string): boolean =>
  annotations.all.every(
    (one) =>
      !('type' in one && same(one.type, type)) ||
      (one.kind === 'type' && one.fields.length === 0 && one.purpose === undefined),
  );

/** Containers that the document has, and of which no place states the key. */
function* keyless(annotations: Annotations): Iterable<Found> {
  const open = annotations.containers.filter(
    (name) =>
      annotations.keysOf(name).length === 0 &&
      // The change feed’s own container is made by its library.
      !/lease/i.test(name) &&
      !isExisting(annotations, { container: name }) &&
      !hasKeyInText(annotations, name) &&
      annotations.of('container').some(({ container }) => same(container, name)) &&
      (typesIn(annotations, name).some(({ fields, type }) => fields.length > 0 || !isNamedOnly(annotations, type)) ||
        accessesTo(annotations, name).length > 0),
  );
  yield* hinted(
    together(
      open.flatMap((name) =>
        annotations
          .of('container')
          .filter(({ container }) => same(container, name))
          .slice(0, 1),
      ),
      `${listed(open)}: no place states the partition key. It can’t be changed once ${open.length === 1 ? 'the container is' : 'the containers are'} created, and without it nobody can say which reads ask one partition, what one transaction holds, and what one value bounds`,
    ),
    `Choose the partition key of ${listed(open)} by the reads, and state it.`,
  );
}

/** Reads of a container that is there already, and whose key the document doesn't name, as it does for another. */
function* unknownKeys(annotations: Annotations): Iterable<Found> {
  const keyed = annotations.containers.filter((name) => annotations.keysOf(name).length > 0);
  const all = annotations.containers.flatMap((container) => {
    const isOpen =
      annotations.keysOf(container).length === 0 &&
      isExisting(annotations, { container }) &&
      !hasOwnKey(annotations, container, keyed);
    const reads = accessesTo(annotations, container).filter(
      ({ operation, equals, aim, often, accepted }) =>
        operation === 'query' &&
        equals.length > 0 &&
        aim !== 'maintenance' &&
        often !== 'rarely' &&
        accepted !== true &&
        !equals.some((path) => plain(path) === 'id'),
    );
    return isOpen ? reads.map((access) => ({ access, at: access.at, container })) : [];
  });
  if (keyed.length === 0 || all.length === 0) return;
  const by = listed(all.flatMap(({ access }) => access.equals));
  const containers = listed(all.map(({ container }) => container));
  yield* hinted(
    together(
      all,
      `${listed(all.map(({ access }) => `"${quoted(access.name)}"`))} reads ${containers} by ${by}, and no place states the key of ${containers}, as for ${listed(keyed)}. If it isn’t ${by}, each such read asks every physical partition, and nobody sees it here`,
    ),
    `State the partition key of ${containers}, and what the read by ${by} costs.`,
  );
}

/** A line names the container and a key, and no other container whose key that may be. */
const hasOwnKey = ({ lines }: Annotations, container: string, others: readonly string[]): boolean =>
  lines.some(
    (line) =>
      new RegExp(String.raw`(?<![\w-])${container.replaceAll(/[^\w-]/g, '.')}(?![\w-])`, 'i').test(line) &&
      /partition[ _-]?key|\|\s*`?\/[A-Za-z_]\w*`?\s*\|/i.test(line) &&
      !others.some((other) => line.toLowerCase().includes(other.toLowerCase())),
  );

const DESIGNS =
  /^#{1,3} .*\b(?:data[- ]?models?|schemas?|entit(?:y|ies)|document (?:structure|design|model|types?)|modell?ing|domain)\b/i;

/** No type of the document has fields or an id, so that the keys and reads stand for themselves. */
function* shapeless(annotations: Annotations): Iterable<Found> {
  const types = describedTypes(annotations);
  const unknown =
    types.every(({ fields, complete }) => !complete && fields.length < 2) &&
    annotations.of('id').every(({ from }) => from === undefined);
  const stored = types.filter(({ type }) => annotations.containersOf(type).length > 0);
  // A text on costs, deployment or operation needn't show documents.
  const isDesign = annotations.lines.some((line) => DESIGNS.test(line));
  if (!unknown || !isDesign || stored.length === 0 || annotations.of('access').length < 3) return;
  yield* hinted(
    together(
      stored,
      `${listed(stored.map(({ type }) => type))}: no place gives the fields of a document, or how its id is made. So whether the keys, the index and the reads fit can’t be built or checked`,
    ),
    'Add an example document, or a table of the fields, with the id and the key, for each type.',
  );
}

/** Types that are looked up often, and of which nothing is known, where others are described. */
function* undescribed(annotations: Annotations): Iterable<Found> {
  const described = describedTypes(annotations).filter(({ complete }) => complete);
  if (described.length === 0) return;
  const open = annotations.containers.flatMap((container) => {
    const types = typesIn(annotations, container);
    const unknown =
      types.length > 0 &&
      types.every(
        ({ fields, type }) =>
          fields.length === 0 && !annotations.of('id').some((one) => same(one.type, type) && one.from !== undefined),
      );
    const reads = accessesTo(annotations, container).filter(
      ({ operation, often, returns, equals }) =>
        ['query', 'point-read'].includes(operation) && often === 'often' && returns === 'one' && equals.length > 0,
    );
    return unknown && reads.length > 0 && !isExisting(annotations, { container }) ? [{ container, types, reads }] : [];
  });
  yield* hinted(
    together(
      open.flatMap(({ reads }) => reads),
      `${open.map(({ container, types, reads }) => `${listed(types.map(({ type }) => type))} in ${container} (${listed(reads.map(({ name }) => `"${quoted(name)}"`))})`).join('; ')}: looked up often, and no place gives the fields or the id, as it does for ${listed(described.map(({ type }) => type).slice(0, 3))}. So whether the key, the index and the reads fit can’t be built or checked`,
      open.flatMap(({ types }) => types.map(({ at }) => at)),
    ),
    `Add the fields of ${listed(open.flatMap(({ types }) => types.map(({ type }) => type)))}, and how the id is made.`,
  );
}

export const UNDECLARED: readonly Rule[] = [
  {
    id: 'J13',
    title: 'What accesses use is declared: the fields of a type, and the containers',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A filter by a field that the documents don’t have finds nothing, without an error. It is a slip of the pen, or a field that the model lacks. A container without a declaration has no key, so nobody can say what a read of it costs. The rule asks for fields only where a place lists all fields of the type, and for containers only where the document declares others with their keys. It also asks for the container of a type to which stored documents refer, for the key of each container, and for a description of the documents, if none has one.',
    hint: 'Declare it, or correct the access.',
    instead: ['A19', 'A24'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('access').length === 0) yield missing('an access in an annotation');
      yield* unknownFields(annotations);
      yield* unknownContainers(annotations);
      yield* undescribed(annotations);
      yield* keyless(annotations);
      yield* homeless(annotations);
      yield* unknownKeys(annotations);
      yield* shapeless(annotations);
    },
  },
];
