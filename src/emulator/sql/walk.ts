import { compareAny } from './values.ts';

/** A place in the results of a query: right behind one row. */
export interface Position {
  /** What the row is ordered by; absent where that is too long to be told, and results are counted instead. */
  readonly values: readonly unknown[] | undefined;
  /** Of the document that the row was made of (`Readable.seq`); rows of equal values come in this order. */
  readonly seq: number;
  /** How many rows of the same document and values lie before it: a JOIN makes several of one. */
  readonly same: number;
  /** How many results were delivered up to here. */
  readonly delivered: number;
}

const NONE: readonly unknown[] = [];

/** Goes along the rows of the outermost query, in their order: knows where it is, and what lies before the place it began. */
export class Walk {
  readonly from: Position | undefined;
  #values = NONE;
  #seq = -1;
  #same = 0;

  /** @param from where an earlier walk ended; absent: at the beginning */
  constructor(from?: Position) {
    this.from = from;
  }

  /** Comes to the next row; tells whether it was passed already, however much was written or deleted meanwhile. */
  passes(values: readonly unknown[] = NONE, seq: number, descending: readonly boolean[]): boolean {
    const alike = seq === this.#seq && compare(values, this.#values, descending) === 0;
    this.#same = alike ? this.#same + 1 : 0;
    this.#values = values;
    this.#seq = seq;
    const { from } = this;
    if (!from?.values) return false;
    const order = compare(values, from.values, descending) || seq - from.seq;
    return order < 0 || (order === 0 && this.#same <= from.same);
  }

  /** Behind the row it came to last. */
  at(delivered: number): Position {
    return { values: this.#values, seq: this.#seq, same: this.#same, delivered };
  }
}

function compare(a: readonly unknown[], b: readonly unknown[], descending: readonly boolean[]): number {
  for (let i = 0; i < a.length; i++) {
    const order = compareAny(a[i], b[i]);
    if (order !== 0) return descending[i] === true ? -order : order;
  }
  return 0;
}
