import { type Span, covers, overlaps } from '../keys/spans.ts';

/**
 * Mappings of one map in memory, in the order of their codes; no key has two. A list map's are kept in the same way: among
 * 100,000 of them a table by hash is no faster, because both wait for memory.
 */
export class MappingCache<M extends Span> {
  /** Sorted by `low`. */
  #mappings: M[] = [];

  get size(): number {
    return this.#mappings.length;
  }

  find(code: string): M | undefined {
    const found = this.#mappings[this.#after(code) - 1];
    return found && covers(found, code) ? found : undefined;
  }

  /** Takes the place of the mappings that have a key in common with it. Returns how many these were. */
  put(mapping: M): number {
    let from = this.#after(mapping.low);
    if (from > 0 && overlaps(this.#mappings[from - 1]!, mapping)) from -= 1;
    let to = from;
    while (to < this.size && overlaps(this.#mappings[to]!, mapping)) to += 1;
    this.#mappings.splice(from, to - from, mapping);
    return to - from;
  }

  /** Returns how many mappings were removed. */
  removeIf(condition: (mapping: M) => boolean): number {
    const before = this.size;
    this.#mappings = this.#mappings.filter((mapping) => !condition(mapping));
    return before - this.size;
  }

  /** Returns whether it was there. */
  remove(mapping: M): boolean {
    const at = this.#after(mapping.low) - 1;
    return this.#mappings[at] === mapping && this.#mappings.splice(at, 1).length > 0;
  }

  /** The place of the first mapping whose `low` is above the code. */
  #after(code: string): number {
    const mappings = this.#mappings;
    let from = 0;
    let to = mappings.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (mappings[middle]!.low <= code) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
