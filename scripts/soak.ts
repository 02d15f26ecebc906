// The long run of the processor: four processes share a container's feed for some minutes, while they are killed, stopped
// and made to stand still, and partitions are split and merged. Each logs what it delivers; the logs are judged
// afterwards (soak/judge.ts). Usage: npm run soak -- [--minutes 10] [--seed N]. Exit code 1 where something is wrong.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BulkOperationType, type Container, CosmosClient, type OperationInput } from '@azure/cosmos';
import { type Emulator, startEmulator } from '../src/emulator/index.ts';
import { Dice } from '../src/testing/dice.ts';
import { type Verdict, judge } from './soak/judge.ts';
import type { SoakLine } from './soak/lines.ts';

const WORKER = join(import.meta.dirname, '../test/feed/worker-process.ts');
const NAMES = ['one', 'two', 'three', 'four'];
const KEYS = 200;
const BATCH = 10;
const MOST_PARTITIONS = 10;
/** Above the expiration of the workers, and well below it. */
const STANDSTILLS_MS = [1_000, 4_000, 9_000];
const PATIENCE_MS = 120_000;

/** The host processes. One that ends is started again. */
class Hosts {
  readonly logs: string[] = [];
  readonly #connection: string;
  readonly #folder: string;
  readonly #running = new Map<string, ChildProcess>();
  #over = false;

  constructor(connection: string, folder: string) {
    this.#connection = connection;
    this.#folder = folder;
  }

  /** A log for each life: a line that a kill cut off spoils no other. */
  start(name: string): void {
    const log = join(this.#folder, `${name}-${this.logs.length}.jsonl`);
    const child = fork(WORKER, [this.#connection, name, log], {
      execArgv: ['--conditions=millrace-source'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.logs.push(log);
    child.once('exit', () => void (!this.#over && this.start(name)));
    this.#running.set(name, child);
  }

  async signal(name: string, signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP', random: Dice): Promise<string> {
    const child = this.#running.get(name);
    child?.kill(signal);
    if (signal === 'SIGSTOP') void delay(random.pick(STANDSTILLS_MS)).then(() => child?.kill('SIGCONT'));
    return signal;
  }

  async end(): Promise<void> {
    this.#over = true;
    const living = [...this.#running.values()].filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    await Promise.all(living.map((child) => (child.kill('SIGKILL'), once(child, 'exit'))));
  }
}

const HELP = `npm run soak -- [--minutes 10] [--seed N]

Four processes share a feed for so many minutes, while they are killed, stopped and made to stand still, and partitions are
split and merged. Prints what was delivered late, lost or out of order, and what handovers took.

  npm run soak -- --minutes 2 --seed 1

Exit code 1: something is wrong. 2: wrong usage.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    help: { type: 'boolean', default: false },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (values.help) console.log(HELP);
else if (minutes > 0 && Number.isSafeInteger(seed)) await run();
else {
  console.error('--minutes takes a number above 0, and --seed a whole number.');
  process.exitCode = 2;
}

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-soak-'));
  const emulator = await startEmulator({ seed });
  try {
    process.exitCode = await soak(emulator, folder, minutes * 60_000, new Dice(seed));
  } finally {
    await emulator.close();
    rmSync(folder, { recursive: true });
  }
}

async function soak(server: Emulator, folder: string, ms: number, random: Dice): Promise<number> {
  const client = new CosmosClient({ endpoint: server.endpoint, key: server.key });
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({ id: 'c', partitionKey: '/pk', throughput: 24_000 });
  await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const hosts = new Hosts(server.connectionString, folder);
  for (const name of NAMES) hosts.start(name);
  const written = new Map<string, number>();
  const did: Record<string, number> = {};
  const end = performance.now() + ms;
  const writing = write(container, written, random, () => performance.now() >= end);
  while (performance.now() < end) {
    await delay(1_000 + random.int(2_000));
    const what = random.pick(['SIGKILL', 'SIGTERM', 'SIGTERM', 'SIGSTOP', 'SIGSTOP', 'shape'] as const);
    const done =
      what === 'shape' ? await shape(server, container, random) : await hosts.signal(random.pick(NAMES), what, random);
    did[done] = (did[done] ?? 0) + 1;
  }
  await writing;
  const total = [...written.values()].reduce((sum, count) => sum + count, 0);
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until && new Set(linesOf(hosts).flatMap(idsOf)).size < total) await delay(1_000);
  await hosts.end();
  client.dispose();
  console.log(`${values.minutes} min, seed ${values.seed}: ${JSON.stringify(did)}, ${total} documents written`);
  return report(linesOf(hosts), judge(linesOf(hosts), written, BATCH));
}

function report(lines: readonly SoakLine[], verdict: Verdict): number {
  const { deliveries, distinct, tenures, late, lateTenures, latestMs, lost, outOfOrder } = verdict;
  console.log(`${deliveries} deliveries of ${distinct} documents in ${tenures} tenures`);
  console.log(
    `late: ${late} deliveries of ${lateTenures} tenures, after the next owner's newer ones; the latest ${Math.round(latestMs)} ms`,
  );
  console.log(`lost: ${lost.length} ${lost.slice(0, 5).join(' ')}`);
  console.log(`out of order: ${outOfOrder.length} ${outOfOrder.slice(0, 5).join(' ')}`);
  for (const answered of [true, false]) {
    const waits = lines.flatMap((line) =>
      line.kind === 'event' && line.name === 'lease:handover' && line.event['answered'] === answered
        ? [Number(line.event['waitedMs'])]
        : [],
    );
    const at = (share: number): number =>
      Math.round(waits.toSorted((a, b) => a - b)[Math.floor(waits.length * share)] ?? 0);
    console.log(
      `handovers ${answered ? 'answered' : 'unanswered'}: ${waits.length}; median ${at(0.5)} ms, 95% ${at(0.95)} ms, longest ${Math.round(Math.max(0, ...waits))} ms`,
    );
  }
  return late + lost.length + outOfOrder.length === 0 ? 0 : 1;
}

/** Transactions of one key, one after the other, with pauses in which hosts find nothing new. */
async function write(
  container: Container,
  written: Map<string, number>,
  random: Dice,
  over: () => boolean,
): Promise<void> {
  while (!over()) {
    const pk = `k${random.int(KEYS)}`;
    const from = written.get(pk) ?? 0;
    const operations = Array.from({ length: BATCH }, (_, n): OperationInput => ({
      operationType: BulkOperationType.Create,
      resourceBody: { id: `${pk}:${from + n}`, pk },
    }));
    const { code } = await container.items.batch(operations, pk);
    if (code !== 200) throw new Error(`A batch was refused with ${code}`);
    written.set(pk, from + BATCH);
    await delay(random.chance(0.002) ? 3_000 : 10 + random.int(40));
  }
}

async function shape(server: Emulator, container: Container, random: Dice): Promise<string> {
  const { resources } = await container.readPartitionKeyRanges().fetchAll();
  if (resources.length < MOST_PARTITIONS && random.chance(0.6)) return (server.split('d/c'), 'split');
  return (server.merge('d/c'), 'merge');
}

function linesOf({ logs }: Hosts): SoakLine[] {
  return logs.filter(existsSync).flatMap((file) => {
    // The last line may be half of one: its process was killed.
    const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return whole.flatMap((line) => parsed(line));
  });
}

function parsed(line: string): SoakLine[] {
  try {
    return [JSON.parse(line) as SoakLine];
  } catch {
    return [];
  }
}

function idsOf(line: SoakLine): string[] {
  return line.kind === 'delivered' ? line.changes.map(([id]) => id) : [];
}
