// The types that check a declaration against the model. Only `GLOBAL` exists at run time.
import type { Type } from '../model/code/define-model.ts';

export type { Type };

/** Marks a type whose container is in the global place (`global`). */
export const GLOBAL = Symbol.for('millrace: global');

/** A type in the global place, as `into` of a copy or an aggregate. */
export type GlobalType<D extends object> = Type<D> & { readonly [GLOBAL]: true };

/**
 * Equality join: joined document's field → field of the document being copied. It is data, so Millrace can follow it in
 * both directions.
 * A field that is null or absent names no document, so it may be nullable or optional.
 */
export type On<P, C> = {
  readonly [K in keyof P]?: { [F in keyof C]-?: Names<C[F], P[K]> extends true ? F : never }[keyof C];
};

/** Whether a present value of `Field` can be a `Value`; a field that is never present can't. */
type Names<Field, Value> = [NonNullable<Field>] extends [never]
  ? false
  : NonNullable<Field> extends NonNullable<Value>
    ? true
    : false;

export interface JoinOf<P extends object, C> {
  /** The type of the joined document. */
  readonly of: Type<P>;
  /** Its id and its whole key, by fields of the document that is copied: `{ storeId: 'storeId', id: 'customerId' }`. */
  readonly on: On<P, C>;
  /** While the document is missing: `null` (default) joins null; `wait` writes no copy until it exists, and `map` never gets null. */
  readonly missing?: 'wait' | 'null';
}

/** What a projection writes: the document without its discriminator, which Millrace adds. */
export type Row<T> = Omit<T, 'type'>;

export interface Options {
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /**
   * What a source document's delete marker does. `remove` (default): Millrace removes the copy or contribution. `keep`:
   * Millrace ignores the marker, and derives from the marked document as from any other.
   */
  readonly onDelete?: 'remove' | 'keep';
  /**
   * Declares that the sink's key (copy) or the groups (aggregate) of a document never change in its life. Then Millrace
   * keeps no locator, which saves a write a change. If the declaration is false, Millrace parks a change of which it notices
   * that; others leave stale copies or contributions, which `projections verify` finds.
   * A copy with `missing: 'wait'` keeps its locator, which says what it waits for.
   */
  readonly stable?: boolean;
  /**
   * What happens to a sink document whose id Cosmos DB doesn't accept: over 1,023 bytes, or with one of `/ \\ #`. `hash`
   * (default): Millrace stores it under the id's digest. `park`: Millrace parks the change.
   */
  readonly badIds?: 'hash' | 'park';
  /**
   * Declares that the projection combines documents of several tenants, or writes for another tenant than its source's.
   * Without it, and with the pipeline's `tenant`, Millrace refuses that.
   */
  readonly acrossTenants?: boolean;
  /** It derives from every source document, so it begins at the beginning. */
  readonly start?: 'beginning';
}
