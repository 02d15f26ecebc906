/** A small seeded generator (mulberry32): the same seed gives the same decisions. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 2_654_435_761) | 0;
  }

  /** In [0, 1). */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), 1 | t);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer in [0, n). */
  int(n: number): number {
    return Math.floor(this.unit() * n);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.int(items.length)];
    if (item === undefined) throw new Error('Nothing to pick from');
    return item;
  }
}
