/**
 * Things that wait, taken in turns by tenant: one of each tenant that has any, then the next of each. Those of one tenant
 * come in the order in which they were added. Things without a tenant have turns together, as one tenant.
 */
export class RoundRobin<T> {
  /** The tenant whose turn is next stands first. */
  readonly #waiting = new Map<string | undefined, T[]>();

  add(tenant: string | undefined, thing: T): void {
    const own = this.#waiting.get(tenant);
    if (own) own.push(thing);
    else this.#waiting.set(tenant, [thing]);
  }

  /** Takes the next one; undefined: none waits. */
  next(): T | undefined {
    for (const [tenant, own] of this.#waiting) {
      const thing = own.shift();
      this.#waiting.delete(tenant);
      if (own.length > 0) this.#waiting.set(tenant, own);
      return thing;
    }
    return undefined;
  }

  /** Takes all. */
  *all(): Generator<T> {
    for (let thing; (thing = this.next()) !== undefined;) yield thing;
  }
}
