import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { prepareShards } from '../src/host/dev/shards.ts';
import { type App, compose } from '../src/runtime/hosts/processor-host.ts';
import { type Benchmark, type Figure, sized } from './support/measure.ts';
import { openShards } from './support/shards.ts';
import { openStage } from './support/stage.ts';

const FEW = 2;
const MANY = sized(22, 4);

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const heap = (): number => {
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};

/** What one more shard costs a host: memory, and time until every feed is read. */
export const b22: Benchmark = {
  id: 'B22',
  title: 'a host over 2 and over 22 shards: memory and start-up of one shard more',
  run: async () => {
    await using stage = await openStage();
    const { settings, services, loaded } = await openShards(stage);
    const { signal } = new AbortController();
    const start = async (shards: number): Promise<{ app: App; ms: number; mb: number; cpuMs: number }> => {
      await prepareShards(shards, { settings, services, loaded });
      const before = heap();
      const began = performance.now();
      const used = process.cpuUsage();
      const app = await compose({ settings, services, loaded, host: `of-${shards}`, readLagMs: 0 });
      await app.start();
      await app.drained(signal);
      const { user, system } = process.cpuUsage(used);
      return { app, ms: performance.now() - began, cpuMs: (user + system) / 1_000, mb: heap() - before };
    };
    // The first start compiles what the others use, and makes the leases of the few.
    await (await start(FEW)).app.stop();
    const few = await start(FEW);
    await few.app.stop();
    // This one makes the leases of the shards that the few are not.
    const first = await start(MANY);
    await first.app.stop();
    const later = await start(MANY);
    await later.app.stop();
    services.close();
    const each = (many: typeof few, of: 'mb' | 'ms' | 'cpuMs'): number => (many[of] - few[of]) / (MANY - FEW);
    const [mb, ms, laterMs] = [each(first, 'mb'), each(first, 'ms'), each(later, 'ms')];
    return [
      { name: 'memory of one shard more', value: mb, unit: 'MB', target: '≤ 2', met: mb <= 2 },
      { name: 'start-up of one shard more', value: laterMs, unit: 'ms', target: '≤ 50', met: laterMs <= 50 },
      { name: 'processor time of that, without the server', value: each(later, 'cpuMs'), unit: 'ms' },
      { name: 'its first start, which makes its leases', value: ms, unit: 'ms', target: '≤ 50', met: ms <= 50 },
      { name: 'processor time of that, without the server', value: each(first, 'cpuMs'), unit: 'ms' },
      { name: `start-up with ${FEW} shards`, value: few.ms, unit: 'ms' },
    ] satisfies Figure[];
  },
};
