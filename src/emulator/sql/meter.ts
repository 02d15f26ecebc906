import { SqlError } from './tokens.ts';

/** Of about a nanosecond: a query that needs more would keep all others waiting for seconds. */
const MAX_STEPS = 3e9;
/** A text that is longer fits into no answer. */
const MAX_TEXT = 4 * 1024 * 1024;
/** What one row may be made of, in characters. */
const MAX_ROW = 16 * 1024 * 1024;
/** What is kept until the last row was read, to be sorted, grouped or told apart, in bytes. */
const MAX_KEPT = 256 * 1024 * 1024;

/** What an array or object takes beside what it holds. */
const PARTS_BYTES = 32;
/** To find the size of less takes no longer than to remember it. */
const WORTH_KNOWING = 500;

/** What it costs to put the members of an object in order and write it, for each character. */
const CANONICAL_STEPS = 40;

/** What a row costs: to be read, to be kept among others, and to be compared with another. */
export const ROW_STEPS = 250;
export const ROW_BYTES = 500;
export const COMPARE_STEPS = 100;
/** What a text takes in a set beside its characters. */
export const KEY_BYTES = 100;

/**
 * Counts what one query takes, and ends it with a SqlError before it takes too much of the server (docs/emulator.md,
 * "What a query may take"). It counts work, not time: the same query is refused on each machine or on none.
 */
export class Meter {
  #steps = 0;
  #made = 0;
  #kept = 0;
  readonly #sizes = new WeakMap<object, number>();

  /** What is kept until the query ends, in bytes. */
  get kept(): number {
    return this.#kept;
  }

  work(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) refuse('more work than one query may take. Restrict what it reads');
  }

  /** Begins another row: what was made for the one before is gone. */
  row(): void {
    this.#made = 0;
  }

  /** Before a text is made. */
  text(length: number): void {
    if (length > MAX_TEXT) refuse('a text of more than 4 MB. Make shorter texts');
    this.make(length);
  }

  /** Before, or right behind, anything is made that lives as long as its row. */
  make(size: number): void {
    this.#made += size;
    if (this.#made > MAX_ROW) refuse('more than 16 MB for one row. Make less of a row');
    this.work(size);
  }

  /** For anything that lives until the query ends. */
  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > MAX_KEPT) {
      refuse('more than 256 MB to sort, group or compare. Restrict what it reads');
    }
    this.work(bytes);
  }

  /** About how many bytes a value takes, and characters as JSON at most. Parts that are there twice count twice. */
  sizeOf(value: unknown): number {
    if (typeof value === 'string') return value.length + 2;
    if (typeof value === 'number') return value >= 0 && value <= 9 ? 1 : 10;
    if (typeof value !== 'object' || value === null) return 4;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = PARTS_BYTES;
    if (Array.isArray(value)) for (const item of value as unknown[]) size += 1 + this.sizeOf(item);
    else for (const [name, item] of Object.entries(value)) size += name.length + 4 + this.sizeOf(item);
    if (size > WORTH_KNOWING) this.#sizes.set(value, size);
    return size;
  }

  /** Before a value is written in its canonical form, to be told from others. */
  canonical(value: unknown): void {
    this.work(this.sizeOf(value) * CANONICAL_STEPS);
  }
}

function refuse(what: string): never {
  throw new SqlError('SC3001', `The query needs ${what}, or ask for the rest by another query.`, 0, 0);
}
