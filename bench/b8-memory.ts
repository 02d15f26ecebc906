import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openHost } from './support/host.ts';
import { type Benchmark, atMost, plain, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const FEW = sized(200_000, 1_000);
const DOCUMENTS = FEW / 10;
const MEGABYTE = 1024 * 1024;

/** What a host keeps of what it has read: the same documents are written again and again, and each time read. */
export const b8: Benchmark = {
  id: 'B8',
  title: 'heap after garbage collection at 1,000,000 changes − at 200,000',
  run: async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await using stage = await openStage();
    const source = await stage.container('Source', '/key', 24_000);
    const leases = await stage.container('leases', '/id');
    const read = { changes: 0 };
    const host = await openHost({
      source,
      leases,
      order: ({ key }) => key[0] as string,
      handle: async (page) => {
        read.changes += page.changes.length;
      },
    });
    await host.processor.start();
    const heapAfter = async (wanted: number): Promise<number> => {
      for (let round = 0; read.changes < wanted; round++) {
        const due = read.changes + DOCUMENTS;
        const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ id: `${n}`, key: `k${n % 400}`, round }));
        await fill(source, documents, ({ key }) => String(key));
        while (read.changes < due) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await host.drained();
      // Twice: what the first frees may hold what the second does.
      collect();
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return process.memoryUsage().heapUsed / MEGABYTE;
    };
    const early = await heapAfter(FEW);
    const late = await heapAfter(5 * FEW);
    await host.processor.stop();
    return [
      atMost('heap grown between the two', late - early, 5, 'MB'),
      plain(`heap at ${FEW}`, early, 'MB'),
      plain('changes read', read.changes, ''),
    ];
  },
};
