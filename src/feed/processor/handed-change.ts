import type { Identity, Version } from '../reading/change.ts';

interface AnyChange extends Identity {
  /** The document's field `type` where it is text, else empty. */
  readonly type: string;
  readonly version: Version;
  /** `_ts` in milliseconds. It says when, never in which order. */
  readonly at: number;
}

/** A change of the latest-version feed: the document as it is now. This feed reports no deletions. */
export interface HandedChange<T = Record<string, unknown>> extends AnyChange {
  readonly op: 'upsert';
  /** As it is stored, system fields included. */
  readonly doc: T;
}

/** A change of the all-versions-and-deletes feed. `op` and `operation` say whether there is a `doc`. */
export type VersionChange<T = Record<string, unknown>> =
  | Written<T, 'create'>
  | Written<T, 'replace'>
  | Removed<T, 'delete'>
  /** Its time to live deleted it. */
  | Removed<T, 'expired'>;

interface Written<T, Operation> extends AnyChange {
  readonly op: 'upsert';
  readonly operation: Operation;
  readonly doc: T;
  /** The version before, if the account keeps previous images. */
  readonly before?: T;
}

interface Removed<T, Operation> extends AnyChange {
  readonly op: 'delete';
  readonly operation: Operation;
  readonly doc?: undefined;
  /** The deleted version, if the account keeps previous images. */
  readonly before?: T;
}
