// `archive sweep`, `compact` and `restore` as processes, killed at random points between and amid their requests,
// from the first effect on, while a live host goes on deriving. The servers survive; whatever was left half done the next run finishes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { historyOf } from '../../src/archive/open.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { type App, compose } from '../../src/runtime/hosts/processor-host.ts';
import { cli } from '../cli/cli.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { startProxy } from '../support/proxy.ts';
import { Random } from '../support/random.ts';
import { COLD, type Stage, openStage } from '../support/stage.ts';
import { suiteSeed } from '../support/seed.ts';
import type { Asked } from './verb-worker.ts';

// MILLRACE_SEED repeats the points of a run (not its races); MILLRACE_HISTORIES says how many there are of each.
const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 1);
/** Ends what hangs: a round takes 10 s of processor time, and much longer beside other work. */
const TIMEOUT_MS = 480_000 + KILLS * 120_000;
const MONTHS = ['2025-11', '2025-12', '2026-01'];
const [COLD_ORDERS, HOT_ORDERS] = [180, 20];
const SIGNAL = new AbortController().signal;

const byId = (a: Doc, b: Doc): number => Number(String(a['id']).slice(6)) - Number(String(b['id']).slice(6));

let azurite: Azurite;
let stage: Stage;
let app: App;
let spare: Spare;

beforeAll(async () => {
  azurite = await startAzurite();
  const { connectionString } = azurite;
  stage = await openStage({ seed: SEED }, COLD, { connectionString, container: 'archive' });
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: COLD })) vi.stubEnv(name, value);
  app = await compose({ ...stage, host: 'live', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  spare = new Spare();
});

afterAll(async () => {
  spare?.kill();
  await app?.stop();
  vi.unstubAllEnvs();
  await stage?.[Symbol.asyncDispose]();
  await azurite?.close();
});

/** The orders of a round: every one of them is another version than the round before. */
const ordersOf = (round: number): Doc[] =>
  Array.from({ length: COLD_ORDERS + HOT_ORDERS }, (_, n) => ({
    id: `order-${n}`,
    type: 'order',
    storeId: `s${n % 3}`,
    customerId: 'c1',
    placedAt: `${n < COLD_ORDERS ? MONTHS[n % MONTHS.length] : '2026-02'}-0${1 + (n % 9)}T10:00:00.000Z`,
    cents: 100 * round + n,
  }));

async function write(orders: readonly Doc[]): Promise<void> {
  for (const [storeId, of] of Map.groupBy(orders, (order) => String(order['storeId'])))
    for (let at = 0; at < of.length; at += 100) {
      const upserts = of
        .slice(at, at + 100)
        .map((resourceBody) => ({ operationType: 'Upsert', resourceBody }) as const);
      const { code } = await stage.container('Orders').items.batch(upserts as never, storeId);
      expect(code).toBe(200);
    }
  await app.drained(SIGNAL);
}

interface Run {
  /** Pieces from the first effect on. */
  readonly sent: number;
  readonly killed: boolean;
}

const BLOB = /^PUT [^ ]*\.jsonl\.gz/m;
/** A verb, and what it sends as its first effect: before it is start-up and reading. */
interface Verb {
  readonly effect: RegExp;
  readonly args: readonly string[];
}
const VERBS = {
  sweep: { effect: BLOB, args: ['archive', 'sweep', '--json'] },
  compact: { effect: BLOB, args: [] },
  restore: { effect: /millrace\.restoring/, args: ['archive', 'restore', '--json'] },
} as const satisfies Record<string, Verb>;
type Name = keyof typeof VERBS;

/** The process that runs the next verb. It has loaded everything when it is asked, while others were checked. */
class Spare {
  readonly #child = fork(join(import.meta.dirname, 'verb-worker.ts'), {
    execArgv: ['--conditions=millrace-source'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  readonly #ready = once(this.#child, 'message');
  readonly #closed = once(this.#child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  stderr = '';

  constructor() {
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  async ask(asked: Asked): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
    await this.#ready;
    this.#child.send(asked);
    return this.#closed;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** A verb in a process of its own, killed when it sends its `point`th piece from its first effect on, which arrives or doesn't. */
async function run(name: Name, point: number, arrives: boolean): Promise<Run> {
  const { effect, args }: Verb = VERBS[name];
  let sent = 0;
  let killed = false;
  const { COSMOS = '', STORAGE = '' } = stage.env;
  const child = spare;
  const pass = (piece: Buffer): boolean => {
    if (sent > 0 || effect.test(piece.toString('latin1'))) sent += 1;
    if (sent >= point && !killed) {
      killed = true;
      child.kill();
      return arrives;
    }
    return !killed;
  };
  await using cosmos = await startProxy(portOf(COSMOS), pass);
  await using blobs = await startProxy(portOf(STORAGE), pass);
  const env = { COSMOS: withPort(COSMOS, cosmos.port), STORAGE: withPort(STORAGE, blobs.port) };
  const [code, signal] = await child.ask({ name, args, env });
  spare = new Spare();
  // Whoever was quicker than the kill has ended well.
  expect(signal ?? code, `${name}: ${child.stderr}`).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);
  return { sent, killed: signal === 'SIGKILL' };
}

const PORT = /(http:\/\/127\.0\.0\.1:)(\d+)/;
const portOf = (connection: string): number => Number(PORT.exec(connection)?.[2]);
const withPort = (connection: string, port: number): string => connection.replace(PORT, `$1${port}`);

/** Each order once, hot or cold, as it was written last; and every blob as it was written. */
async function check(orders: readonly Doc[]): Promise<void> {
  const store = (await stage.services.blobs()).open();
  const { pipeline, model } = stage.loaded;
  const history = historyOf(pipeline, model, { ...stage.services.place, store, readLagMs: 0 });
  const found: Doc[] = [];
  for await (const { doc = {} } of history.documents('Orders', SIGNAL)) found.push(visible(doc));
  expect(found.toSorted(byId)).toEqual(orders);
  expect(await json('archive', 'verify')).toMatchObject({ code: 0, value: [{ faults: [] }] });
}

async function json(...args: string[]): Promise<{ code: number; value: unknown }> {
  const { code, stdout } = await cli([...args, '--json']);
  return { code, value: JSON.parse(stdout) };
}

async function hotOrders(): Promise<number> {
  const { resources } = await stage
    .container('Orders')
    .items.query<Doc>("SELECT c.id FROM c WHERE c.type = 'order'")
    .fetchAll();
  return resources.length;
}

it(
  `an archive verb loses nothing and doubles nothing however often it is killed at work (seed ${SEED})`,
  async () => {
    const random = new Random(SEED);
    const kills: Record<Name, number> = { sweep: 0, compact: 0, restore: 0 };
    /** Pieces that a run sends which no one kills; the first round finds out. */
    const whole = { ...kills };
    for (let round = 0; round === 0 || Object.values(kills).some((count) => count < KILLS); round++) {
      const orders = ordersOf(round);
      // In two parts, so that each month has blobs to join.
      await write(orders.slice(0, COLD_ORDERS / 2));
      expect((await json('archive', 'sweep')).code).toBe(0);
      await write(orders.slice(COLD_ORDERS / 2));
      for (const name of Object.keys(VERBS) as Name[]) {
        const { sent, killed } = await run(
          name,
          round === 0 ? Infinity : 1 + random.int(whole[name]),
          random.chance(0.5),
        );
        if (round === 0) whole[name] = sent;
        expect(sent, `${name} has no effect`).toBeGreaterThan(0);
        if (killed) kills[name] += 1;
        await check(orders);
        // In this process: only what is killed needs one of its own.
        if (killed && name === 'compact') await run(name, Infinity, true);
        const ended = killed && name !== 'compact' ? await cli(VERBS[name].args) : { code: 0 };
        expect(ended).toMatchObject({ code: 0 });
        expect(await hotOrders()).toBe(name === 'restore' ? orders.length : HOT_ORDERS);
        await check(orders);
      }
      await app.drained(SIGNAL);
      // The long form takes minutes, and may be stopped.
      if (KILLS > 1) console.log(`round ${round}: killed ${JSON.stringify(kills)}`);
      expect(round, `killed: ${JSON.stringify(kills)}`).toBeLessThan(2 * KILLS + 2);
    }
    console.log(`seed ${SEED}: killed ${JSON.stringify(kills)}`);
    expect((await json('projections', 'verify')).value).toMatchObject({ different: 0, documents: { sources: 200 } });
    expect(await app.deadLetters.list()).toEqual([]);
  },
  TIMEOUT_MS,
);
