import { sharedError } from '../base/shared-errors.ts';
import type { UsageError } from '../base/errors.ts';
import { murmur32 } from '../cosmos/murmur.ts';

export interface ShardOptions {
  /** The number of keys over which the writes of one key are spread; one key takes at most 10,000 RU/s. */
  readonly shards: number;
  /**
   * How a shard is chosen. `hash`: by any text that every reader of one document knows, such as its id. `time`: by its
   * date; documents of one step share a shard, and successive steps use successive shards.
   */
  readonly by: 'hash' | 'time';
  /** With `time`: milliseconds of a step; default 1. */
  readonly everyMs?: number;
  /** Every other number of shards that was ever in use, since documents may still be under its keys. */
  readonly formerly?: readonly number[];
}

export interface ShardedKey {
  /** The key suffix of a document that is written now, such as `.7`. `of`: text for `hash`, a date for `time`. */
  suffix(of: string | number | Date): string;
  /** The key of a document that is written now. */
  keyOf(base: string, of: string | number | Date): string;
  /** The keys that one document may have, newest number of shards first: to read it, or before it is written again. */
  candidates(base: string, of: string | number | Date): string[];
  /** Every key that documents of `base` may have, for `readShards`. */
  all(base: string): string[];
}

/** The most shards: a read needs a query of 2 RU or more for each. */
const MOST = 1_000;

/**
 * Spreads the writes of one hot partition key over several. Suffixes have no padding, so the number of shards may
 * change: add the former number to `formerly`, so that readers also query the former keys.
 * @throws UsageError `option-invalid`
 */
export function shardedKey({ shards, by, everyMs = 1, formerly = [] }: ShardOptions): ShardedKey {
  for (const count of [shards, ...formerly]) {
    if (Number.isInteger(count) && count >= 1 && count <= MOST) continue;
    throw invalid(`${String(count)} is not a valid number of shards`, `Give a whole number from 1 to ${MOST}.`);
  }
  if (by !== 'hash' && by !== 'time') throw invalid(`by is ${String(by)}`, "Write 'hash' or 'time'.");
  if (!Number.isInteger(everyMs) || everyMs < 1)
    throw invalid(`everyMs is ${String(everyMs)}`, 'Give a whole number of milliseconds, 1 or more.');

  const counts = [...new Set([shards, ...formerly])];
  const suffixOf = (of: string | number | Date, count: number): string =>
    `.${(by === 'hash' ? murmur32(Buffer.from(textOf(of))) : Math.floor(timeOf(of) / everyMs)) % count}`;
  return {
    suffix: (of) => suffixOf(of, shards),
    keyOf: (base, of) => base + suffixOf(of, shards),
    candidates: (base, of) => [...new Set(counts.map((count) => base + suffixOf(of, count)))],
    all: (base) => Array.from({ length: Math.max(...counts) }, (_, shard) => `${base}.${shard}`),
  };
}

function textOf(of: string | number | Date): string {
  if (typeof of === 'string' || typeof of === 'number') return String(of);
  throw invalid("Shards with by: 'hash' got a date", "Give text, or declare by: 'time'.");
}

function timeOf(of: string | number | Date): number {
  const ms = of instanceof Date ? of.getTime() : typeof of === 'string' ? Date.parse(of) : of;
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw invalid(`${String(of)} is not a date since 1970`, 'Give a Date, ISO 8601 text or milliseconds since 1970.');
}

const invalid = (message: string, hint: string): UsageError => sharedError('option-invalid', message, { hint });
