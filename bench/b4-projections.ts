import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import type { Runner } from '../src/kinds/runner.ts';
import { openHost } from './support/host.ts';
import { type Benchmark, type Figure, atMost, median, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(50_000, 2_000);
const ROUNDS = sized(5, 1);

/** What one projection more on a feed costs, beside what it does itself: the feed is read once for all of them. */
export const b4: Benchmark = {
  id: 'B4',
  title: 'N no-op projections on one feed: time ÷ time of one, and RU of reading',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key');
    const leases = await stage.container('leases', '/id');
    const state = await stage.container('millrace', '/pk');
    const text = 'x'.repeat(850);
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: `${n}`,
      key: `k${n % 500}`,
      type: 'thing',
      text,
    }));
    await fill(source, documents, ({ key }) => String(key));
    const runnerOf = (n: number): Runner => ({
      id: `noop${n}@1`,
      order: 'document',
      sources: [{ container: 'Source', type: 'thing' }],
      apply: async () => {},
    });
    const run = async (count: number): Promise<{ time: number; charge: number }> => {
      const runners = Array.from({ length: count }, (_, n) => runnerOf(n));
      const engine = new Engine({ database: stage.database, runners, deadLetters: new DeadLetters(state) });
      const host = await openHost({
        source,
        leases,
        handle: async (page, fence) => void (await engine.consume(page, fence)),
      });
      const time = await seconds(async () => {
        await host.processor.start();
        await host.drained();
      });
      await host.processor.stop();
      if (engine.stats.some(({ changes }) => changes !== DOCUMENTS)) throw new Error('A projection missed changes');
      return { time, charge: host.meter.charge };
    };
    await run(1);
    const figures: Figure[] = [];
    for (const count of [2, 4, 8, 16]) {
      const pairs: { ratio: number; charge: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const [one, many] = [await run(1), await run(count)];
        pairs.push({ ratio: many.time / one.time, charge: many.charge / one.charge });
      }
      figures.push(
        atMost(
          `${count} projections: time ÷ one’s`,
          median(pairs.map(({ ratio }) => ratio)),
          1 + 0.15 * (count - 1),
          '×',
        ),
      );
      // The last empty polls differ by a few.
      figures.push(
        atMost(`${count} projections: source RU ÷ one’s`, median(pairs.map(({ charge }) => charge)), 1.01, '×'),
      );
    }
    return [...figures, plain('documents', DOCUMENTS, '')];
  },
};
