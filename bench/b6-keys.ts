import { setTimeout as delay } from 'node:timers/promises';
import { openHost } from './support/host.ts';
import { type Benchmark, type Figure, atLeast, median, none, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const KEYS = 64;
const CHANGES = sized(1_280, 256);
const ROUNDS = sized(5, 1);
const SINK_MS = 5;

/** One range whose handler is called key by key, up to K at once, and each call takes its sink 5 ms. */
export const b6: Benchmark = {
  id: 'B6',
  title: 'one feed range, K keys in parallel, a sink that answers after 5 ms: calls a second ÷ one at a time’s',
  run: async () => {
    await using stage = await openStage();
    const leases = await stage.container('leases', '/id');
    const source = await stage.container('Source', '/key');
    const documents = Array.from({ length: CHANGES }, (_, n) => ({ id: `${n}`, key: `k${n % KEYS}` }));
    // One by one, so that the changes of a key lie apart, as they do in life.
    for (let n = 0; n < CHANGES; n += KEYS) await fill(source, documents.slice(n, n + KEYS), ({ key }) => String(key));
    let disorder = 0;
    const rate = async (concurrency: number): Promise<number> => {
      let calls = 0;
      const last = new Map<string, number>();
      const host = await openHost({
        source,
        leases,
        concurrency,
        pageSize: KEYS,
        order: ({ key }) => key[0] as string,
        handle: async ({ changes }) => {
          calls += 1;
          await delay(SINK_MS);
          for (const { key, version } of changes) {
            const of = key[0] as string;
            if ((last.get(of) ?? 0) >= version.lsn) disorder += 1;
            last.set(of, version.lsn);
          }
        },
      });
      const time = await seconds(async () => {
        await host.processor.start();
        await host.drained();
      });
      await host.processor.stop();
      return calls / time;
    };
    const figures: Figure[] = [];
    await rate(8);
    const ones: number[] = [];
    for (let round = 0; round < ROUNDS; round++) ones.push(await rate(1));
    const one = median(ones);
    for (const parallel of [2, 4, 8]) {
      const rates: number[] = [];
      for (let round = 0; round < ROUNDS; round++) rates.push(await rate(parallel));
      figures.push(atLeast(`${parallel} keys at once ÷ one at a time`, median(rates) / one, 0.7 * parallel));
    }
    return [...figures, none('changes out of their key’s order', disorder, ''), plain('one at a time', one, 'calls/s')];
  },
};
