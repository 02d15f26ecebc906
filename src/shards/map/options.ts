// What the methods of a shard map take.
import type { KeyValue } from '../keys/key-type.ts';
import type { MappingStatus } from './documents.ts';
import type { LockOptions } from './plans.ts';
import type { Shard } from './values.ts';

export interface OperationOptions {
  /**
   * Names the call. A call with the id of one that took effect returns its result, for a day. Give one to repeat a call
   * whose answer was lost.
   */
  readonly operationId?: string;
  /** True: checks the call and returns what it would leave, from the map as it is now. Changes nothing. */
  readonly dryRun?: boolean;
}

export interface ChangeOptions extends OperationOptions, LockOptions {}

/** The keys of a new mapping: `key` on a list map, `low` and `high` on a range map; absent: the end of all keys. */
export interface NewMapping {
  readonly shard: Shard;
  readonly key?: KeyValue;
  readonly low?: KeyValue;
  readonly high?: KeyValue;
  /** Default `online`. */
  readonly status?: MappingStatus;
}

export type StrayKeys = Pick<NewMapping, 'key' | 'low' | 'high'>;

export interface MappingFilter {
  readonly shard?: Shard;
  /** With keys from this one on. Range maps only, like `high`. */
  readonly low?: KeyValue;
  /** With keys before this one. */
  readonly high?: KeyValue;
}
