import { compareAny } from './values.ts';

/** A place in the results of a query: directly after one row. */
export interface Position {
  /** The row's ORDER BY values; absent if they are too long for a token, and results are counted instead. */
  readonly values: readonly unknown[] | undefined;
  /** The seq of the row's document (`Readable.seq`); rows with equal values come in this order. */
  readonly seq: number;
  /** How many rows of the same document and values come before it: a JOIN makes several of one document. */
  readonly same: number;
  /** How many results were delivered up to here. */
  readonly delivered: number;
}

const NONE: readonly unknown[] = [];

/** Follows the rows of the outermost query in order. Knows its position, and which rows an earlier walk has passed. */
export class Walk {
  readonly from: Position | undefined;
  #values = NONE;
  #seq = -1;
  #same = 0;

  /** @param from where an earlier walk ended; absent: the beginning */
  constructor(from?: Position) {
    this.from = from;
  }

  /** Moves to the next row. True: an earlier walk has passed the row, even if documents were written or deleted meanwhile. */
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

  /** The position after the current row. */
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
