import { first } from '../../search.ts';
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
    const items = this.#items;
    const { length } = items;
    return length > 0 && items[length - 1]!.seq < seq ? length : first(length, (at) => items[at]!.seq >= seq);
  }
}
