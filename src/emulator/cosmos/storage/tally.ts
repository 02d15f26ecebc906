/** An item, as far as a count needs it. */
interface Counted<V> {
  readonly current: V | undefined;
}

interface Sized {
  readonly size: number;
  readonly ttl: number | undefined;
}

/**
 * How many items of a logical partition a condition holds for, kept up to date by every write. Code that changes an item's
 * current version must update it.
 */
export class Tally<V extends Sized> {
  readonly #holds: (version: V) => boolean;
  readonly #counted = new Set<Counted<V>>();
  readonly #sizes = new Map<Counted<V>, number>();
  readonly #mortal = new Set<Counted<V>>();
  #bytes = 0;
  #unused = 0;

  constructor(holds: (version: V) => boolean, items: Iterable<Counted<V>>) {
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
  update(item: Counted<V>): void {
    const { current } = item;
    this.#unused += 1;
    this.#bytes += (current?.size ?? 0) - (this.#sizes.get(item) ?? 0);
    if (current) this.#sizes.set(item, current.size);
    else this.#sizes.delete(item);
    put(this.#counted, item, current !== undefined && this.#holds(current));
    put(this.#mortal, item, (current?.ttl ?? 0) > 0);
  }
}

function put<T>(items: Set<T>, item: T, isIn: boolean): void {
  if (isIn) items.add(item);
  else items.delete(item);
}
