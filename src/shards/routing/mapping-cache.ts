import type { KeyValue } from '../keys/key-type.ts';
import { type KeySpan, covers, spansOverlap } from '../keys/spans.ts';

/** Mappings of one map in memory, in the order of their codes; no key has two. */
export class MappingCache<M extends KeySpan> {
  /** Sorted by `low`. */
  #mappings: M[] = [];
  /** Keys as callers gave them. Its mappings are all in `#mappings`: where one leaves there, this is cleared. */
  readonly #byKey = new Map<KeyValue, M>();

  get size(): number {
    return this.#mappings.length;
  }

  find(code: string): M | undefined {
    const found = this.#mappings[this.#after(code) - 1];
    return found && covers(found, code) ? found : undefined;
  }

  /** As `find`, for a key that was remembered, in that same form. */
  recall(key: KeyValue): M | undefined {
    return this.#byKey.get(key);
  }

  /** Remembers the key of a mapping that `find` has just returned, and that has no other key. */
  remember(key: KeyValue, mapping: M): void {
    // The caller may change an object. One key may have many forms, such as GUIDs in any case.
    if (typeof key === 'object') return;
    if (this.#byKey.size >= 2 * this.size) this.#byKey.clear();
    this.#byKey.set(key, mapping);
  }

  /** Takes the place of the mappings that have a key in common with it. Returns how many these were. */
  put(mapping: M): number {
    let from = this.#after(mapping.low);
    if (from > 0 && spansOverlap(this.#mappings[from - 1]!, mapping)) from -= 1;
    let to = from;
    while (to < this.size && spansOverlap(this.#mappings[to]!, mapping)) to += 1;
    this.#replace(from, to - from, mapping);
    return to - from;
  }

  /** Returns how many mappings were removed. */
  removeIf(condition: (mapping: M) => boolean): number {
    const before = this.size;
    this.#mappings = this.#mappings.filter((mapping) => !condition(mapping));
    this.#byKey.clear();
    return before - this.size;
  }

  /** Returns whether it was there. */
  remove(mapping: M): boolean {
    const at = this.#after(mapping.low) - 1;
    if (this.#mappings[at] !== mapping) return false;
    this.#replace(at, 1);
    return true;
  }

  #replace(at: number, count: number, ...mappings: M[]): void {
    this.#mappings.splice(at, count, ...mappings);
    if (count > 0) this.#byKey.clear();
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
