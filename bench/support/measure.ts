/** One figure of a benchmark; `target` is what benchmarks.md asks of it, in words. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: string;
  readonly met?: boolean;
  /** Whether Millrace was right, which holds at any size of work and on any machine; absent: the figure says how fast it was. */
  readonly right?: boolean;
}

export interface Benchmark {
  readonly id: string;
  readonly title: string;
  /** What it needs and this machine lacks. */
  readonly lacks?: string | undefined;
  run(): Promise<Figure[]>;
}

const isShort = process.env['MILLRACE_BENCH_SHORT'] !== undefined;

/** An amount of work: the whole one, or that of `--short`, where a benchmark only ends and is right. */
export const sized = (whole: number, short: number): number => (isShort ? short : whole);

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
  for (let round = sized(0, rounds); round <= rounds; round++) {
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

/** A number of faults: there may be none. */
export const none = (name: string, value: number, unit: string): Figure => ({
  name,
  value,
  unit,
  target: '0',
  met: value === 0,
  right: value === 0,
});

export const plain = (name: string, value: number, unit: string): Figure => ({ name, value, unit });
