import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@azure/cosmos';
import { connect } from '../src/cosmos/connect.ts';
import type { CopySpec, Pipeline } from '../src/pipeline/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import type { Model } from '../src/model/model.ts';
import { rebuild } from '../src/procedures/rebuild/rebuild.ts';
import { drop } from '../src/procedures/drop/drop.ts';
import { servicesOn } from '../src/testing/test-pipeline.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { openHost } from './support/host.ts';
import { type Benchmark, atMost, median, plain, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(6_000, 300);
const ROUNDS = sized(5, 1);
const BURST = 10;
const EVERY_MS = 50;
const FOR_MS = sized(4_000, 200);
const POLL_MS = 100;
/** What a rebuild is given where live traffic comes first. */
const RU_PER_SECOND = 10_000;

const version = (number: number, container: string): CopySpec => ({
  kind: 'copy',
  name: 'copied',
  version: number,
  from: { container: 'Source', type: 'thing' },
  into: { container, type: 'copied' },
  onDelete: 'remove',
  stable: true,
  joins: [],
  map: (doc) => ({ id: doc['id'], key: doc['key'], text: doc['text'] }),
});
const [V1, V2] = [version(1, 'Sink'), version(2, 'SinkTwo')];

/** Builds version 2 from nothing in this process, and drops it again; resolves with the documents it took a second. */
export async function rebuildOnce(account: { endpoint: string; key: string }, ruPerSecond: number): Promise<number> {
  const client = connect({ kind: 'key', ...account });
  const database = client.database('bench');
  const options = {
    ...partsOf(database, account),
    spec: V2,
    readLagMs: 0,
    ruPerSecond,
    timings: { pollMs: 10 },
    signal: new AbortController().signal,
  };
  const started = performance.now();
  const { changes } = await rebuild(options);
  const rate = (1_000 * changes) / (performance.now() - started);
  await drop({ ...options, name: 'copied', version: 2 });
  client.dispose();
  return rate;
}

function partsOf(database: Database, account: { endpoint: string; key: string }) {
  const containers = ['Source', 'Sink', 'SinkTwo'].map((name) => ({ name, partitionKey: ['/key'], types: [] }));
  const pipeline = {
    name: 'bench',
    model: { containers: {} },
    sources: [],
    projections: [V1, V2],
    archives: [],
    embeds: [],
    effects: [],
    publishes: [],
    ingests: [],
    findings: [],
  };
  const cosmos = { kind: 'key', ...account } as const;
  return {
    settings: {
      cosmos,
      database: 'bench',
      leases: { account: cosmos, database: 'bench', container: 'leases' },
      stateContainer: 'millrace',
      preferredRegions: [],
    },
    services: servicesOn(database.client, { endpoint: account.endpoint, database: database.id }),
    loaded: { pipeline: pipeline as unknown as Pipeline, model: { file: '', containers } as unknown as Model },
  };
}

/** How long a live change takes to its copy, with and without another version being built in another process. */
export const b12: Benchmark = {
  id: 'B12',
  title: 'live lag beside a rebuild, and without one',
  run: async () => {
    await using stage = await openStage();
    const source = await stage.container('Source', '/key');
    await stage.container('Sink', '/key');
    await stage.container('SinkTwo', '/key');
    const leases = await stage.container('leases', '/id');
    const state = await stage.container('millrace', '/pk');
    const runner = copyRunner(
      V1,
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
    const text = 'x'.repeat(700);
    const documents = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}`, key: `k${n % 50}`, type: 'thing', text }));
    await fill(source, documents('old', DOCUMENTS), ({ key }) => String(key));
    await host.processor.start();
    await host.drained();

    const round = async (name: string): Promise<number> => {
      const committed = new Map<string, number>();
      const start = performance.now();
      for (let burst = 0; performance.now() - start < FOR_MS; burst++) {
        const own = documents(`${name}-${burst}`, BURST);
        await fill(source, own, ({ key }) => String(key));
        const now = performance.now();
        for (const { id } of own) committed.set(id, now);
        const due = start + (burst + 1) * EVERY_MS;
        if (due > performance.now()) await delay(due - performance.now());
      }
      while ([...committed.keys()].some((id) => !visible.has(id))) await delay(5);
      return median([...committed].map(([id, at]) => (visible.get(id) ?? Infinity) - at));
    };
    await round('warm');
    const ratios: number[] = [];
    const alone: number[] = [];
    const beside: number[] = [];
    const rates: number[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      alone.push(await round(`alone-${n}`));
      const worker = fork(
        new URL('b12-worker.ts', import.meta.url),
        [stage.endpoint, stage.key, String(RU_PER_SECOND)],
        {
          execArgv: ['--conditions=millrace-source'],
        },
      );
      beside.push(await round(`beside-${n}`));
      const [rate] = (await once(worker, 'message')) as [number];
      worker.disconnect();
      await once(worker, 'exit');
      rates.push(rate);
      ratios.push((beside.at(-1) ?? Number.NaN) / (alone.at(-1) ?? Number.NaN));
    }
    await host.processor.stop();
    return [
      atMost('live lag beside ÷ alone, median of medians', median(ratios), 1.1, '×'),
      plain('live lag alone', median(alone), 'ms'),
      plain('live lag beside', median(beside), 'ms'),
      plain('rebuilt meanwhile', median(rates), 'documents/s'),
      plain('bound of the rebuild', RU_PER_SECOND, 'RU/s'),
    ];
  },
};
