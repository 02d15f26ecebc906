import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import { withRetry } from '../src/cosmos/retry.ts';
import { type Benchmark, type Figure, atMost, plain, sized } from './support/measure.ts';
import { openStage, type Stage } from './support/stage.ts';

/** The tenant that floods. It writes a hundred times as much as each of the others. */
export const FLOODING = 'flooding';
const OTHERS = 10;
const FLOOD_A_SECOND = 1_000;
const EVERY_MS = 1_000 / (FLOOD_A_SECOND / 100);
const BATCH = 50;
/** Fewer than half of a window. */
const FITS = sized(4_000, 200);
const LARGE = Number(process.env['MILLRACE_FLOOD'] ?? sized(100_000, 500));
const ALONE_MS = sized(8_000, 500);
const ROUNDS = sized(4, 1);
const TEXT = 'x'.repeat(800);
const PARTITION_RU = 10_000;

/** What the host's process needs. */
export interface Setup {
  readonly account: { readonly endpoint: string; readonly key: string };
  readonly source: string;
  readonly sink: string;
  readonly pollMs: number;
  /** What a change takes before it is copied, milliseconds: a call to another service, for example. */
  readonly workMs: number;
  /** RU_BUDGET of the host. */
  readonly ruPerSecond?: number;
}

/** What the host has applied: how much of the flood, and when each document of the others since its last report. */
export interface Seen {
  flood: number;
  others: (readonly [id: string, at: number])[];
  /** The longest time that the process stood still since then: it waited for a core, or computed. */
  stoodMs: number;
}

interface Variant {
  readonly name: string;
  readonly pollMs: number;
  readonly workMs: number;
  readonly sinkRu: number;
  readonly ruPerSecond?: number;
}

const VARIANTS: readonly Variant[] = [
  { name: 'handler of 2 ms a change', pollMs: 100, workMs: 2, sinkRu: 40_000 },
  { name: 'the same, default poll delay', pollMs: 5_000, workMs: 2, sinkRu: 40_000 },
  { name: 'sink of 4,000 RU/s', pollMs: 100, workMs: 0, sinkRu: 4_000 },
  { name: 'the same, RU_BUDGET 3,600', pollMs: 100, workMs: 0, sinkRu: 4_000, ruPerSecond: 3_600 },
];

/** From a write's answer to the copy, of tenants beside one that writes a hundred times as much. */
export const b20: Benchmark = {
  id: 'B20',
  title: 'latency of tenants beside one that floods their range, and alone',
  run: async () => {
    await using stage = await openStage();
    await partition(stage, 'leases', '/id');
    await partition(stage, 'millrace', '/pk');
    await stage.faults({ enforceThroughput: true });
    const only = process.env['MILLRACE_VARIANT'];
    const figures: Figure[] = [];
    for (const [at, variant] of VARIANTS.entries())
      if (only === undefined || only === String(at)) figures.push(...(await measured(stage, variant, at)));
    return figures;
  },
};

async function measured(stage: Stage, variant: Variant, at: number): Promise<Figure[]> {
  const { name, sinkRu, ...timings } = variant;
  const source = await partition(stage, `Source${at}`, '/storeId');
  const sink = await stage.container(`Sink${at}`, '/storeId', sinkRu);
  const account = { endpoint: stage.endpoint, key: stage.key };
  const host = new Host({ account, source: source.id, sink: sink.id, ...timings });
  const traffic = new Traffic(source, host);
  await traffic.until(() => host.visible > 0);

  const alone: number[] = [];
  const fits: number[] = [];
  const stoodAlone: number[] = [];
  let flooded = 0;
  const flood = async (documents: number): Promise<void> => {
    await write(source, flooded, documents);
    flooded += documents;
  };
  // By turns, because other work of the machine comes and goes.
  for (let n = 0; n < ROUNDS; n++) {
    host.stood = [];
    alone.push(...(await traffic.during(() => delay(ALONE_MS))));
    stoodAlone.push(...host.stood);
    fits.push(...(await traffic.during(() => flood(FITS))));
    await traffic.until(() => host.flood >= flooded);
  }
  const start = performance.now();
  host.stood = [];
  const beyond = await traffic.during(() => flood(LARGE));
  const seconds = (performance.now() - start) / 1_000;
  const stoodBeyond = host.stood;
  const applied = host.flood - (flooded - LARGE);
  await traffic.stop();
  host.stop();

  const rounds = { alone, fits, beyond };
  const ratio = (beside: readonly number[], documents: number): Figure => {
    const title = `${name}: p99 ÷ alone, flood of ${documents.toLocaleString('en-US')}`;
    return atMost(title, at99(beside) / at99(alone), 2, '×');
  };
  return [
    ratio(fits, FITS),
    ratio(beyond, LARGE),
    ...Object.entries(rounds).flatMap(([round, latencies]) => [
      plain(`  ${round}: p50`, part(latencies, 0.5), 'ms'),
      plain(`  ${round}: p99 of ${latencies.length}`, at99(latencies), 'ms'),
    ]),
    plain('  alone: host stood still, p99', at99(stoodAlone), 'ms'),
    plain('  beyond: host stood still, p99', at99(stoodBeyond), 'ms'),
    plain('  flood written', LARGE / seconds, 'a second'),
    plain('  part of it applied by then', applied / LARGE, ''),
  ];
}

const part = (latencies: readonly number[], of: number): number =>
  latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * of)] ?? Number.NaN;
const at99 = (latencies: readonly number[]): number => part(latencies, 0.99);

/** A container of one physical partition with all the RU/s that one can have. */
async function partition(stage: Stage, id: string, path: string): Promise<Container> {
  const container = await stage.container(id, path);
  const { resource, offer } = await container.readOffer();
  await offer?.replace({ ...resource!, content: { ...resource!.content!, offerThroughput: PARTITION_RU } });
  return container;
}

/** The process that reads the feed. */
class Host {
  readonly #child: ChildProcess;
  readonly #at = new Map<string, number>();
  flood = 0;
  /** By report. */
  stood: number[] = [];

  constructor(setup: Setup) {
    const execArgv = ['--conditions=millrace-source'];
    this.#child = fork(new URL('b20-worker.ts', import.meta.url), [JSON.stringify(setup)], { execArgv });
    this.#child.on('message', ({ flood, others, stoodMs }: Seen) => {
      this.flood = flood;
      this.stood.push(stoodMs);
      for (const [id, at] of others) if (!this.#at.has(id)) this.#at.set(id, at);
    });
  }

  get visible(): number {
    return this.#at.size;
  }

  appliedAt(id: string): number | undefined {
    return this.#at.get(id);
  }

  stop(): void {
    this.#child.disconnect();
  }
}

/** The other tenants, which write all the time. */
class Traffic {
  readonly #source: Container;
  readonly #host: Host;
  /** When the write of each document was answered. */
  #committed = new Map<string, number>();
  #written = 0;
  #over = false;
  readonly #running: Promise<void>;

  constructor(source: Container, host: Host) {
    this.#source = source;
    this.#host = host;
    this.#running = this.#run();
  }

  /** The latencies of what is written while something happens; waits until all of it is applied. */
  async during(something: () => Promise<unknown>): Promise<number[]> {
    this.#committed = new Map();
    const own = this.#committed;
    await something();
    this.#committed = new Map();
    await this.until(() => [...own.keys()].every((id) => this.#host.appliedAt(id) !== undefined));
    return [...own].map(([id, at]) => Math.max(0, (this.#host.appliedAt(id) ?? Infinity) - at));
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await delay(50);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const writing = new Set<Promise<void>>();
    const start = performance.now();
    const each = EVERY_MS / OTHERS;
    while (!this.#over) {
      const one = this.#write(this.#written++);
      writing.add(one);
      void one.finally(() => writing.delete(one));
      await delay(Math.max(0, start + this.#written * each - performance.now()));
    }
    await Promise.all(writing);
  }

  async #write(n: number): Promise<void> {
    const document = { id: `o${n}`, storeId: `s${n % OTHERS}`, type: 'thing', text: TEXT };
    const into = this.#committed;
    await withRetry(() => this.#source.items.create(document), { reads: true });
    into.set(document.id, Date.now());
  }
}

/** Writes documents of the flood, evenly over time, as fast as the range takes them. */
async function write(source: Container, from: number, documents: number): Promise<void> {
  const writing = new Set<Promise<unknown>>();
  const start = performance.now();
  for (let done = 0; done < documents; done += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, n) => {
      const resourceBody = { id: `f${from + done + n}`, storeId: FLOODING, type: 'thing', text: TEXT };
      return { operationType: 'Create', resourceBody } as const;
    });
    const send = async (): Promise<void> => {
      const { code } = await source.items.batch(batch, FLOODING);
      if (code === 429) throw Object.assign(new Error('Throttled'), { code });
      if (code !== 200) throw new Error(`The flood got ${code}`);
    };
    const one = withRetry(send, { reads: true });
    writing.add(one);
    void one.finally(() => writing.delete(one));
    if (writing.size >= 8) await Promise.race(writing);
    await delay(Math.max(0, start + ((done + BATCH) * 1_000) / FLOOD_A_SECOND - performance.now()));
  }
  await Promise.all(writing);
}
