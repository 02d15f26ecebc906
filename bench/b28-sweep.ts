// A sweep of as many due documents, out of ever more that are stored.
import { Meter } from '../src/cosmos/meter.ts';
import { openArchive } from '../src/archive/open.ts';
import { sweepArchive } from '../src/archive/sweep.ts';
import { COLD, LOADED } from './b13-archive.ts';
import { type Benchmark, type Figure, atMost, plain, seconds } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';
import { MemoryBlobStore } from '../test/archive/memory-blob-store.ts';

const SIZES = (process.env['MILLRACE_BENCH_STORED'] ?? '10000,100000').split(',').map(Number);
const DUE = 1_000;
const KEYS = 200;
const { signal } = new AbortController();

export const b28: Benchmark = {
  id: 'B28',
  title: `a sweep with ${DUE} due, of ${SIZES.join(' and ')} stored`,
  run: async () => {
    const runs: { readonly stored: number; readonly ru: number; readonly time: number }[] = [];
    const figures: Figure[] = [];
    for (const stored of SIZES) {
      const index = await sweepOf(stored);
      runs.push({ stored, ...index });
      figures.push(
        plain(`${stored} stored: RU of a sweep`, index.ru, 'RU'),
        plain(`${stored} stored: time of a sweep`, index.time, 's'),
      );
    }
    const [first, last] = [runs[0], runs.at(-1)];
    if (!first || !last) throw new Error('MILLRACE_BENCH_STORED names no size');
    return [
      ...figures,
      atMost('RU of the largest ÷ RU of the smallest', last.ru / first.ru, 1.1, '×'),
      plain('time of the largest ÷ time of the smallest', last.time / first.time, '×'),
    ];
  },
};

/** A stage of its own: what a sweep removes is due no more. */
async function sweepOf(stored: number): Promise<{ readonly ru: number; readonly time: number }> {
  await using stage = await openStage();
  const source = await stage.container('Source', '/key');
  await stage.container('millrace', '/pk');
  const text = 'x'.repeat(850);
  for (let from = 0; from < stored; from += 10_000) {
    const some = Array.from({ length: Math.min(10_000, stored - from) }, (_, index) => {
      const n = from + index;
      // As mostly: what is due was written first.
      return { id: `${n}`, key: `k${n % KEYS}`, type: 'thing', at: n < DUE ? '2019-03-15' : '2026-03-15', text };
    });
    await fill(source, some, ({ key }) => String(key));
  }
  const meter = new Meter();
  const archive = await openArchive(COLD, LOADED.pipeline, LOADED.model, {
    database: stage.database,
    state: stage.database.container('millrace'),
    store: new MemoryBlobStore(),
    meter,
  });
  const gate = async () => ({ acknowledged: () => Infinity, parked: () => false, waits: () => false });
  // The embedded server makes an index when a query first asks for one, the service while documents are written.
  await sweepArchive(archive, { now: Date.now(), gate, signal, dryRun: true });
  const before = meter.charge;
  const time = await seconds(async () => {
    const { removed } = await sweepArchive(archive, { now: Date.now(), gate, signal });
    if (removed !== DUE) throw new Error(`${removed} of ${DUE} were removed`);
  });
  return { ru: meter.charge - before, time };
}
