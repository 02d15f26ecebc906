import type { Meter } from './meter.ts';
import type { Patterns } from './regex.ts';

/** What the functions of one query share. */
export interface Tools {
  readonly meter: Meter;
  readonly patterns: Patterns;
  /** The server's time, in milliseconds since 1970. */
  readonly now: () => number;
  /** What it was when the query began. */
  readonly began: number;
}

type Call = (args: readonly unknown[], tools: Tools) => unknown;

/**
 * A scalar function. Arguments of a wrong type give undefined. Its caller counts how long texts and arrays are that go
 * in and come out; what costs more than that, or has to be refused before it is made, a function counts itself.
 */
export interface Fn {
  readonly least: number;
  readonly most: number;
  /** Absent: one argument that is undefined makes the result undefined, an optional one too. */
  readonly takesUndefined?: true;
  readonly call: Call;
}

export const fn = (least: number, most: number, call: Call): Fn => ({ least, most, call });

export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isWhole = (value: unknown): value is number => Number.isInteger(value);
