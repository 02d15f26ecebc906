interface Waiter<T> {
  readonly tenant: string | undefined;
  readonly thing: T;
}

/**
 * Requests that wait for one partition's RU. The next one is of the tenant that has spent the least since the queue was
 * last empty (BUD-B8); those of one tenant come in their order. A tenant that comes later begins where the others are: what
 * it didn't spend before gives it no right. Requests without a tenant are together as one tenant.
 */
export class FairQueue<T> {
  /** A tenant stands behind all that were served after it. */
  readonly #waiting = new Map<string | undefined, Waiter<T>[]>();
  /** Of tenants that wait, and of those that have spent more than `#level`. */
  readonly #spent = new Map<string | undefined, number>();
  /** What the tenant had spent that was served last, or one before it. */
  #level = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** The returned function takes the request back. */
  add(tenant: string | undefined, thing: T): () => void {
    const waiter = { tenant, thing };
    const own = this.#waiting.get(tenant) ?? [];
    // One that waits already may be below: what it was noted for was too much.
    if (own.length === 0) this.#spent.set(tenant, Math.max(this.#level, this.#of(tenant)));
    own.push(waiter);
    this.#waiting.set(tenant, own);
    return () => {
      const at = own.indexOf(waiter);
      if (at !== -1) own.splice(at, 1);
      if (own.length === 0 && this.#waiting.get(tenant) === own) this.#waiting.delete(tenant);
    };
  }

  /** Takes the next request; undefined: none waits. */
  next(): Waiter<T> | undefined {
    const [first, ...others] = this.#waiting.keys();
    const tenant = others.reduce((least, other) => (this.#of(other) < this.#of(least) ? other : least), first);
    const own = this.#waiting.get(tenant) ?? [];
    const waiter = own.shift();
    if (!waiter) return undefined;
    this.#level = Math.max(this.#level, this.#of(tenant));
    this.#waiting.delete(tenant);
    if (own.length > 0) this.#waiting.set(tenant, own);
    for (const [other, spent] of this.#spent)
      if (spent <= this.#level && !this.#waiting.has(other)) this.#spent.delete(other);
    return waiter;
  }

  /** Notes what a tenant spends; less than zero: it was less than noted before. */
  spend(tenant: string | undefined, ru: number): void {
    this.#spent.set(tenant, this.#of(tenant) + ru);
  }

  /** All tenants are equal again. To be called when a request needn't wait. */
  forget(): void {
    this.#spent.clear();
  }

  /** Takes all requests. */
  *all(): Generator<Waiter<T>> {
    for (let waiter; (waiter = this.next());) yield waiter;
  }

  #of(tenant: string | undefined): number {
    return this.#spent.get(tenant) ?? this.#level;
  }
}
