import { partsOf } from './ast.ts';
import type { Expr } from './ast.ts';
import { compareAny, rank, same } from './values.ts';

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

/** Whether an expression is made of aggregates; those of subqueries are their own. */
export const holdsAggregate = (expr: Expr): boolean =>
  expr.kind === 'call' ? isAggregate(expr.name) || expr.args.some(holdsAggregate) : partsOf(expr).some(holdsAggregate);

/** One aggregate of one group. Undefined values are left out; SUM and AVG of anything but numbers are undefined. */
export class Accumulator {
  readonly #name: Aggregate;
  #count = 0;
  #sum = 0;
  #numeric = true;
  #extreme: unknown;
  readonly #list: unknown[] = [];

  constructor(name: Aggregate) {
    this.#name = name;
  }

  add(value: unknown): void {
    if (value === undefined || (this.#name === 'COUNTIF' && value !== true)) return;
    this.#count++;
    if (this.#name === 'SUM' || this.#name === 'AVG') {
      if (typeof value === 'number') this.#sum += value;
      else this.#numeric = false;
    } else if (this.#name === 'MAKELIST' || this.#name === 'MAKESET') {
      if (this.#name === 'MAKELIST' || !this.#list.some((known) => same(known, value))) this.#list.push(value);
    } else if (!this.#name.startsWith('COUNT') && rank(value) <= 4) {
      const order = this.#extreme === undefined ? -1 : compareAny(value, this.#extreme);
      if (this.#extreme === undefined || (this.#name === 'MIN' ? order < 0 : order > 0)) this.#extreme = value;
    }
  }

  get result(): unknown {
    if (this.#name.startsWith('COUNT')) return this.#count;
    if (this.#name.startsWith('MAKE')) return this.#list;
    if (this.#name === 'SUM') return this.#numeric ? this.#sum : undefined;
    if (this.#name === 'AVG') return this.#numeric && this.#count > 0 ? this.#sum / this.#count : undefined;
    return this.#extreme;
  }
}
