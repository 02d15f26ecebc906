import type { QueryMeter } from './meter.ts';
import type { Patterns } from './regex.ts';

/** Shared by the functions of one query. */
export interface Tools {
  readonly meter: QueryMeter;
  readonly patterns: Patterns;
  /** The server's time, in milliseconds since 1970. */
  readonly now: () => number;
  /** The server's time when the query began. */
  readonly began: number;
}

type Call = (args: readonly unknown[], tools: Tools) => unknown;

/**
 * A scalar function. Arguments of a wrong type give undefined. Its caller counts the lengths of its arguments and of its
 * result. A function that costs more than that, or whose result must be refused before it is made, counts itself.
 */
export interface Fn {
  readonly least: number;
  readonly most: number;
  /** Absent: an undefined argument, also an optional one, makes the result undefined. */
  readonly takesUndefined?: true;
  readonly call: Call;
}

export const fn = (least: number, most: number, call: Call): Fn => ({ least, most, call });

export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isWholeNumber = (value: unknown): value is number => Number.isInteger(value);
