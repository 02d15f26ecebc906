// Four processes share a container's feed and are killed and restarted, or stand still for a while, at random, while
// 100,000 changes are written and its partitions are split: nothing is lost, every key keeps its order, and a lease that
// moved repeats a page at most.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BulkOperationType, type OperationInput } from '@azure/cosmos';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../emulator/emulate.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

const SEED = suiteSeed();
const WORKER = join(import.meta.dirname, 'worker-process.ts');
const NAMES = ['one', 'two', 'three', 'four'];
const KEYS = 250;
const CHANGES = 100_000;
const BATCH = 100;
const PAGE = 1_000;
const SPLITS = 4;
const ENDS = 12;
/** Ends a test that hangs; how fast the machine is doesn't matter. */
const PATIENCE_MS = 600_000;

interface Delivery {
  readonly at: number;
  readonly ids: readonly string[];
}

it(`four processes lose nothing and keep order, however they are killed (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const { emulator, database, container } = await emulate({ throughput: 18_000 });
  await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const deliveries: Delivery[] = [];
  const seen = new Set<string>();
  let acquired = 0;
  const hosts = new Map<string, ChildProcess>();
  let over = false;
  const start = (name: string): void => {
    const child = fork(WORKER, [emulator.connectionString, name], {
      execArgv: ['--conditions=millrace-source'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (message: { at?: number; ids?: string[]; acquired?: number }) => {
      acquired += message.acquired ?? 0;
      if (message.at === undefined || message.ids === undefined) return;
      deliveries.push({ at: message.at, ids: message.ids });
      for (const id of message.ids) seen.add(id);
    });
    child.once('exit', () => {
      if (!over) start(name);
    });
    hosts.set(name, child);
  };
  onTestFinished(async () => {
    over = true;
    const living = [...hosts.values()].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(living.map((child) => (child.kill('SIGKILL'), once(child, 'exit'))));
  });
  for (const name of NAMES) start(name);

  const moments = (count: number): Set<number> => {
    const chosen = new Set<number>();
    while (chosen.size < count) chosen.add(random.int(CHANGES / BATCH));
    return chosen;
  };
  const partitions = async (): Promise<number> =>
    (await container.readPartitionKeyRanges().fetchAll()).resources.length;
  const before = await partitions();
  const [splits, ends] = [moments(SPLITS), moments(ENDS)];
  const written = new Map<string, number>();
  let kills = 0;
  const paused = new Set<ChildProcess>();
  const resume = (): void => {
    for (const child of paused) child.kill('SIGCONT');
    paused.clear();
  };
  for (let batch = 0; batch < CHANGES / BATCH; batch++) {
    const pk = `k${random.int(KEYS)}`;
    const from = written.get(pk) ?? 0;
    written.set(pk, from + BATCH);
    const operations = Array.from({ length: BATCH }, (_, n): OperationInput => ({
      operationType: BulkOperationType.Create,
      resourceBody: { id: `${pk}:${from + n}`, pk },
    }));
    expect((await container.items.batch(operations, pk)).code).toBe(200);
    if (splits.has(batch)) emulator.split('d/c');
    if (ends.has(batch)) {
      // What was written so far is being read while somebody goes.
      await vi.waitUntil(() => seen.size > (batch * BATCH) / 2, { timeout: PATIENCE_MS, interval: 20 });
      const child = hosts.get(random.pick(NAMES));
      const signal = random.pick(['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGSTOP'] as const);
      kills += Number(child?.kill(signal) === true);
      if (child && signal === 'SIGSTOP') paused.add(child);
    }
    // Its leases were taken meanwhile, or not. Somebody has to go on.
    if (batch % 50 === 0 || paused.size > 1) resume();
  }
  resume();
  await vi.waitUntil(() => seen.size === CHANGES, { timeout: PATIENCE_MS, interval: 50 });

  const next = new Map<string, number>();
  const handled = new Set<string>();
  let repeated = 0;
  for (const { ids } of deliveries.toSorted((a, b) => a.at - b.at)) {
    for (const id of ids) {
      const [pk = '', n = ''] = id.split(':');
      const complete = next.get(pk) ?? 0;
      // A transaction's documents come in any order, and never without each other.
      const begun = Math.floor(Number(n) / BATCH) * BATCH;
      expect(begun, `${id}: of its key only ${complete} came before`).toBeLessThanOrEqual(complete);
      if (handled.has(id)) repeated += 1;
      else next.set(pk, complete + 1);
      handled.add(id);
    }
  }
  expect(await partitions()).toBe(before + SPLITS);
  expect(kills).toBeGreaterThan(ENDS / 2);
  expect(repeated, `a page for each of ${acquired} tenures`).toBeLessThanOrEqual(PAGE * acquired);
}, 1_500_000);
