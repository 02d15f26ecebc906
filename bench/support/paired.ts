import { seeded } from '../../src/emulator/random.ts';
import { sized } from './measure.ts';

/** The processor time of `after` ÷ that of `before`, with the interval in which the median lies with 95 % of resamples. */
export interface Paired {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  /** Measured rounds. */
  readonly rounds: number;
}

/**
 * Compares variants with a base, by measures that take turns. What changes over a minute (other work on the machine, a
 * server that grows) is in both halves of a round, in both orders: base, variant, variant, base, and the next round the
 * other way round. The first round of each variant compiles, and is left out.
 */
export async function pairedRatios<V extends string>(
  base: V,
  variants: readonly V[],
  rounds: number,
  measure: (variant: V) => Promise<number>,
): Promise<ReadonlyMap<V, Paired>> {
  const ratios = new Map<V, number[]>(variants.map((variant) => [variant, []]));
  for (let round = sized(0, rounds); round <= rounds; round++) {
    for (const variant of variants) {
      const [outer, inner] = round % 2 === 0 ? [base, variant] : [variant, base];
      const [first, second, third, last] = [
        await measure(outer),
        await measure(inner),
        await measure(inner),
        await measure(outer),
      ];
      const ratio = (second + third) / (first + last);
      if (round > 0) ratios.get(variant)?.push(outer === base ? ratio : 1 / ratio);
    }
  }
  return new Map([...ratios].map(([variant, of]) => [variant, withInterval(of)]));
}

const RESAMPLES = 4_000;

/** The bootstrap of a median. The numbers are the same each time, so the same ratios have the same interval. */
function withInterval(ratios: readonly number[]): Paired {
  const random = seeded(1);
  const medians = Array.from({ length: RESAMPLES }, () =>
    middle(ratios.map(() => ratios[Math.floor(random() * ratios.length)] ?? Number.NaN)),
  ).toSorted((a, b) => a - b);
  const at = (share: number): number => medians[Math.floor(share * RESAMPLES)] ?? Number.NaN;
  return { ratio: middle(ratios), low: at(0.025), high: at(0.975), rounds: ratios.length };
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return ((sorted[half] ?? Number.NaN) + (sorted[sorted.length % 2 === 0 ? half - 1 : half] ?? Number.NaN)) / 2;
}
