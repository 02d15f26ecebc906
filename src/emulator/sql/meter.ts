import { SqlError } from './tokens.ts';

/** Steps of about a nanosecond: a query with more would block all others for over a second. */
const MAX_STEPS = 8e8;
/** A longer text fits into no answer. */
const MAX_TEXT = 4 * 1024 * 1024;
/** Most characters made for one row. */
const MAX_ROW = 16 * 1024 * 1024;
/** Most bytes kept until the last row is read, to sort, group or compare. */
const MAX_KEPT = 256 * 1024 * 1024;

/** Bytes of an array or object without its content. */
const PARTS_BYTES = 32;
/** Counting the size of a smaller value again costs no more than remembering it. */
const WORTH_KNOWING = 500;

/** The cost of sorting the members of an object and writing it, for each character. */
const CANONICAL_STEPS = 40;
/** The same of a value without parts. */
const WRITE_STEPS = 5;

/** The cost of a row: to read it, to keep it, and to compare it with another. */
export const ROW_STEPS = 250;
export const ROW_BYTES = 500;
export const COMPARE_STEPS = 100;
/** Bytes of a text in a set without its characters. */
export const KEY_BYTES = 100;

/**
 * Counts the work and memory of one query, and ends it with a SqlError before it uses too much (docs/emulator.md, "What a
 * query may take"). It counts work and not time, so that a query is refused on every machine or on none.
 */
export class QueryMeter {
  #steps = 0;
  #made = 0;
  #kept = 0;
  readonly #sizes = new WeakMap<object, number>();

  /** Bytes that are kept until the query ends. */
  get kept(): number {
    return this.#kept;
  }

  work(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) refuse('more work than one query may take. Restrict what it reads');
  }

  /** What was done so far was another query's. */
  restart(): void {
    this.#steps = 0;
    this.#made = 0;
  }

  /** Begins the next row: the values made for the row before are no longer needed. */
  row(): void {
    this.#made = 0;
  }

  /** Call it before a text is made. */
  text(length: number): void {
    if (length > MAX_TEXT) refuse('a text of more than 4 MB. Make shorter texts');
    this.make(length);
  }

  /** Call it before or directly after making a value that lives as long as its row. */
  make(size: number): void {
    this.#made += size;
    if (this.#made > MAX_ROW) refuse('more than 16 MB for one row. Make less of a row');
    this.work(size);
  }

  /** Call it for a value that lives until the query ends. */
  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > MAX_KEPT) {
      refuse('more than 256 MB to sort, group or compare. Restrict what it reads');
    }
    this.work(bytes);
  }

  /** About the bytes of a value, and at least the characters of its JSON. A part that occurs twice counts twice. */
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

  /** Call it before a value is written in its canonical form. */
  canonical(value: unknown): void {
    const hasParts = typeof value === 'object' && value !== null;
    this.work(this.sizeOf(value) * (hasParts ? CANONICAL_STEPS : WRITE_STEPS));
  }
}

function refuse(what: string): never {
  throw new SqlError('SC3001', `The query needs ${what}, or split it into several queries.`, 0, 0);
}
