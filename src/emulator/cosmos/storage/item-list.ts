import type { Item } from './logical-partition.ts';

const COMPACT_FROM = 4096;

/** The items of a container by ascending seq. Those that are gone stay among them until they outnumber the others. */
export class ItemList {
  #items: Item[] = [];
  #gone = 0;

  /** Takes an item that isn't among them; one that is stays. */
  add(item: Item): void {
    const at = this.#place(item.seq);
    if (at === this.#items.length) this.#items.push(item);
    else if (this.#items[at] !== item) this.#items.splice(at, 0, item);
  }

  /** The caller has taken the item's current version away. */
  retire(): void {
    if (++this.#gone <= COMPACT_FROM || this.#gone * 2 <= this.#items.length) return;
    this.#items = this.#items.filter(({ current }) => current);
    this.#gone = 0;
  }

  /** From the first whose seq isn't below. */
  *from(seq: number): Generator<Item, void> {
    const items = this.#items;
    for (let at = this.#place(seq); at < items.length; at++) yield items[at]!;
  }

  #place(seq: number): number {
    let low = 0;
    let high = this.#items.length;
    if (high > 0 && this.#items[high - 1]!.seq < seq) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#items[middle]!.seq < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
