import { UsageError } from '../base/errors.ts';
import { murmur32 } from '../cosmos/murmur.ts';

export interface ShardOptions {
  /** How many keys the writes of one are spread over; 10,000 RU/s is what one key takes at most. */
  readonly shards: number;
  /**
   * What a shard is chosen by. `hash`: any text that every reader of the one document knows, such as its id. `time`: its
   * date; documents of one step lie together, and successive steps on successive shards.
   */
  readonly by: 'hash' | 'time';
  /** With `time`: milliseconds of a step; default 1. */
  readonly everyMs?: number;
  /** Every other number of shards that was ever in use, since its documents may lie there still. */
  readonly formerly?: readonly number[];
}

export interface ShardedKey {
  /** `.7`: what the key of a document that is written now ends in. `of`: text for `hash`, a date for `time`. */
  suffix(of: string | number | Date): string;
  /** The key that a document is written under now. */
  keyOf(base: string, of: string | number | Date): string;
  /** Where one document may be, the newest number of shards first: to read it, or before writing it anew. */
  candidates(base: string, of: string | number | Date): string[];
  /** Every key that documents of `base` may be under: for `readShards`. */
  all(base: string): string[];
}

/** The most shards that make sense to ask at once: each is a query of 2 RU or more. */
const MOST = 1_000;

/**
 * Spreads the writes of one hot partition key over several. Suffixes are never padded, so that the number of shards may
 * change: put the former number into `formerly`, and readers ask as many as there ever were.
 * @throws UsageError `shards-invalid`
 */
export function shardedKey({ shards, by, everyMs = 1, formerly = [] }: ShardOptions): ShardedKey {
  for (const count of [shards, ...formerly]) {
    if (Number.isInteger(count) && count >= 1 && count <= MOST) continue;
    throw invalid(`${String(count)} is no number of shards`, `Give a whole number from 1 to ${MOST}.`);
  }
  if (by !== 'hash' && by !== 'time')
    throw invalid(`Shards can't be chosen by ${String(by)}`, "Write 'hash' or 'time'.");
  if (!Number.isInteger(everyMs) || everyMs < 1)
    throw invalid(`A step of ${String(everyMs)} ms makes no sense`, 'Give everyMs as a whole number of milliseconds.');

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
  throw invalid('A date was given to shards that are chosen by hash', "Give text, or shard by: 'time'.");
}

function timeOf(of: string | number | Date): number {
  const ms = of instanceof Date ? of.getTime() : typeof of === 'string' ? Date.parse(of) : of;
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw invalid(`${String(of)} is no date since 1970`, 'Give a Date, ISO 8601 text or milliseconds since 1970.');
}

const invalid = (message: string, mend: string): UsageError => new UsageError('shards-invalid', message, { mend });
