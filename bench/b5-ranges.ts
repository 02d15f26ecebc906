import { setTimeout as delay } from 'node:timers/promises';
import { openHost } from './support/host.ts';
import { type Benchmark, type Figure, atLeast, median, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const PAGES = sized(300, 20);
const PAGE = 10;
const ROUNDS = sized(5, 1);
const SINK_MS = 5;

/** One host over P physical partitions, every page taking its sink 5 ms: how close P ranges come to P times one. */
export const b5: Benchmark = {
  id: 'B5',
  title: 'P feed ranges on one host, a sink that answers after 5 ms: pages a second ÷ P × one range’s',
  run: async () => {
    await using stage = await openStage();
    const leases = await stage.container('leases', '/id');
    const rate = async (ranges: number): Promise<number> => {
      const source = stage.database.container(`Source${ranges}`);
      let pages = 0;
      const handle = async (): Promise<void> => {
        pages += 1;
        await delay(SINK_MS);
      };
      const host = await openHost({ source, leases, handle, pageSize: PAGE });
      const time = await seconds(async () => {
        await host.processor.start();
        await host.drained();
      });
      await host.processor.stop();
      return pages / time;
    };
    const figures: Figure[] = [];
    let one = 0;
    for (const ranges of [1, 2, 4, 8]) {
      const source = await stage.container(`Source${ranges}`, '/key', 6_000 * ranges);
      const documents = Array.from({ length: PAGES * PAGE * ranges }, (_, n) => ({
        id: `${n}`,
        key: `k${n % (200 * ranges)}`,
      }));
      await fill(source, documents, ({ key }) => String(key));
      await rate(ranges);
      const rates: number[] = [];
      for (let round = 0; round < ROUNDS; round++) rates.push(await rate(ranges));
      const found = median(rates);
      if (ranges === 1) one = found;
      else figures.push(atLeast(`${ranges} ranges ÷ ${ranges} × one`, found / (ranges * one), 0.85));
    }
    return [...figures, plain('one range', one, 'pages/s')];
  },
};
