import type { Clock } from '../../base/clock.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import type { ReadKeys } from '../archive/foreign-keys.ts';
import type { ValuesInput } from './values.ts';

export interface BackfillOptions extends Parts {
  readonly container: string;
  /** Only documents of this type. */
  readonly type?: string | undefined;
  readonly values: ValuesInput;
  readonly actor: string;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** How long it waits for hosts that don't process the documents, milliseconds. Default a minute. */
  readonly patienceMs?: number | undefined;
  /** Reads which keys are to be left alone. Default: those that move, and those that the map gives to another shard. */
  readonly foreign?: ReadKeys;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number;
  /** The most documents of a page of the feed, after which the progress is stored. Default 1,000. */
  readonly pageSize?: number;
  /** Called after each page with the documents written so far. */
  readonly progress?: (written: number) => void;
}

/** A document that still lacks its tenant. */
export interface Left {
  readonly key: readonly unknown[];
  readonly id: string;
  readonly why: string;
}

export interface Backfilled {
  readonly container: string;
  readonly field: string;
  /** Documents written. A run that died may have written more. */
  readonly written: number;
  /** Documents that still lack the field at the end. */
  readonly left: number;
  /** The first of them. */
  readonly examples: readonly Left[];
  /** Request units of this run: to read the feed, and to look up and write. */
  readonly ru: { readonly reading: number; readonly writing: number };
}
