import { RE2JS, RE2JSException } from 're2js';
import type { Meter } from './meter.ts';
import { SqlError } from './tokens.ts';

/** A repetition is written out when it is compiled, a thousandfold at most for seven characters. */
const MAX_PATTERN = 1000;
const MAX_KNOWN = 20;
/** What it costs to make one instruction of a compiled pattern. */
const COMPILE_STEPS = 1000;
/** What one costs for each character of a text: a small program mostly runs as an automaton, which costs less. */
const SMALL_STEPS = 5;
const LARGE = 100;
const LARGE_STEPS = 25;

const FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
};

/**
 * The regular expressions of one query, matched in time linear in the text. The service has PCRE, of which this lacks
 * what needs backtracking: it is refused, so that nothing means one thing here and another there.
 */
export class Patterns {
  readonly #meter: Meter;
  readonly #known = new Map<string, { readonly compiled: RE2JS; readonly size: number }>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** @param modifiers some of `i`, `m`, `s` and `x` */
  test(text: string, pattern: string, modifiers: string): boolean {
    return this.#compiled(text, pattern, modifiers).test(text);
  }

  /** The first capture, or the whole match where the pattern has none; undefined where nothing matches. */
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
      throw refused(`The regular expression has ${pattern.length} characters: at most ${MAX_PATTERN} are taken here.`);
    }
    let flags = RE2JS.LOOKBEHINDS;
    for (const modifier of modifiers) {
      if (modifier !== 'x' && FLAGS[modifier] === undefined) {
        throw refused(`There is no modifier '${modifier}' of a regular expression: use i, m, s or x.`);
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
        `The regular expression isn't understood here (${error.message}). Lookahead, references back, atomic groups, possessive repetitions and more than 1,000 repetitions need backtracking, which isn't offered.`,
      );
    }
  }
}

const refused = (message: string): SqlError => new SqlError('SC2008', message, 0, 0);

/** As the modifier `x` reads a pattern: without white space and comments, but for what is escaped or in a class. */
function withoutSpace(pattern: string): string {
  const parts = pattern.matchAll(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|#.*|\s+|[^\\[#\s]+/gsu);
  return [...parts].map(([part]) => (/^[#\s]/u.test(part) ? '' : part)).join('');
}
