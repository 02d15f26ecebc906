import { first } from '../../search.ts';
import type { StoredItem } from './logical-partition.ts';

const COMPACT_FROM = 4096;

/** The items of a container by ascending seq. Deleted items stay in the list until they outnumber the others. */
export class ItemList {
  #items: StoredItem[] = [];
  #gone = 0;

  /** How many are there, without the deleted ones. */
  get size(): number {
    return this.#items.length - this.#gone;
  }

  /** Adds an item if it isn't in the list. */
  add(item: StoredItem): void {
    const at = this.#place(item.seq);
    if (at === this.#items.length) this.#items.push(item);
    else if (this.#items[at] !== item) this.#items.splice(at, 0, item);
  }

  /** Counts a deleted item. The caller has removed the item's current version. */
  retire(): void {
    if (++this.#gone <= COMPACT_FROM || this.#gone * 2 <= this.#items.length) return;
    this.#items = this.#items.filter(({ current }) => current);
    this.#gone = 0;
  }

  /** The items whose seq is at least `seq`. */
  *from(seq: number): Generator<StoredItem, void> {
    const items = this.#items;
    for (let at = this.#place(seq); at < items.length; at++) yield items[at]!;
  }

  #place(seq: number): number {
    const items = this.#items;
    const { length } = items;
    return length > 0 && items[length - 1]!.seq < seq ? length : first(length, (at) => items[at]!.seq >= seq);
  }
}
