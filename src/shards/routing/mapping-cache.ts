import { type Span, covers, overlaps } from '../keys/spans.ts';

/** Mappings of one map in memory; no key has two. */
export interface MappingCache<M extends Span> {
  readonly size: number;
  find(code: string): M | undefined;
  /** Takes the place of the mappings that have a key in common with it. Returns how many these were. */
  put(mapping: M): number;
  /** Returns how many mappings were removed. */
  removeIf(condition: (mapping: M) => boolean): number;
  remove(mapping: M): number;
}

/** Of a list map: by the code of the key. */
export class ListCache<M extends Span> implements MappingCache<M> {
  readonly #mappings = new Map<string, M>();

  get size(): number {
    return this.#mappings.size;
  }

  find(code: string): M | undefined {
    return this.#mappings.get(code);
  }

  put(mapping: M): number {
    const removed = this.#mappings.has(mapping.low) ? 1 : 0;
    this.#mappings.set(mapping.low, mapping);
    return removed;
  }

  removeIf(condition: (mapping: M) => boolean): number {
    const before = this.size;
    for (const [code, mapping] of this.#mappings) if (condition(mapping)) this.#mappings.delete(code);
    return before - this.size;
  }

  remove(mapping: M): number {
    return this.find(mapping.low) === mapping && this.#mappings.delete(mapping.low) ? 1 : 0;
  }
}

/** Of a range map: in the order of the codes. */
export class RangeCache<M extends Span> implements MappingCache<M> {
  /** Sorted by `low`. */
  #mappings: M[] = [];

  get size(): number {
    return this.#mappings.length;
  }

  find(code: string): M | undefined {
    const found = this.#mappings[this.#after(code) - 1];
    return found && covers(found, code) ? found : undefined;
  }

  put(mapping: M): number {
    let from = this.#after(mapping.low);
    if (from > 0 && overlaps(this.#mappings[from - 1]!, mapping)) from -= 1;
    let to = from;
    while (to < this.size && overlaps(this.#mappings[to]!, mapping)) to += 1;
    this.#mappings.splice(from, to - from, mapping);
    return to - from;
  }

  removeIf(condition: (mapping: M) => boolean): number {
    const before = this.size;
    this.#mappings = this.#mappings.filter((mapping) => !condition(mapping));
    return before - this.size;
  }

  remove(mapping: M): number {
    const at = this.#after(mapping.low) - 1;
    if (this.#mappings[at] !== mapping) return 0;
    this.#mappings.splice(at, 1);
    return 1;
  }

  /** The place of the first mapping whose `low` is above the code. */
  #after(code: string): number {
    let from = 0;
    let to = this.#mappings.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.#mappings[middle]!.low <= code) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
