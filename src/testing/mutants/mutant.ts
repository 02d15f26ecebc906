// A mutant: one file of the user's with one literal changed.
import type { Design } from '../../model/documents.ts';

export interface Mutant {
  readonly file: 'pipeline' | 'design';
  /** Counts from 1. */
  readonly line: number;
  /** What was there, and what is there now; empty: nothing. */
  readonly was: string;
  readonly is: string;
  /** The whole text of the file. */
  readonly text: string;
}

/** Adds mutants of one text, each of them once. */
export class Mutating {
  readonly all: Mutant[] = [];
  readonly #file: Mutant['file'];
  readonly #text: string;
  readonly #made = new Set<string>();

  constructor(file: Mutant['file'], text: string) {
    this.#file = file;
    this.#text = text;
  }

  replace(start: number, end: number, is: string): void {
    const was = this.#text.slice(start, end);
    const key = `${start} ${end} ${is}`;
    if (was === is || this.#made.has(key)) return;
    this.#made.add(key);
    const text = this.#text.slice(0, start) + is + this.#text.slice(end);
    this.all.push({ file: this.#file, line: this.#text.slice(0, start).split('\n').length, was, is, text });
  }
}

/**
 * For each field of the document's examples another field of the same document, of the same JSON type where there is one.
 * So a mutant reads a wrong field that exists, as people do, and not one that no type has.
 */
export function otherFields({ model }: Pick<Design, 'model'>): ReadonlyMap<string, string> {
  const others = new Map<string, string>();
  for (const example of model.containers.flatMap(({ types }) => types.flatMap(({ examples }) => examples))) {
    const fields = Object.entries(example).filter(([field]) => !['id', 'type', 'ttl'].includes(field));
    fields.forEach(([field, value], at) => {
      const rest = [...fields.slice(at + 1), ...fields.slice(0, at)];
      const other = rest.find(([, is]) => typeof is === typeof value && is !== value) ?? rest[0];
      if (other && !others.has(field)) others.set(field, other[0]);
    });
  }
  return others;
}

/** A number beside it, a duration twice as long, the other truth value. */
export function otherValue(value: string): string {
  const duration = /^(\d+)( ?[a-z]+)$/i.exec(value);
  if (duration) return `${2 * Number(duration[1])}${duration[2] ?? ''}`;
  const date = /^(\d{4})(-\d\d.*)$/.exec(value);
  if (date) return `${Number(date[1]) + 1}${date[2] ?? ''}`;
  return `${value}~`;
}
