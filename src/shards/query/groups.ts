import { canonical } from '../../base/json.ts';
import { Total } from './aggregates.ts';
import type { GroupsPlan } from './plan.ts';

/** A shard's row: `key0` … are the group's values; an aggregate's parts end in the number of its column. */
export type GroupRow = Readonly<Record<string, unknown>>;

/** Puts the groups of several shards together. */
export class Groups {
  readonly #plan: GroupsPlan;
  readonly #groups = new Map<string, { readonly first: GroupRow; readonly totals: readonly (Total | undefined)[] }>();

  constructor(plan: GroupsPlan) {
    this.#plan = plan;
  }

  get size(): number {
    return this.#groups.size;
  }

  add(row: GroupRow): void {
    const { keys, columns } = this.#plan;
    const values = Array.from({ length: keys }, (_, at) => row[`key${at}`]);
    // Null and a missing value are different groups.
    const name = canonical(values.map((value) => (value === undefined ? [] : [value])));
    let group = this.#groups.get(name);
    if (!group) {
      const totals = columns.map((column) => ('aggregate' in column ? new Total(column.aggregate) : undefined));
      this.#groups.set(name, (group = { first: row, totals }));
    }
    for (const [at, total] of group.totals.entries()) total?.add((part) => row[`${part}${at}`]);
  }

  /** The rows of the answer, in the order in which their groups came. */
  *results(): Generator {
    const { columns, bare } = this.#plan;
    for (const { first, totals } of this.#groups.values()) {
      const values = columns.map((column, at) => ('key' in column ? first[`key${column.key}`] : totals[at]!.result));
      const members = columns.flatMap(({ name }, at) => (values[at] === undefined ? [] : [[name, values[at]]]));
      if (!bare) yield Object.fromEntries(members);
      else if (values[0] !== undefined) yield values[0];
    }
  }
}
