import { canonical } from '../../base/json.ts';
import { queryPartsOf } from './ast.ts';
import type { Expr } from './ast.ts';
import { compareAny, rank } from './values.ts';

export type Aggregate = 'COUNT' | 'COUNTIF' | 'SUM' | 'AVG' | 'MIN' | 'MAX' | 'MAKELIST' | 'MAKESET';

const AGGREGATES = new Set<string>([
  'COUNT',
  'COUNTIF',
  'SUM',
  'AVG',
  'MIN',
  'MAX',
  'MAKELIST',
  'MAKESET',
] satisfies Aggregate[]);

export const isAggregate = (name: string): boolean => AGGREGATES.has(name);

/** Whether an expression contains an aggregate. Aggregates in subqueries don't count. */
export const holdsAggregate = (expr: Expr): boolean =>
  expr.kind === 'call'
    ? isAggregate(expr.name) || expr.args.some(holdsAggregate)
    : queryPartsOf(expr).some(holdsAggregate);

/**
 * One aggregate of one group. Undefined values are left out; SUM and AVG of anything but numbers are undefined, MIN and
 * MAX where an array or an object is among the values.
 */
export class Accumulator {
  readonly #name: Aggregate;
  #count = 0;
  #sum = 0;
  #defined = true;
  #extreme: unknown;
  readonly #list: unknown[] = [];
  readonly #known = new Set<string>();

  readonly #keep: (value: unknown) => void;

  /** @param keep is called with each value that is kept */
  constructor(name: Aggregate, keep: (value: unknown) => void) {
    this.#name = name;
    this.#keep = keep;
  }

  add(value: unknown): void {
    if (value === undefined || (this.#name === 'COUNTIF' && value !== true)) return;
    this.#count++;
    if (this.#name === 'SUM' || this.#name === 'AVG') {
      if (typeof value === 'number') this.#sum += value;
      else this.#defined = false;
    } else if (this.#name === 'MAKELIST' || this.#name === 'MAKESET') {
      this.#keep(value);
      if (this.#name === 'MAKELIST' || this.#isNew(value)) this.#list.push(value);
    } else if (!this.#name.startsWith('COUNT')) {
      if (rank(value) > 4) this.#defined = false;
      if (!this.#defined) return;
      const order = this.#extreme === undefined ? -1 : compareAny(value, this.#extreme);
      if (this.#extreme === undefined || (this.#name === 'MIN' ? order < 0 : order > 0)) this.#extreme = value;
    }
  }

  #isNew(value: unknown): boolean {
    const before = this.#known.size;
    return this.#known.add(canonical(value)).size > before;
  }

  get result(): unknown {
    if (this.#name.startsWith('COUNT')) return this.#count;
    if (this.#name.startsWith('MAKE')) return this.#list;
    if (!this.#defined) return undefined;
    if (this.#name === 'SUM') return this.#sum;
    if (this.#name === 'AVG') return this.#count > 0 ? this.#sum / this.#count : undefined;
    return this.#extreme;
  }
}
