// What the documents of a type hold, as data: hosts check by it what they store, and tables get their columns by it.
import { isObject } from '../base/json.ts';
import { isUtcMoment } from './moments.ts';

/**
 * - `int` and `number` are both a number of JSON, and `moment` and `day` both a text: what is stored is checked by its JSON
 *   type. The finer kind decides the column of a table.
 * - `any`: nothing is known.
 */
export type FieldKind = 'text' | 'int' | 'number' | 'moment' | 'day' | 'bool' | 'any' | 'list' | 'object';

export interface Field {
  readonly kind: FieldKind;
  /** Of a list. Absent: nothing is known of its elements. */
  readonly element?: Field;
  /** Of an object. */
  readonly fields?: Fields;
  /** The only texts. Absent: any text. */
  readonly values?: readonly string[];
  /** Documents may lack it. */
  readonly isOptional?: true;
  /** It may be null. */
  readonly isNullable?: true;
}

export type Fields = Readonly<Record<string, Field>>;

type Doc = Readonly<Record<string, unknown>>;

/**
 * The fields that examples show: `int` where all numbers are whole, `moment` where all texts are moments in UTC, `any` where
 * kinds are mixed, only null is shown or an object `isMap`, optional where an example lacks the field.
 */
export function fieldsOf(examples: readonly Doc[], isMap = (_value: Doc): boolean => false): Fields {
  const names = new Set(examples.flatMap((example) => Object.keys(example)));
  return Object.fromEntries(
    [...names].map((name) => {
      const having = examples.filter((example) => Object.hasOwn(example, name));
      const field = fieldOf(
        having.map((example) => example[name]),
        isMap,
      );
      return [name, having.length < examples.length ? { ...field, isOptional: true } : field];
    }),
  );
}

function fieldOf(values: readonly unknown[], isMap: (value: Doc) => boolean): Field {
  const known = values.filter((value) => value !== null);
  const field = kindOf(known, isMap);
  return known.length < values.length && field.kind !== 'any' ? { ...field, isNullable: true } : field;
}

function kindOf(values: readonly unknown[], isMap: (value: Doc) => boolean): Field {
  if (values.length === 0) return { kind: 'any' };
  if (values.every(Array.isArray)) {
    const elements = values.flat() as unknown[];
    return { kind: 'list', ...(elements.length > 0 && { element: fieldOf(elements, isMap) }) };
  }
  if (values.every(isObject))
    return values.some(isMap) ? { kind: 'any' } : { kind: 'object', fields: fieldsOf(values, isMap) };
  if (values.every((value) => typeof value === 'boolean')) return { kind: 'bool' };
  if (values.every((value) => typeof value === 'number'))
    return { kind: values.every(Number.isSafeInteger) ? 'int' : 'number' };
  if (values.every((value) => typeof value === 'string'))
    return { kind: values.every(isUtcMoment) ? 'moment' : 'text' };
  return { kind: 'any' };
}

/** The fields of which every value of the examples is null, or an empty list: `note`, `lines[].shelf`. */
export const untypedIn = (fields: Fields, examples: readonly unknown[], at = ''): string[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    untypedOf(
      field,
      examples.filter(isObject).map((example) => example[name] ?? null),
      `${at}${name}`,
    ),
  );

function untypedOf(field: Field | undefined, values: readonly unknown[], at: string): string[] {
  if (field?.kind === 'list') return untypedOf(field.element, values.flat(), `${at}[]`);
  if (field?.kind === 'object') return untypedIn(field.fields ?? {}, values, `${at}.`);
  return !field || (field.kind === 'any' && values.every((value) => value === null)) ? [at] : [];
}

/** The field at a path such as a key level, `/address/city`. */
export function fieldAt(fields: Fields | undefined, path: string): Field | undefined {
  const [first = '', ...rest] = path.split('/').slice(1);
  const found = fields && Object.hasOwn(fields, first) ? fields[first] : undefined;
  return rest.length === 0 ? found : fieldAt(found?.fields, `/${rest.join('/')}`);
}
