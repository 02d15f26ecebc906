import { RE2JS, RE2JSException } from 're2js';
import type { QueryMeter } from './meter.ts';
import { SqlError } from './tokens.ts';

/** Most characters of a pattern. Compiling expands repetitions: seven characters can become a thousand instructions. */
const MAX_PATTERN = 1000;
const MAX_KNOWN = 20;
/** The cost of making one instruction of a compiled pattern. */
const COMPILE_STEPS = 1000;
/** The cost of one instruction for each character of a text. A small program usually runs as an automaton, which costs less. */
const SMALL_STEPS = 5;
const LARGE = 100;
const LARGE_STEPS = 25;

const FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
};

/**
 * The regular expressions of one query, matched in time linear in the text. The service uses PCRE. Patterns that need
 * backtracking are refused here, so that no pattern has a different meaning here and there.
 */
export class Patterns {
  readonly #meter: QueryMeter;
  readonly #known = new Map<string, { readonly compiled: RE2JS; readonly size: number }>();

  constructor(meter: QueryMeter) {
    this.#meter = meter;
  }

  /** @param modifiers some of `i`, `m`, `s` and `x` */
  test(text: string, pattern: string, modifiers: string): boolean {
    return this.#compiled(text, pattern, modifiers).test(text);
  }

  /** The first capture, or the whole match if the pattern has none; undefined without a match. */
  extract(text: string, pattern: string): string | undefined {
    const found = this.#compiled(text, pattern, '').matcher(text);
    if (!found.find()) return undefined;
    return (found.groupCount() > 0 ? found.group(1) : null) ?? found.group() ?? undefined;
  }

  #compiled(text: string, pattern: string, modifiers: string): RE2JS {
    const key = `${modifiers}/${pattern}`;
    let known = this.#known.get(key);
    if (!known) {
      known = this.#compile(pattern, modifiers);
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(key, known);
    }
    const each = known.size > LARGE ? LARGE_STEPS : SMALL_STEPS;
    this.#meter.work(text.length * (10 + known.size * each));
    return known.compiled;
  }

  #compile(pattern: string, modifiers: string): { compiled: RE2JS; size: number } {
    if (pattern.length > MAX_PATTERN) {
      throw refused(`The regular expression has ${pattern.length} characters; the limit here is ${MAX_PATTERN}.`);
    }
    let flags = RE2JS.LOOKBEHINDS;
    for (const modifier of modifiers) {
      if (modifier !== 'x' && FLAGS[modifier] === undefined) {
        throw refused(`Regular expressions have no modifier '${modifier}': use i, m, s or x.`);
      }
      flags |= FLAGS[modifier] ?? 0;
    }
    try {
      const compiled = RE2JS.compile(modifiers.includes('x') ? withoutSpace(pattern) : pattern, flags);
      const size = compiled.programSize();
      this.#meter.work(size * COMPILE_STEPS);
      return { compiled, size };
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      throw refused(
        `The regular expression is not supported here (${error.message}). Lookahead, backreferences, atomic groups, possessive quantifiers and more than 1,000 repetitions need backtracking, which is not supported.`,
      );
    }
  }
}

const refused = (message: string): SqlError => new SqlError('SC2008', message, 0, 0);

/** A pattern with the modifier `x`: without white space and comments, except those that are escaped or in a class. */
function withoutSpace(pattern: string): string {
  const parts = pattern.matchAll(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|#.*|\s+|[^\\[#\s]+/gsu);
  return [...parts].map(([part]) => (/^[#\s]/u.test(part) ? '' : part)).join('');
}
