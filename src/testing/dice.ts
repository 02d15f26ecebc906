/** Random decisions; the same seed gives the same ones (the generator is mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 2_654_435_761) | 0;
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

  shuffle<T>(of: readonly T[]): T[] {
    const ranked = of.map((one) => [this.unit(), one] as const);
    return ranked.toSorted(([a], [b]) => a - b).map(([, one]) => one);
  }

  /** @throws Error for an empty list */
  pick<T>(of: readonly T[]): T {
    const one = of[this.int(of.length)];
    if (one === undefined) throw new Error('The list is empty');
    return one;
  }
}
