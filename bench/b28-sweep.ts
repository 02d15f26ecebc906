// A sweep of as many due documents, out of ever more that are stored. Processor time is compared, not the time that
// passes: other work on the machine doesn't count then.
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import { openArchive } from '../src/archive/open.ts';
import { sweepArchive } from '../src/archive/sweep/sweep.ts';
import { COLD, LOADED } from './b13-archive.ts';
import { type Benchmark, type Figure, atMost, median, plain, sized } from './support/measure.ts';
import { type Stage, fill, openStage } from './support/stage.ts';
import { MemoryBlobStore } from '../test/archive/memory-blob-store.ts';

const SIZES = (process.env['MILLRACE_BENCH_STORED']?.split(',') ?? [sized(10_000, 1_000), sized(100_000, 2_000)]).map(
  Number,
);
const DUE = sized(1_000, 100);
const KEYS = 200;
/** Sweeps of each size; in each, the documents of another year are due. The first ones warm both processes up. */
const [ROUNDS, WARM_UP] = [8, 3];
const YEAR = 2000;
const { signal } = new AbortController();

interface Costs {
  readonly ru: number;
  /** Processor time in milliseconds, of this process and of the server. */
  readonly own: number;
  readonly server: number;
}

export const b28: Benchmark = {
  id: 'B28',
  title: `a sweep with ${DUE} due, of ${SIZES.join(' and ')} stored`,
  run: async () => {
    await using stages = new AsyncDisposableStack();
    const sizes: Size[] = [];
    for (const stored of SIZES) sizes.push(await sizeOf(stages.use(await openStage(heapOf(stored))), stored));
    const costs = new Map<Size, Costs[]>(sizes.map((size) => [size, []]));
    // In turns: whatever else the machine does while they run, it does to all.
    for (let round = 0; round < ROUNDS; round++)
      for (const [size, of] of costs) {
        const cost = await size.sweep(round);
        if (round >= WARM_UP) of.push(cost);
      }
    const middle = (size: Size | undefined, name: keyof Costs): number =>
      median((size && costs.get(size))?.map((cost) => cost[name]) ?? []);
    const time = (size: Size | undefined): number => middle(size, 'own') + middle(size, 'server');
    const [first, last] = [sizes[0], sizes.at(-1)];
    return [
      ...sizes.flatMap((size): Figure[] => [
        plain(`${size.stored} stored: RU of a sweep`, middle(size, 'ru'), 'RU'),
        plain(`${size.stored} stored: processor time of a sweep`, middle(size, 'own'), 'ms'),
        plain(`${size.stored} stored: the same, of the server`, middle(size, 'server'), 'ms'),
      ]),
      atMost('RU of the largest ÷ RU of the smallest', middle(last, 'ru') / middle(first, 'ru'), 1.1, '×'),
      atMost('processor time of the largest ÷ that of the smallest', time(last) / time(first), 1.5, '×'),
    ];
  },
};

const heapOf = (stored: number) => ({ heapMb: 4_096 + Math.ceil(stored / 100) });

interface Size {
  readonly stored: number;
  sweep(round: number): Promise<Costs>;
}

/** Fills a stage of its own: what a sweep removes is due no more. */
async function sizeOf(stage: Stage, stored: number): Promise<Size> {
  const source = await stage.container('Source', '/key');
  await stage.container('millrace', '/pk');
  const text = 'x'.repeat(850);
  for (let from = 0; from < stored; from += 10_000) {
    const some = Array.from({ length: Math.min(10_000, stored - from) }, (_, index) => {
      const n = from + index;
      // As mostly: what is due was written first.
      const year = n < ROUNDS * DUE ? YEAR + Math.floor(n / DUE) : 2026;
      return { id: `${n}`, key: `k${n % KEYS}`, type: 'thing', at: `${year}-03-15`, text };
    });
    await fill(source, some, ({ key }) => String(key));
  }
  const meter = new Meter();
  const store = new MemoryBlobStore();
  const { database } = stage;
  const gate = async () => ({ acknowledged: () => Infinity, parked: () => false, waits: () => false });
  const sweep = async (year: number, dryRun: boolean) => {
    const before = `${year + 1}-01-01`;
    const spec = { ...COLD, rule: { kind: 'before', ms: Date.parse(before), text: before } } as const;
    const state = database.container('millrace');
    const archive = await openArchive(spec, LOADED.pipeline, LOADED.model, { database, state, store, meter });
    return sweepArchive(archive, { now: Date.now(), gate, signal, dryRun });
  };
  // The embedded server makes an index when a query first asks for one, the service while documents are written.
  await sweep(YEAR, true);
  return {
    stored,
    sweep: async (round) => {
      const [charge, own, server] = [meter.charge, process.cpuUsage(), (await stage.usage()).cpu];
      const { removed } = await sweep(YEAR + round, false);
      if (removed !== DUE) throw new Error(`${removed} of ${DUE} were removed`);
      const spent = process.cpuUsage(own);
      return {
        ru: meter.charge - charge,
        own: (spent.user + spent.system) / 1_000,
        server: ((await stage.usage()).cpu - server) / 1_000,
      };
    },
  };
}
