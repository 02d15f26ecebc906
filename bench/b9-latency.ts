import { setTimeout as delay } from 'node:timers/promises';
import type { CopySpec } from '../src/pipeline/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { openHost } from './support/host.ts';
import { type Benchmark, atMost, median, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const POLL_MS = 100;
const BURST = 20;
const FOR_MS = sized(5_000, 300);
const ROUNDS = sized(5, 1);
const CAPACITY_OF = sized(10_000, 500);

/** From a source document's commit to its copy's, while changes come at 30 % of what the copy can take. */
export const b9: Benchmark = {
  id: 'B9',
  title: 'commit → visible in the sink at 30 % load, 99th percentile',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key');
    await stage.container('Sink', '/key');
    const leases = await stage.container('leases', '/id');
    const state = await stage.container('millrace', '/pk');
    const spec: CopySpec = {
      kind: 'copy',
      name: 'copied',
      version: 1,
      from: { container: 'Source', type: 'thing' },
      into: { container: 'Sink', type: 'copied' },
      onDelete: 'remove',
      stable: true,
      joins: [],
      map: (doc) => ({ id: doc['id'], key: doc['key'], text: doc['text'] }),
    };
    const runner = copyRunner(
      spec,
      { name: 'Sink', keyPaths: [['key']] },
      { stateContainer: 'millrace', sources: new Map(), readLagMs: 0 },
    );
    const engine = new Engine({ database: stage.database, runners: [runner], deadLetters: new DeadLetters(state) });
    const visible = new Map<string, number>();
    const text = 'x'.repeat(700);
    const host = await openHost({
      source,
      leases,
      timings: { pollMs: POLL_MS },
      handle: async (page, fence) => {
        await engine.consume(page, fence);
        const now = performance.now();
        for (const { id } of page.changes) visible.set(id, now);
      },
    });
    const documents = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}`, key: `k${n % 20}`, type: 'thing', text }));
    await fill(source, documents('capacity', CAPACITY_OF), ({ key }) => String(key));
    const capacity =
      CAPACITY_OF /
      (await seconds(async () => {
        await host.processor.start();
        await host.drained();
      }));
    const commit = async (own: ReturnType<typeof documents>, committed: Map<string, number>): Promise<void> => {
      await fill(source, own, ({ key }) => String(key));
      const now = performance.now();
      for (const { id } of own) committed.set(id, now);
    };
    const percentiles: number[] = [];
    let written = 0;
    const everyMs = (1000 * BURST) / (0.3 * capacity);
    for (let round = 0; round < ROUNDS; round++) {
      const committed = new Map<string, number>();
      const writes: Promise<void>[] = [];
      const start = performance.now();
      for (let burst = 0; performance.now() - start < FOR_MS; burst++) {
        const own = documents(`${round}-${burst}`, BURST).map((document) => ({ ...document, key: `k${burst % 20}` }));
        writes.push(commit(own, committed));
        const due = start + (burst + 1) * everyMs;
        const left = due - performance.now();
        if (left > 0) await delay(left);
      }
      await Promise.all(writes);
      while ([...committed.keys()].some((id) => !visible.has(id))) await delay(5);
      const waits = [...committed].map(([id, at]) => (visible.get(id) ?? Infinity) - at).toSorted((a, b) => a - b);
      percentiles.push(waits[Math.floor(waits.length * 0.99)] ?? Number.NaN);
      written += committed.size;
    }
    await host.processor.stop();
    return [
      atMost('99th percentile', median(percentiles), 60, 'ms'),
      plain('capacity', capacity, 'changes/s'),
      plain('changes written', written / ROUNDS, 'a round'),
      plain('poll delay', POLL_MS, 'ms'),
    ];
  },
};
