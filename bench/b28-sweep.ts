// A sweep of as many due documents, out of ever more that are stored. Processor time is compared, not the time that
// passes: other work on the machine doesn't count then.
import { Meter } from '../src/cosmos/meter.ts';
import { openArchive } from '../src/archive/open.ts';
import { sweepArchive } from '../src/archive/sweep.ts';
import { COLD, LOADED } from './b13-archive.ts';
import { type Benchmark, type Figure, atMost, median, plain } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';
import { MemoryBlobStore } from '../test/archive/memory-blob-store.ts';

const SIZES = (process.env['MILLRACE_BENCH_STORED'] ?? '10000,100000').split(',').map(Number);
const DUE = 1_000;
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
    const runs: Costs[] = [];
    const figures: Figure[] = [];
    for (const stored of SIZES) {
      const costs = await sweepOf(stored);
      runs.push(costs);
      figures.push(
        plain(`${stored} stored: RU of a sweep`, costs.ru, 'RU'),
        plain(`${stored} stored: processor time of a sweep`, costs.own, 'ms'),
        plain(`${stored} stored: the same, of the server`, costs.server, 'ms'),
      );
    }
    const [first, last] = [runs[0], runs.at(-1)];
    if (!first || !last) throw new Error('MILLRACE_BENCH_STORED names no size');
    return [
      ...figures,
      atMost('RU of the largest ÷ RU of the smallest', last.ru / first.ru, 1.1, '×'),
      atMost(
        'processor time of the largest ÷ that of the smallest',
        (last.own + last.server) / (first.own + first.server),
        1.5,
        '×',
      ),
    ];
  },
};

/** The medians of the sweeps, on a stage of its own: what a sweep removes is due no more. */
async function sweepOf(stored: number): Promise<Costs> {
  await using stage = await openStage({ heapMb: 4_096 + Math.ceil(stored / 100) });
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
    const text = `${year + 1}-01-01`;
    const spec = { ...COLD, rule: { kind: 'before', ms: Date.parse(text), text } } as const;
    const state = database.container('millrace');
    const archive = await openArchive(spec, LOADED.pipeline, LOADED.model, { database, state, store, meter });
    return sweepArchive(archive, { now: Date.now(), gate, signal, dryRun });
  };
  // The embedded server makes an index when a query first asks for one, the service while documents are written.
  await sweep(YEAR, true);
  const costs: Costs[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [charge, own, server] = [meter.charge, process.cpuUsage(), (await stage.usage()).cpu];
    const { removed } = await sweep(YEAR + round, false);
    if (removed !== DUE) throw new Error(`${removed} of ${DUE} were removed`);
    const spent = process.cpuUsage(own);
    costs.push({
      ru: meter.charge - charge,
      own: (spent.user + spent.system) / 1_000,
      server: ((await stage.usage()).cpu - server) / 1_000,
    });
  }
  const of = (name: keyof Costs): number => median(costs.slice(WARM_UP).map((cost) => cost[name]));
  return { ru: of('ru'), own: of('own'), server: of('server') };
}
