/** One figure of a benchmark; `target` is what benchmarks.md asks of it, in words. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: string;
  readonly met?: boolean;
}

export interface Benchmark {
  readonly id: string;
  readonly title: string;
  run(): Promise<Figure[]>;
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Seconds that `work` takes. */
export async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Ratios of two rates, each pair measured side by side; the first pair warms up and is left out. */
export async function ratios(
  rounds: number,
  pair: (round: number) => Promise<[ours: number, theirs: number]>,
): Promise<{ ratio: number; ours: number; theirs: number }> {
  const pairs: [number, number][] = [];
  for (let round = 0; round <= rounds; round++) {
    const measured = await pair(round);
    if (round > 0) pairs.push(measured);
  }
  return {
    ratio: median(pairs.map(([ours, theirs]) => ours / theirs)),
    ours: median(pairs.map(([ours]) => ours)),
    theirs: median(pairs.map(([, theirs]) => theirs)),
  };
}

export const atLeast = (name: string, value: number, bound: number): Figure => ({
  name,
  value,
  unit: '×',
  target: `≥ ${bound}`,
  met: value >= bound,
});

export const atMost = (name: string, value: number, bound: number, unit: string): Figure => ({
  name,
  value,
  unit,
  target: `≤ ${Math.round(bound * 100) / 100}`,
  met: value <= bound,
});

export const plain = (name: string, value: number, unit: string): Figure => ({ name, value, unit });
