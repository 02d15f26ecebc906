/** Random choices that are the same for the same seed, everywhere. */
export interface Dice {
  /** A whole number from 0 up to, and without, the limit. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** Mulberry32. */
export function dice(seed: number): Dice {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new RangeError('Nothing to pick from');
      return picked;
    },
  };
}
