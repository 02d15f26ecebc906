// Values that a row has, and which of them are equal. A symbol stands for a column of a row, or for a value that is the same
// during the whole statement.

export type Sym = number;

/**
 * In each row `a` equals `b`, and neither is null. `ab`: PostgreSQL's planner also makes a restriction of `b` from a
 * constant that `a` equals; `ba` the other way.
 */
export interface SqlFact {
  readonly a: Sym;
  readonly b: Sym;
  readonly ab: boolean;
  readonly ba: boolean;
}

/** Facts that hold in each row in which one of the symbols isn't null: those of an outer join's nullable side. */
export interface Conditional {
  readonly any: ReadonlySet<Sym>;
  readonly facts: readonly SqlFact[];
}

export interface Constant {
  /** Equal keys are equal values. */
  readonly key: string;
  /** Different literals are different values. Of other constants that isn't known. */
  readonly literal: boolean;
  /** Citus prunes by it: it is a literal, a parameter, or folds to one. */
  readonly prunes: boolean;
  /** It stands for a list of values: the column has one of them. */
  readonly list?: 'literals' | 'others';
}

interface Known {
  /** The family of the type; empty if not known. */
  readonly family: string;
  readonly constant?: Constant;
  /** A column of a table that is never null. */
  readonly required?: boolean | undefined;
}

export class Symbols {
  readonly #known: Known[] = [];
  readonly #constants = new Map<string, Sym>();

  fresh(family: string, required?: boolean): Sym {
    return this.#known.push({ family, required }) - 1;
  }

  isRequired(sym: Sym): boolean {
    return this.#known[sym]?.required ?? false;
  }

  constant(family: string, constant: Constant): Sym {
    const key = `${constant.prunes} ${constant.key}`;
    const found = constant.list === undefined ? this.#constants.get(key) : undefined;
    if (found !== undefined) return found;
    const made = this.#known.push({ family, constant }) - 1;
    // A list stands for several values, so that two equal lists are not two equal values.
    if (constant.list === undefined) this.#constants.set(key, made);
    return made;
  }

  familyOf(sym: Sym): string {
    return this.#known[sym]?.family ?? '';
  }

  constantOf(sym: Sym): Constant | undefined {
    return this.#known[sym]?.constant;
  }
}

/** What follows from facts. */
export class Closure {
  readonly #equal = new Map<Sym, Set<Sym>>();
  readonly #feeds = new Map<Sym, Set<Sym>>();
  /** Symbols that no row has as null. */
  readonly #present = new Set<Sym>();

  constructor(facts: readonly SqlFact[], conditionals: readonly Conditional[] = [], present: readonly Sym[] = []) {
    for (const sym of present) this.#present.add(sym);
    for (const fact of facts) this.#add(fact);
    let waiting = conditionals;
    for (let fired = true; fired;) {
      const [now, later] = [
        waiting.filter(({ any }) => this.isPresent(any)),
        waiting.filter(({ any }) => !this.isPresent(any)),
      ];
      for (const fact of now.flatMap((each) => each.facts)) this.#add(fact);
      waiting = later;
      fired = now.length > 0;
    }
  }

  /** One of the symbols is known not to be null. */
  isPresent(any: ReadonlySet<Sym>): boolean {
    return [...any].some((sym) => this.#present.has(sym));
  }

  /** The symbols that equal one of these, these included. */
  equalTo(syms: Iterable<Sym>): Set<Sym> {
    return reached(syms, this.#equal);
  }

  /** The symbols whose constants the planner passes on to one of these, these included. */
  feeding(syms: Iterable<Sym>): Set<Sym> {
    return reached(syms, this.#feeds);
  }

  #add({ a, b, ab, ba }: SqlFact): void {
    this.#present.add(a).add(b);
    link(this.#equal, a, b);
    link(this.#equal, b, a);
    if (ab) link(this.#feeds, b, a);
    if (ba) link(this.#feeds, a, b);
  }
}

function link(of: Map<Sym, Set<Sym>>, from: Sym, to: Sym): void {
  const known = of.get(from);
  if (known) known.add(to);
  else of.set(from, new Set([to]));
}

function reached(from: Iterable<Sym>, by: ReadonlyMap<Sym, ReadonlySet<Sym>>): Set<Sym> {
  const all = new Set(from);
  for (const sym of all) for (const next of by.get(sym) ?? []) all.add(next);
  return all;
}

export const withoutPruning = (facts: readonly SqlFact[]): SqlFact[] =>
  facts.map(({ a, b }) => ({ a, b, ab: false, ba: false }));
