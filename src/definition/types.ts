// The types by which a declaration is held to the model document. Nothing here exists at run time.
import type { Pipeline } from './specs.ts';

declare const DOCUMENT: unique symbol;

/** One document type of one container, by the names of the model document. */
export interface Type<D extends object> {
  readonly container: string;
  readonly type: string;
  readonly [DOCUMENT]?: (doc: D) => D;
}

/** Where the model document is, kept under a symbol so that it can't meet a container's name. */
export const MODEL_FILE = Symbol.for('millrace.model.file');

export interface ModelFile {
  readonly [MODEL_FILE]: Pipeline['modelFile'];
}

/** `m.Container.type`, for the S that `millrace model types` generates. */
export type ModelOf<S> = ModelFile & {
  readonly [C in keyof S]: { readonly [T in keyof S[C]]: S[C][T] extends object ? Type<S[C][T]> : never };
};

/**
 * Equality join: joined document's field → field of the document being copied. Data, so that both directions can be read.
 * A field that is null or absent names no document, so it may be nullable or optional.
 */
export type On<P, C> = {
  readonly [K in keyof P]?: { [F in keyof C]-?: Names<C[F], P[K]> extends true ? F : never }[keyof C];
};

/** Whether what is there of a field can be a value of another; a field that is never there can't. */
type Names<Field, Value> = [NonNullable<Field>] extends [never]
  ? false
  : NonNullable<Field> extends NonNullable<Value>
    ? true
    : false;

export interface JoinOf<P extends object, C> {
  readonly of: Type<P>;
  readonly on: On<P, C>;
  /** Default `null`. */
  readonly missing?: 'wait' | 'null';
}

/** What a projection writes: the document without its discriminator, which Millrace stamps. */
export type Row<T> = Omit<T, 'type'>;

export interface Options {
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /**
   * What a source document's delete marker does. `remove` (default): its copy or contribution goes. `keep`: the marker
   * is ignored, so the copy or contribution stays as the marked document would have it.
   */
  readonly onDelete?: 'remove' | 'keep';
  /**
   * Declares that the sink's key (copy) or the groups (aggregate) of a document never change in its life. No locator
   * is kept then, which saves a write a change; if the declaration is false, stale copies or contributions stay behind.
   */
  readonly stable?: boolean;
  /**
   * What becomes of a sink document whose id Cosmos DB wouldn't take: over 1,023 bytes, or with one of `/ \\ # ?`. `hash`
   * (default): it is stored under the id's digest. `park`: the change becomes a dead letter.
   */
  readonly badIds?: 'hash' | 'park';
}
