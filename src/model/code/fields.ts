// The kinds of fields that a model.ts declares. Each is data, and TypeScript knows the values that it stands for.
import type { Field, Fields } from '../fields.ts';

declare const VALUE: unique symbol;
declare const OPTIONAL: unique symbol;

/** A field, with the type of its values. Only the data of `Field` exist at run time. */
export interface FieldOf<T, Optional extends boolean = boolean> extends Field {
  readonly [VALUE]?: (value: T) => T;
  readonly [OPTIONAL]?: Optional;
}

type ValueOf<F> = F extends FieldOf<infer T> ? T : never;
type OptionalIn<F extends Fields> = {
  [K in keyof F]: F[K] extends { readonly [OPTIONAL]?: true } ? K : never;
}[keyof F];

/** One object type in error messages, and no intersection. */
export type Flat<T> = { [K in keyof T]: T[K] } & {};

/** The object that fields describe. */
export type Shaped<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalIn<F>>]: ValueOf<F[K]> } & { [K in OptionalIn<F>]?: ValueOf<F[K]> }
>;

/** The fields of an interface: optional where a property is. The discriminator `type` isn't one of them. */
export type FieldsFor<D extends object> = {
  readonly [K in keyof D as K extends 'type' ? never : K]-?: Pick<D, K> extends Required<Pick<D, K>>
    ? FieldOf<D[K], false>
    : FieldOf<Exclude<D[K], undefined>, true>;
};

/** A text. */
export const text: FieldOf<string, false> = { kind: 'text' };
/** A whole number: `bigint` in a table. */
export const int: FieldOf<number, false> = { kind: 'int' };
/** A number: `double precision` in a table. */
export const number: FieldOf<number, false> = { kind: 'number' };
/** A moment as ISO 8601 text, such as `2026-03-01T10:15:00Z`: `timestamptz` in a table. */
export const moment: FieldOf<string, false> = { kind: 'moment' };
/** A date such as `2026-03-01`: `date` in a table. */
export const day: FieldOf<string, false> = { kind: 'day' };
/** True or false. */
export const bool: FieldOf<boolean, false> = { kind: 'bool' };
/** Any value of JSON: `jsonb` in a table. */
export const any: FieldOf<unknown, false> = { kind: 'any' };

/** One of these texts. */
export const oneOf = <const V extends readonly string[]>(...values: V): FieldOf<V[number], false> => ({
  kind: 'text',
  values,
});

/** A list of values of one kind, or of objects with these fields. */
export function list<T>(of: FieldOf<T, false>): FieldOf<T[], false>;
export function list<F extends Fields>(of: F): FieldOf<Shaped<F>[], false>;
export function list(of: Field | Fields): Field {
  return { kind: 'list', element: isField(of) ? of : { kind: 'object', fields: of } };
}

/** An object with these fields. */
export const object = <F extends Fields>(fields: F): FieldOf<Shaped<F>, false> => ({ kind: 'object', fields });

/** A field that documents may lack. */
export const optional = <T>(of: FieldOf<T, false>): FieldOf<T, true> => ({ ...(of as Field), isOptional: true });

/** A field that may be null. */
export const nullable = <T>(of: FieldOf<T, false>): FieldOf<T | null, false> => ({
  ...(of as Field),
  isNullable: true,
});

/** A list's fields may have a field `kind`, which is an object then. */
const isField = (of: Field | Fields): of is Field => typeof of.kind === 'string';
