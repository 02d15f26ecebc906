import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import pMap from 'p-map';
import { Random } from '../../test/support/random.ts';
import type { Stage } from '../support/stage.ts';
import type { Order } from './order.ts';
import { type Wrong, wrongRows } from './oracle.ts';
import type { Participant, Place } from './participants.ts';
import { Tail } from './tail.ts';

const COUNTRIES = ['NO', 'NL', 'PT', 'IE', 'FI'];
const STATUSES = ['open', 'paid', 'sent'];
const STORES = 100;
/** Orders that are written last, each of another store. */
const LAST = 20;
/** Nothing new for so long, while nothing is written: it has done what it will do. */
const QUIET_MS = 30_000;
const PATIENCE_MS = 120_000;
const BURST_MS = 50;
const POISON = 'poison';
const MOST_RESTARTS = 20;

export interface Calm {
  readonly changesPerSecond: number;
  readonly chargePerChange: number;
  readonly requestsPerChange: number;
  readonly wrong: Wrong;
}

export interface Adverse {
  readonly wrong: Wrong;
  readonly p99Ms: number;
  readonly never: number;
  /** Orders written after everything, with nothing in their way, that had not come after a minute. */
  readonly stuck: number;
  readonly seconds: number;
}

const order = (prefix: string, n: number, turn = 1): Order => ({
  id: `${prefix}${n}`,
  type: 'order',
  storeId: `${prefix}${n % STORES}`,
  customer: { id: `c${n % 211}`, country: COUNTRIES[(n % 211) % COUNTRIES.length] ?? '' },
  status: STATUSES[turn - 1] ?? '',
  cents: 100 + ((n * 37 + turn * 11) % 900),
  turn,
});

/** All orders are there before it starts, nothing fails, and nobody is killed. */
export async function calm(participant: Participant, place: Place, orders: number): Promise<Calm> {
  const { database } = place.stage;
  const written = Array.from({ length: orders }, (_, n) => order('a', n));
  // As they come in a shop: no store has many one after the other.
  const { items } = database.container('Orders');
  await pMap(written, (each) => items.upsert(each), { concurrency: 16 });
  const before = (await place.stage.usage()).stats;
  const seen: number[] = [];
  await using summaries = new Tail(database.container('Summaries'), (_id, _turn, at) => seen.push(at));
  await using totals = new Tail(database.container('Totals'));
  const child = new Restarted(() => participant.start(place));
  const wrong = await settled(child, place.stage, written, [summaries, totals]);
  const after = (await place.stage.usage()).stats;
  await child.kill();
  const [first = 0, last = 0] = [seen[0], seen.at(-1)];
  const rows = seen.filter((at) => at > first).length;
  const requestsOf = ({ requests: of }: typeof after): number =>
    ON_ITEMS.reduce((sum, kind) => sum + (of[kind] ?? 0), 0);
  return {
    changesPerSecond: (rows * 1_000) / (last - first),
    chargePerChange: (after.charge - before.charge - summaries.charge - totals.charge - wrong.charge) / orders,
    requestsPerChange: (requestsOf(after) - requestsOf(before)) / orders,
    wrong,
  };
}

/** Of items, but for queries: the oracle makes some too. */
const ON_ITEMS = ['read', 'create', 'upsert', 'replace', 'patch', 'delete', 'batch'];

/** Orders are written, corrected and cancelled while it is killed again and again, and 2 of 100 answers of its writes are lost. */
export async function adverse(
  participant: Participant,
  place: Place,
  { orders, kills, rate }: { readonly orders: number; readonly kills: number; readonly rate: number },
): Promise<Adverse> {
  const { stage } = place;
  const { database } = stage;
  const random = new Random(1);
  const began = performance.now();
  const writer = new Writer(database.container('Orders'), history(orders), kills + 1, rate);
  await using summaries = new Tail(database.container('Summaries'), (id, turn, at) => writer.seen(id, turn, at));
  await using totals = new Tail(database.container('Totals'));
  await stage.faults({ rules: lostAnswers() });
  const writing = writer.run();
  for (let life = 0; life < kills; life++) {
    const startedAt = performance.now();
    const child = new Restarted(() => participant.start(place));
    const late = AbortSignal.timeout(PATIENCE_MS / 4);
    while (!(summaries.lastAt > startedAt || late.aborted)) await delay(5);
    await delay(random.int(1_000));
    await child.kill();
    writer.next();
  }
  const child = new Restarted(() => participant.start(place));
  await writing;
  await stage.faults({});
  const sentinels = Array.from({ length: LAST }, (_, n) => order('b', orders + n));
  for (const each of sentinels) await writer.write(each);
  const late = AbortSignal.timeout(PATIENCE_MS);
  const missing = (): number => sentinels.filter(({ id }) => !summaries.turns.has(id)).length;
  while (missing() > 0 && !late.aborted) await delay(20);
  const stuck = missing();
  const wrong = await settled(child, stage, [...writer.written.values()], [summaries, totals]);
  await child.kill();
  return {
    wrong,
    ...writer.waits(),
    stuck,
    seconds: (performance.now() - began) / 1_000,
  };
}

/** A third is corrected, each to another status and amount; a tenth is cancelled; the one in the middle can't be derived. */
function history(orders: number): Order[] {
  const all: Order[] = [];
  const later = 500;
  for (let n = 0; n < orders + later; n++) {
    const { customer: _, ...poison } = { ...order('b', n), id: POISON };
    if (n === orders >> 1) all.push(poison as Order);
    if (n < orders) all.push(order('b', n));
    const old = n - later;
    if (old >= 0 && old % 3 === 0) all.push(order('b', old, 2));
    if (old >= 0 && old % 10 === 0) all.push({ ...order('b', old, 3), cancelled: true });
  }
  return all;
}

function lostAnswers() {
  const operation = ['create', 'upsert', 'replace', 'patch', 'delete', 'batch'];
  // Each rule has its half of 2 %.
  return ['Summaries', 'Totals', 'leases', 'millrace'].flatMap((container) =>
    [408, 503].map((status) => ({ container, operation, status, probability: 0.01, effect: 'after' as const })),
  );
}

/** Writes a history, a part of it in each life of the participant, and notes when its versions came. */
class Writer {
  readonly written = new Map<string, Order>();
  readonly #container: Container;
  readonly #history: readonly Order[];
  readonly #parts: number;
  readonly #rate: number;
  readonly #pending = new Map<string, { readonly turn: number; readonly at: number }[]>();
  readonly #waits: number[] = [];
  #lives = 1;

  constructor(container: Container, written: readonly Order[], parts: number, rate: number) {
    this.#container = container;
    this.#history = written;
    this.#parts = parts;
    this.#rate = rate;
  }

  next(): void {
    this.#lives += 1;
  }

  async run(): Promise<void> {
    const burst = Math.ceil((this.#rate * BURST_MS) / 1_000);
    for (let done = 0; done < this.#history.length;) {
      const end = Math.min(done + burst, Math.ceil((this.#history.length * this.#lives) / this.#parts));
      await Promise.all([...this.#history.slice(done, end).map((each) => this.write(each)), delay(BURST_MS)]);
      done = end;
    }
  }

  async write(version: Order): Promise<void> {
    const { id, turn, cancelled } = version;
    await this.#container.items.upsert(version);
    this.written.set(id, version);
    if (cancelled) this.#pending.delete(id);
    else if (id !== POISON) this.#pending.set(id, [...(this.#pending.get(id) ?? []), { turn, at: performance.now() }]);
  }

  seen(id: string, turn: number, at: number): void {
    const pending = this.#pending.get(id) ?? [];
    for (const one of pending) if (one.turn <= turn) this.#waits.push(at - one.at);
    this.#pending.set(
      id,
      pending.filter((one) => one.turn > turn),
    );
  }

  /** Versions that never came count as the longest waits. */
  waits(): { p99Ms: number; never: number } {
    const never = [...this.#pending.values()].reduce((sum, { length }) => sum + length, 0);
    const all = [...this.#waits, ...Array<number>(never).fill(Infinity)].toSorted((one, other) => one - other);
    return { p99Ms: all[Math.floor(all.length * 0.99)] ?? Number.NaN, never };
  }
}

/**
 * Resolves when all is right, or nothing new comes: one that does a page again for ever writes, and brings nothing new.
 * The charge is that of looking.
 */
async function settled(
  child: Restarted,
  { database }: Stage,
  written: Iterable<Order>,
  [summaries, totals]: readonly [Tail, Tail],
): Promise<Wrong> {
  for (let charge = 0; ;) {
    const wrong = await wrongRows(database, written);
    charge += wrong.charge;
    const quietMs = Math.max(Math.min(summaries.quietMs(), totals.quietMs()), summaries.quietMs() - QUIET_MS);
    if (wrong.summaries + wrong.totals === 0 || quietMs > QUIET_MS) return { ...wrong, charge };
    child.assertAlive();
    await delay(1_000);
  }
}

/** A process that is started again when it ends by itself, as an orchestrator does. */
class Restarted {
  readonly #start: () => ChildProcess;
  #child: ChildProcess;
  #left = MOST_RESTARTS;
  #over = false;

  constructor(start: () => ChildProcess) {
    this.#start = start;
    this.#child = this.#begin();
  }

  #begin(): ChildProcess {
    return this.#start().once('exit', () => {
      if (!this.#over && this.#left-- > 0) this.#child = this.#begin();
    });
  }

  assertAlive(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`A participant ends by itself again and again, with ${exitCode ?? signalCode}`);
  }

  async kill(): Promise<void> {
    this.assertAlive();
    this.#over = true;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
