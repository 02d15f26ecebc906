import type { Item, Version } from './logical-partition.ts';

/**
 * How many items of a logical partition a condition holds for, kept up to date by every write. Code that changes an item's
 * current version must update it.
 */
export class Tally {
  readonly #holds: (version: Version) => boolean;
  readonly #counted = new Set<Item>();
  readonly #sizes = new Map<Item, number>();
  readonly #mortal = new Set<Item>();
  #bytes = 0;
  #unused = 0;

  constructor(holds: (version: Version) => boolean, items: Iterable<Item>) {
    this.#holds = holds;
    for (const item of items) this.update(item);
    this.#unused = 0;
  }

  get count(): number {
    return this.#counted.size;
  }

  /** Of all items, as a query reads them to count. */
  get documents(): number {
    return this.#sizes.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an item has a time to live of its own, so that the number may change without a write. */
  get mayExpire(): boolean {
    return this.#mortal.size > 0;
  }

  /** By now more was spent to keep it up to date than a new one costs. */
  get isIdle(): boolean {
    return this.#unused > this.#sizes.size;
  }

  use(): void {
    this.#unused = 0;
  }

  /** The item's current version has changed. */
  update(item: Item): void {
    const { current } = item;
    this.#unused += 1;
    this.#bytes += (current?.size ?? 0) - (this.#sizes.get(item) ?? 0);
    if (current) this.#sizes.set(item, current.size);
    else this.#sizes.delete(item);
    put(this.#counted, item, current !== undefined && this.#holds(current));
    put(this.#mortal, item, (current?.ttl ?? 0) > 0);
  }
}

function put(items: Set<Item>, item: Item, isIn: boolean): void {
  if (isIn) items.add(item);
  else items.delete(item);
}
