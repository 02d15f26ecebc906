import { setTimeout as delay } from 'node:timers/promises';
import { bulkMarks, connect } from '../src/cosmos/connect.ts';
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import type { CopySpec } from '../src/pipeline/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import type { Change } from '../src/feed/reading/change.ts';
import { untilStopped } from '../src/feed/tenure/fences.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { CosmosAccess } from '../src/access/cosmos-access.ts';
import { openHost } from './support/host.ts';
import { type Benchmark, atMost, median, plain, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const SINK_RU = 4_000;
const BUCKET = { number: 1, percent: 50 };
const POLL_MS = 100;
const BURST = 10;
const EVERY_MS = 100;
const FOR_MS = sized(8_000, 300);
const ROUNDS = sized(3, 1);
const BULK_WORKERS = 4;

const SPEC: CopySpec = {
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
const TEXT = 'x'.repeat(700);

type Lanes = 'none' | 'unmarked' | 'low' | 'bucket';

/** Live changes into a container of few RU/s, beside bulk work that would take all of them, with its marks and without. */
export const b18: Benchmark = {
  id: 'B18',
  title: 'live lag beside bulk work into one container, with and without marks of its lane',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key', 10_000);
    await stage.container('Sink', '/key', SINK_RU);
    const leases = await stage.container('leases', '/id', 10_000);
    const state = await stage.container('millrace', '/pk', 10_000);
    await stage.faults({
      enforceThroughput: true,
      priorityLevels: true,
      throughputBuckets: { [BUCKET.number]: BUCKET.percent },
    });
    const runner = copyRunner(
      SPEC,
      { name: 'Sink', keyPaths: [['key']] },
      { stateContainer: 'millrace', sources: new Map(), readLagMs: 0 },
    );
    const engine = new Engine({ database: stage.database, runners: [runner], deadLetters: new DeadLetters(state) });
    const visible = new Map<string, number>();
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
    await host.processor.start();
    const account = { kind: 'key', endpoint: stage.endpoint, key: stage.key } as const;
    const clients = {
      unmarked: connect(account),
      low: connect(account, [], bulkMarks()),
      bucket: connect(account, [], { throughputBucket: BUCKET.number }),
    };
    /** Copies as fast as the container lets it, as a rebuild does. */
    const bulk = async (lanes: Exclude<Lanes, 'none'>, label: string, stop: AbortSignal): Promise<Meter> => {
      const meter = new Meter();
      const access = new CosmosAccess(clients[lanes].database(stage.database.id), untilStopped(stop), meter);
      const work = async (worker: number): Promise<void> => {
        for (let lsn = 1; !stop.aborted; lsn++) {
          const changes = Array.from({ length: 50 }, (_, n) => changeOf(`${label}-${worker}-${lsn}-${n}`, lsn));
          await runner.apply(changes, access).catch((error: unknown) => {
            if (!stop.aborted) throw error;
          });
        }
      };
      await Promise.all(Array.from({ length: BULK_WORKERS }, (_, worker) => work(worker)));
      return meter;
    };
    const round = async (lanes: Lanes, label: string): Promise<{ p95: number; bulkRate: number }> => {
      const stop = new AbortController();
      const working = lanes === 'none' ? undefined : bulk(lanes, label, stop.signal);
      const committed = new Map<string, number>();
      const start = performance.now();
      for (let burst = 0; performance.now() - start < FOR_MS; burst++) {
        const own = Array.from({ length: BURST }, (_, n) => ({
          id: `${label}-${burst}-${n}`,
          key: `k${burst % 20}`,
          type: 'thing',
          text: TEXT,
        }));
        await fill(source, own, ({ key }) => String(key));
        const now = performance.now();
        for (const { id } of own) committed.set(id, now);
        await delay(Math.max(0, start + (burst + 1) * EVERY_MS - performance.now()));
      }
      const isOpen = (): boolean => [...committed.keys()].some((id) => !visible.has(id));
      while (isOpen()) await delay(5);
      stop.abort();
      const elapsed = (performance.now() - start) / 1_000;
      const waits = [...committed].map(([id, at]) => (visible.get(id) ?? Infinity) - at).toSorted((a, b) => a - b);
      const charge = (await working)?.charge ?? 0;
      // The debt of what was under way is paid before the next round.
      await delay(2_000);
      return { p95: waits[Math.floor(waits.length * 0.95)] ?? Number.NaN, bulkRate: charge / elapsed };
    };
    const found: Record<Lanes, { p95: number; bulkRate: number }[]> = { none: [], unmarked: [], low: [], bucket: [] };
    await round('none', 'warm');
    for (let n = 0; n < ROUNDS; n++)
      for (const lanes of ['none', 'unmarked', 'low', 'bucket'] as const)
        found[lanes].push(await round(lanes, `${lanes}-${n}`));
    await host.processor.stop();
    for (const client of Object.values(clients)) client.dispose();
    const p95 = (lanes: Lanes): number => median(found[lanes].map((of) => of.p95));
    const rate = (lanes: Lanes): number => median(found[lanes].map((of) => of.bulkRate));
    return [
      atMost('95th percentile, Low ÷ no mark', p95('low') / p95('unmarked'), 0.5, '×'),
      plain('95th percentile, no bulk work', p95('none'), 'ms'),
      plain('95th percentile, no mark', p95('unmarked'), 'ms'),
      plain('95th percentile, Low', p95('low'), 'ms'),
      plain(`95th percentile, bucket of ${BUCKET.percent} %`, p95('bucket'), 'ms'),
      plain('bulk work, no mark', rate('unmarked'), `RU/s of ${SINK_RU}`),
      plain('bulk work, Low', rate('low'), `RU/s of ${SINK_RU}`),
      plain(`bulk work, bucket of ${BUCKET.percent} %`, rate('bucket'), `RU/s of ${SINK_RU}`),
    ];
  },
};

const changeOf = (id: string, lsn: number): Change => ({
  container: 'Source',
  type: 'thing',
  key: [id],
  id,
  version: { epoch: 1, lsn, etag: `"${id}"` },
  at: Date.now(),
  op: 'upsert',
  doc: { id, key: `b${lsn % 50}`, text: TEXT },
});
