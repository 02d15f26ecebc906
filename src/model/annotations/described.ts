// What all annotations of a document say together: a type's fields from every place, a container's types and accesses.
import { isObject } from '../../base/json.ts';
import type { Place } from '../model.ts';
import { type Annotation, type Annotations, bare, fieldOf, same } from './annotations.ts';
import { listed } from './merged.ts';

type Declared = Annotation<'type'>['fields'][number];
export type FieldType = NonNullable<Declared['type']>;

/** A field of a type, with every place that says something of it. */
export interface MergedField {
  readonly path: string;
  readonly at: Place;
  readonly types: readonly { readonly type: FieldType; readonly at: Place; readonly example: boolean }[];
  /** Closed lists of its values, by place. */
  readonly lists: readonly { readonly values: readonly string[]; readonly at: Place }[];
  readonly declared: readonly (Declared & { readonly at: Place })[];
}

export interface MergedType {
  readonly type: string;
  readonly at: Place;
  readonly fields: readonly MergedField[];
  /** A place lists all of its fields, or an example has them all. */
  readonly complete: boolean;
  /** The places that list all fields. */
  readonly definitions: readonly { readonly at: Place; readonly paths: readonly string[] }[];
  /** Its own, or those of its containers. */
  readonly purposes: ReadonlySet<string>;
}

/** `userId`, `user_id` and `UserID` are one word. */
export const plain = (path: string): string =>
  fieldOf(path)
    .toLowerCase()
    .replaceAll(/\[\]|[_\W]/g, '');

/** Whether two paths name one field, however the places spell it. Only for what may be silent by it. */
export const alike = (a: string, b: string): boolean => plain(a) === plain(b);

/** Fields that the service adds. */
export const ofService = (path: string): boolean => /^_(?:ts|etag|rid|self|attachments)$/.test(path) || path === 'ttl';

const jsonType = (value: unknown): FieldType | undefined => {
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : undefined;
};

/** A text that stands for a value: `<user id>`, `...`, `{tenantId}`. */
export const isPlaceholder = (value: unknown): boolean =>
  typeof value === 'string' &&
  (/^\s*$|<[^>]*>|\.{2,}|…|\{[^}]*\}|^\$|^(?:string|uuid|guid|number|int|iso)\b/i.test(value) ||
    /^(?:x{3,}|\*+)$/i.test(value) ||
    /^[a-z]+(?:[-_][a-z]+)*[-_](?:uu|gu|ul)id(?:[-_]?\d{1,2})?$/i.test(value));

/** The fields of a JSON document with their paths, arrays as `lines[]`; not deeper than that. */
function* leaves(document: Readonly<Record<string, unknown>>, above = ''): Iterable<[string, unknown]> {
  for (const [name, value] of Object.entries(document)) {
    const path = `${above}${name}`;
    yield [path, value];
    if (isObject(value)) yield* leaves(value, `${path}.`);
    if (Array.isArray(value) && isObject(value[0])) yield* leaves(value[0], `${path}[].`);
  }
}

/** The fields that the definitions of a type list; without a definition, those that any place names. */
export const definedOf = ({ definitions, fields }: MergedType): readonly string[] =>
  definitions.length > 0 ? definitions.flatMap(({ paths }) => paths) : fields.map(({ path }) => path);

const merged = new WeakMap<Annotations, ReadonlyMap<string, MergedType>>();

/** Every type, with its fields from all declarations and examples. */
export function describedTypes(annotations: Annotations): readonly MergedType[] {
  const known =
    merged.get(annotations) ?? new Map(annotations.types.map((type) => [bare(type), merge(annotations, type)]));
  merged.set(annotations, known);
  return [...known.values()];
}

export const describedType = (annotations: Annotations, type: string | undefined): MergedType | undefined =>
  type === undefined ? undefined : describedTypes(annotations).find((one) => same(one.type, type));

function merge(annotations: Annotations, type: string): MergedType {
  const declarations = annotations.of('type').filter((one) => same(one.type, type));
  const examples = annotations.of('example').filter((one) => same(one.type, type));
  const fields = new Map<string, { -readonly [K in keyof MergedField]: MergedField[K] }>();
  const fieldAt = (path: string, at: Place) => {
    const key = fieldOf(path).replace(/\[\]$/, '');
    const known = fields.get(key) ?? { path: key, at, types: [], lists: [], declared: [] };
    fields.set(key, known);
    return known;
  };
  for (const { fields: all, at } of declarations)
    for (const one of all) {
      const field = fieldAt(one.path, at);
      field.declared = [...field.declared, { ...one, at }];
      if (one.type) field.types = [...field.types, { type: one.type, at, example: false }];
      if (one.values) field.lists = [...field.lists, { values: one.values, at }];
    }
  for (const { document, at } of examples)
    for (const [path, value] of document ? leaves(document) : []) {
      const field = fieldAt(path, at);
      const shown = isPlaceholder(value) ? undefined : jsonType(value);
      if (shown) field.types = [...field.types, { type: shown, at, example: true }];
    }
  const [first] = [
    ...declarations,
    ...examples,
    ...annotations.all.filter((one) => 'type' in one && same(one.type, type)),
  ];
  const definitions = [
    ...declarations.flatMap(({ complete, fields: all, at }) =>
      complete === true && all.length > 0 ? [{ at, paths: all.map(({ path }) => path) }] : [],
    ),
    ...examples.flatMap(({ document, partial, at }) =>
      document && partial !== true ? [{ at, paths: [...leaves(document)].map(([path]) => path) }] : [],
    ),
  ];
  const own = declarations.flatMap(({ purpose }) => purpose ?? []);
  const containers = annotations.containersOf(type);
  const whose = annotations
    .of('container')
    .flatMap(({ container, purpose }) =>
      purpose && containers.some((name) => same(name, container)) ? [purpose] : [],
    );
  return {
    type,
    at: first?.at ?? { file: annotations.file, line: 1 },
    fields: [...fields.values()],
    complete: definitions.length > 0,
    definitions,
    purposes: new Set(own.length > 0 ? own : whose),
  };
}

/** The types that the document puts in a container. */
export const typesIn = (annotations: Annotations, container: string): readonly MergedType[] =>
  describedTypes(annotations).filter(({ type }) =>
    annotations.containersOf(type).some((name) => same(name, container)),
  );

/** The accesses to a container, also those that name only its type. */
export const accessesTo = (annotations: Annotations, container: string): readonly Annotation<'access'>[] =>
  annotations.of('access').filter((one) => same(annotations.containerOf(one), container));

/** Whether a type has a field, however it is spelled; `lines` is had by `lines[].sku`. */
export const hasField = ({ fields }: MergedType, path: string): boolean =>
  fields.some(
    (field) =>
      alike(field.path, path) || (plain(field.path).startsWith(plain(path)) && field.path.startsWith(`${path}.`)),
  );

/** Whether the text has a key beside the name of a container: then an annotation is missing, and not the key. */
export const hasKeyInText = ({ lines }: Annotations, container: string): boolean =>
  lines.some(
    (line, index) =>
      line.toLowerCase().includes(container.toLowerCase()) &&
      /(?<![\w/.:])\/[A-Za-z_]\w*\b(?!\/\w)|partition[ _-]?key/i.test(lines.slice(index, index + 4).join(' ')),
  );

/** Whether a line of the document has these words. */
export const saysText = ({ lines }: Annotations, words: RegExp): boolean => lines.some((line) => words.test(line));

/** `lines 12, 40 and 77`. */
export const linesOf = (places: readonly { readonly at: Place }[]): string => {
  const lines = [...new Set(places.map(({ at }) => at.line))].toSorted((a, b) => a - b).map(String);
  return `line${lines.length === 1 ? '' : 's'} ${listed(lines)}`;
};
