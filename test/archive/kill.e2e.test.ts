// `archive sweep` and `archive restore` as processes, killed at random points between and amid their requests, while a live
// host goes on deriving. The servers survive; whatever was left half done the next run finishes.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { AzureBlobStore } from '../../src/archive/azure-blob-store.ts';
import { historyOf } from '../../src/archive/open.ts';
import type { Doc } from '../../src/definition/specs.ts';
import { visible } from '../../src/definition/oracle/recompute.ts';
import { type App, compose } from '../../src/runtime/processor-host.ts';
import { cli } from '../cli/cli.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { millrace } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { Random } from '../support/random.ts';
import { COLD, type Stage, openStage } from '../support/stage.ts';
import { suiteSeed } from '../support/seed.ts';

// MILLRACE_SEED repeats the points of a run (not its races); MILLRACE_HISTORIES says how many there are.
const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const MONTHS = ['2025-11', '2025-12', '2026-01'];
const [COLD_ORDERS, HOT_ORDERS] = [180, 20];
const SIGNAL = new AbortController().signal;

let azurite: Azurite;
let stage: Stage;
let app: App;

beforeAll(async () => {
  azurite = await startAzurite();
  const { connectionString } = azurite;
  stage = await openStage({ seed: SEED }, COLD, { connectionString, container: 'archive' });
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: COLD })) vi.stubEnv(name, value);
  app = await compose({ ...stage, host: 'live', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
});

afterAll(async () => {
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
  readonly sent: number;
  readonly killed: boolean;
}

/** A verb in a process of its own, killed when it sends its `point`th piece, which then arrives or doesn't. */
async function run(verb: 'sweep' | 'restore', point: number, arrives: boolean): Promise<Run> {
  let sent = 0;
  let killed = false;
  const { COSMOS = '', STORAGE = '' } = stage.env;
  const pass = (): boolean => {
    sent += 1;
    if (sent >= point && !killed) {
      killed = true;
      child.kill('SIGKILL');
      return arrives;
    }
    return !killed;
  };
  await using cosmos = await startProxy(portOf(COSMOS), pass);
  await using blobs = await startProxy(portOf(STORAGE), pass);
  const env = { COSMOS: withPort(COSMOS, cosmos.port), STORAGE: withPort(STORAGE, blobs.port) };
  await using child = millrace(['archive', verb, '--json'], { env });
  const { code, signal } = await child.ended;
  // Whoever was quicker than the kill has ended well.
  expect(signal ?? code, `${verb}: ${child.stderr}`).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);
  return { sent, killed: signal === 'SIGKILL' };
}

const PORT = /(http:\/\/127\.0\.0\.1:)(\d+)/;
const portOf = (connection: string): number => Number(PORT.exec(connection)?.[2]);
const withPort = (connection: string, port: number): string => connection.replace(PORT, `$1${port}`);

/** Each order once, hot or cold, as it was written last; and every blob as it was written. */
async function check(orders: readonly Doc[]): Promise<void> {
  const store = new AzureBlobStore(await stage.services.blobs());
  const { pipeline, model } = stage.loaded;
  const history = historyOf(pipeline, model, { ...stage.services.place, store, readLagMs: 0 });
  const found: Doc[] = [];
  for await (const { doc = {} } of history.documents('Orders', SIGNAL)) found.push(visible(doc));
  const byId = (a: Doc, b: Doc): number => Number(String(a['id']).slice(6)) - Number(String(b['id']).slice(6));
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

it(`loses nothing and doubles nothing however often it is killed (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const killedAt: string[] = [];
  /** Pieces that a run sends which nobody kills; the first round finds out. */
  const whole = { sweep: Infinity, restore: Infinity };
  for (let round = 0; killedAt.length < KILLS; round++) {
    const orders = ordersOf(round);
    await write(orders);
    for (const verb of ['sweep', 'restore'] as const) {
      const point = round === 0 ? Infinity : 1 + random.int(whole[verb]);
      const { sent, killed } = await run(verb, point, random.chance(0.5));
      if (round === 0) whole[verb] = sent;
      if (killed) killedAt.push(`${verb} ${point}`);
      await check(orders);
      expect((await json('archive', verb)).code).toBe(0);
      expect(await hotOrders()).toBe(verb === 'sweep' ? HOT_ORDERS : orders.length);
      await check(orders);
    }
    await app.drained(SIGNAL);
    expect(round, `killed at ${killedAt.join(', ')}`).toBeLessThan(KILLS + 1);
  }
  expect((await json('projections', 'verify')).value).toMatchObject({ different: 0, documents: { sources: 200 } });
  expect(await app.deadLetters.list()).toEqual([]);
});
