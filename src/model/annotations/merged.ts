// What all annotations together say of a type: many places declare parts of it, each in its own words.
import type { Place } from '../model.ts';
import { type Annotation, type Annotations, bare, fieldOf, same, sameField } from './annotations.ts';

type Declared = Annotation<'type'>['fields'][number];
export type Purpose = NonNullable<Annotation<'type'>['purpose']>;

/** A field with what any place says of it. */
export interface TypeField extends Omit<Declared, 'path'> {
  readonly path: string;
  readonly at: Place;
}

export interface WholeType {
  readonly name: string;
  /** Its own, or that of its container. */
  readonly purposes: ReadonlySet<Purpose>;
  /** Absent: no place says it, or there are several. */
  readonly container: string | undefined;
  readonly fields: readonly TypeField[];
  /** Where it is declared, or has an example. */
  readonly places: readonly Place[];
  readonly examples: readonly Readonly<Record<string, unknown>>[];
}

const known = new WeakMap<Annotations, readonly WholeType[]>();

/** The types that a place declares, gives a purpose or shows an example of. */
export function typesOf(annotations: Annotations): readonly WholeType[] {
  const before = known.get(annotations);
  if (before) return before;
  const all = annotations.types.flatMap((name): WholeType[] => {
    const declared = annotations.of('type').filter(({ type }) => same(type, name));
    const shown = annotations.of('example').filter(({ type }) => same(type, name));
    const places = [...declared, ...shown].map(({ at }) => at);
    if (places.length === 0) return [];
    const container = annotations.containerOf({ type: name });
    const own = declared.flatMap(({ purpose }) => purpose ?? []);
    const whose = annotations
      .of('container')
      .flatMap((one) => (same(one.container, container) && one.purpose ? [one.purpose] : []));
    return [
      {
        name,
        purposes: new Set(own.length > 0 ? own : whose),
        container,
        fields: fieldsIn(declared),
        places,
        examples: shown.flatMap(({ document }) => (document ? [document] : [])),
      },
    ];
  });
  known.set(annotations, all);
  return all;
}

export const typeOf = (annotations: Annotations, name: string | undefined): WholeType | undefined =>
  typesOf(annotations).find((type) => same(type.name, name));

function fieldsIn(declared: readonly Annotation<'type'>[]): TypeField[] {
  const all = new Map<string, TypeField>();
  for (const { fields, at } of declared)
    for (const field of fields) {
      const path = fieldOf(field.path).replace(/\[\]$/, '');
      const before = all.get(path);
      all.set(path, { at, ...before, ...field, path, ...(before && { at: before.at }) });
    }
  return [...all.values()];
}

export const hasPurpose = (type: WholeType | undefined, ...wanted: readonly Purpose[]): boolean =>
  wanted.some((purpose) => type?.purposes.has(purpose));

/**
 * The type inside whose documents a type lies, as an element of a list: the messages of a conversation. Only where no
 * place gives the inner type documents of its own: a container, an id, an example.
 */
export function outerOf(annotations: Annotations, name: string): { type: WholeType; field: TypeField } | undefined {
  const own =
    annotations.of('type').some((one) => same(one.type, name) && one.container !== undefined) ||
    annotations.of('id').some((one) => same(one.type, name)) ||
    annotations.of('example').some((one) => same(one.type, name)) ||
    annotations.containers.some((container) => same(container, name));
  if (own) return undefined;
  for (const type of typesOf(annotations)) {
    if (same(type.name, name)) continue;
    const field = type.fields.find(
      ({ path, type: kind, grows, refersTo }) =>
        (kind === 'array' || grows === true) && refersTo === undefined && isListOf(path, name),
    );
    if (field) return { type, field };
  }
  return undefined;
}

/** `messages` is a list of ConversationMessage. */
const isListOf = (path: string, type: string): boolean => {
  const last = bare(path.split('.').at(-1) ?? '');
  return last.length > 2 && (bare(type) === last || bare(type).endsWith(last));
};

/** Whether every one of `fields` is among `given`. */
export const covers = (given: readonly string[], fields: readonly string[]): boolean =>
  fields.every((field) => given.some((one) => sameField(one, field)));

/** The accesses of a type; one that names no type is of each in its container if that has only one. */
export const accessesOf = (annotations: Annotations, type: string): readonly Annotation<'access'>[] =>
  annotations.of('access').filter((one) => {
    if (one.type !== undefined) return same(one.type, type);
    if (one.container === undefined) return false;
    const there = typesOf(annotations).filter(({ container }) => same(container, one.container));
    return there.length === 1 && same(there[0]?.name, type);
  });

const WRITES: ReadonlySet<string> = new Set(['create', 'upsert', 'replace', 'patch', 'update', 'delete', 'batch']);
export const isWriting = ({ operation }: { readonly operation?: string | undefined }): boolean =>
  operation !== undefined && WRITES.has(operation);

/** A change of a document that is there, whole or in part. */
export const isEdit = ({ operation }: { readonly operation?: string | undefined }): boolean =>
  operation === 'replace' || operation === 'patch' || operation === 'update';

/** Whether the document is changed after it was created. */
export const isChange = ({ operation }: { readonly operation?: string | undefined }): boolean =>
  operation === 'upsert' || isEdit({ operation });

/** `a, b and c` */
export const listed = (names: readonly string[], word: 'and' | 'or' = 'and'): string => {
  const all = [...new Set(names)];
  const last = all.at(-1) ?? '';
  return all.length < 2 ? last : `${all.slice(0, -1).join(', ')} ${word} ${last}`;
};

/** `Order.total`, `Order (storeId, day)` */
export const named = (type: string, fields: readonly string[]): string =>
  fields.length === 1 ? `${type}.${fields[0]}` : `${type} (${fields.join(', ')})`;

/** `an Order`, `a User` */
export const article = (name: string): string => `${/^[aeio]|^u(?!se|ni|su)/i.test(name) ? 'an' : 'a'} ${name}`;

/** Where each write of a partition replaces one document of it under its ETag, no two writes pass at once. */
export const isSerialized = (annotations: Annotations, type: string | undefined): boolean =>
  annotations
    .of('unique')
    .some(
      (one) =>
        one.by === 'serialized' &&
        (same(one.type, type) ||
          (type !== undefined && same(annotations.containerOf({ type: one.type }), annotations.containerOf({ type })))),
    );
