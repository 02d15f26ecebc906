// Stores that move between two shards, there and back, in use: an application writes from processes of its own, hosts of
// all shards derive totals and a copy of all and run a reaction, and movers and hosts are killed by SIGKILL.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { movesOf } from '../../../src/procedures/move/record.ts';
import type { PauseParts } from '../../../src/procedures/move/switch/pause.ts';
import { Orders, orderOf } from '../../runtime/application.ts';
import { Random } from '../../support/random.ts';
import { type SpreadStage, openSpread } from '../../support/spread-stage.ts';
import { type Death, Mover, STEPS, type Step } from './protocol/mover.ts';
import { WorldHosts, WorldWriters } from './world/children.ts';
import { type Verdict, judge } from './world/judge.ts';
import type { WriterReport } from './world/writer-process.ts';

export interface WorldOptions {
  readonly moves: number;
  /** Of movers, and so many of hosts. */
  readonly kills: number;
  /** Writes a second that the application tries. */
  readonly rate: number;
  /** Stores that move, all at the same time in one direction. Another one stays. */
  readonly stores: number;
  /** Documents of each store that are written all the time. */
  readonly documents: number;
  /** Orders that one request writes. */
  readonly batch: number;
  /** No move begins after so many minutes. */
  readonly minutes: number;
  readonly seed: number;
  /** Called every few seconds. */
  readonly progress?: (line: string) => void;
}

export interface Pause {
  readonly ms: number;
  readonly parts: PauseParts;
  readonly tries: number;
}

export interface WorldReport extends Verdict {
  readonly seconds: number;
  readonly moves: number;
  readonly killedIn: Readonly<Partial<Record<Step, number>>>;
  readonly leftOffline: number;
  readonly hostsKilled: number;
  readonly pauses: readonly Pause[];
  /** How long each step of a move took, of moves whose movers lived, milliseconds. */
  readonly took: readonly Readonly<Partial<Record<Step, number>>>[];
  readonly writes: number;
  readonly perSecond: number;
  readonly reads: number;
  /** Reads of their own writes by writers that did not show them. */
  readonly readsWrong: readonly string[];
  readonly refused: Readonly<Record<string, number>>;
  /** The longest wait for permission to write: to a store that moves, and to the one that stays. */
  readonly waitedMs: number;
  readonly stayedMs: number;
  readonly looks: number;
  readonly looksWrong: readonly string[];
  /** Late writes that moves have named. */
  readonly named: number;
  readonly unfinished: readonly string[];
  /** Errors by which moves ended, before they were run again. */
  readonly errors: readonly string[];
}

const MOVING = join(import.meta.dirname, '../../fixtures/moving');
const QUIET_DAY = '2026-06-01';
const QUIET_ORDERS = 10;
const STAYS = 'stays';
const HOSTS = ['one', 'two'];
const WRITERS = 2;
/** Writers of a store in each process. */
const EACH = 2;
/** The part of all writes that goes to the store that stays. */
const STAYING = 0.1;
const LOOK_MS = 100;
const PROGRESS_MS = 5_000;
/** Of one move. */
const MOST_ERRORS = 5;
const HOST_TIMES = { pollMs: 50, expirationMs: 3_000 };
const { signal } = new AbortController();

export async function runWorld(options: WorldOptions): Promise<WorldReport> {
  const logs = mkdtempSync(join(tmpdir(), 'millrace-moves-'));
  try {
    await using stage = await openSpread(['west', 'east'], { folder: MOVING, seed: options.seed });
    await using hosts = new WorldHosts({ settings: stage.settings, folder: MOVING, ...HOST_TIMES }, logs);
    return await new World(options, stage, hosts).run();
  } finally {
    rmSync(logs, { recursive: true });
  }
}

class World {
  readonly #options: WorldOptions;
  readonly #stage: SpreadStage;
  readonly #hosts: WorldHosts;
  readonly #random: Random;
  readonly #truth = new Orders();
  readonly #stores: readonly string[];
  readonly #over = new AbortController();
  readonly #pauses: Pause[] = [];
  readonly #took: Partial<Record<Step, number>>[] = [];
  readonly #killedIn: Partial<Record<Step, number>> = {};
  readonly #errors: string[] = [];
  readonly #looksWrong: string[] = [];
  readonly #killing: Promise<void>[] = [];
  #movers: readonly Mover[] = [];
  #looks = 0;
  #begun = 0;
  #moves = 0;
  /** Kills of movers that were planned, and not survived. */
  #planned = 0;
  #kills = 0;
  #hostsKilled = 0;
  #hostKills = 0;
  #leftOffline = 0;

  constructor(options: WorldOptions, stage: SpreadStage, hosts: WorldHosts) {
    this.#options = options;
    this.#stage = stage;
    this.#hosts = hosts;
    this.#random = new Random(options.seed);
    this.#stores = Array.from({ length: options.stores }, (_, n) => `s${n}`);
  }

  async run(): Promise<WorldReport> {
    await this.#open();
    const began = performance.now();
    await using writers = new WorldWriters(this.#writerWorks());
    const looking = this.#look();
    const reporting = this.#report(writers, began);
    const at = await this.#moveAll(began + 60_000 * this.#options.minutes);
    const seconds = (performance.now() - began) / 1_000;
    const reports = await writers.stop();
    await Promise.all(this.#killing);
    for (const order of reports.flatMap(({ orders = [] }) => orders)) this.#truth.add(order);
    const shardOf = new Map([...this.#stores.map((store) => [store, at] as const), [STAYS, 'east'] as const]);
    const verdict = await judge(this.#stage, this.#truth, shardOf, () => this.#hosts.effects());
    this.#over.abort();
    await Promise.all([looking, reporting]);
    return { ...verdict, ...this.#figures(reports, seconds), ...(await this.#records()) };
  }

  /** With orders of a day on which no order changes any more, and its totals. */
  async #open(): Promise<void> {
    const stage = this.#stage;
    await stage.container('Countries').items.create({ id: 'AT', type: 'country', name: 'Austria' });
    for (const store of [...this.#stores, STAYS]) {
      const database = store === STAYS ? 'east' : 'west';
      await stage.map.createMapping({ shard: await stage.map.shard({ database }), key: store });
      await stage.at(database, 'Stores').items.create({ id: store, type: 'store', storeId: store, name: store });
      const customer = { id: 'c1', type: 'customer', storeId: store, name: `Ada of ${store}` };
      await stage.at(database, 'Customers').items.create(customer);
      for (let n = 1; n <= QUIET_ORDERS; n++) {
        const order = orderOf(store, `quiet-${n}`, n, { placedAt: `${QUIET_DAY}T10:00:00.000Z` });
        await stage.at(database, 'Orders').items.create(order);
        this.#truth.add(order);
      }
    }
    for (const host of HOSTS) await this.#hosts.start(host);
    while ((await this.#wrongLook()) !== undefined) await delay(LOOK_MS);
  }

  #writerWorks() {
    const { rate, documents, batch, seed, stores } = this.#options;
    const { endpoint, key } = this.#stage.emulator;
    const moving = (rate * (1 - STAYING)) / stores / WRITERS;
    const rates = [
      ...this.#stores.map((store) => [store, moving] as const),
      [STAYS, (rate * STAYING) / WRITERS] as const,
    ];
    return Array.from({ length: WRITERS }, (_, n) => ({
      endpoint,
      key,
      name: `w${n}`,
      seed: seed + 1_000 * n,
      stores: Object.fromEntries(rates),
      each: EACH,
      documents: Math.max(1, Math.round(documents / WRITERS / EACH)),
      batch,
    }));
  }

  /** The totals and the copies of the day on which nothing changes are right at every moment. */
  async #look(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const wrong = await this.#wrongLook();
      if (wrong !== undefined) this.#looksWrong.push(wrong);
      this.#looks += 1;
      await delay(LOOK_MS);
    }
  }

  async #wrongLook(): Promise<string | undefined> {
    const stores = this.#stores.length + 1;
    const orders = stores * QUIET_ORDERS;
    const cents = (stores * QUIET_ORDERS * (QUIET_ORDERS + 1)) / 2;
    const [totals, copies] = await Promise.all([
      this.#ofQuietDay('Totals', "c.orders, c.cents, c.largest FROM c WHERE c.type = 'total'"),
      this.#ofQuietDay('AllOrders', "VALUE COUNT(1) FROM c WHERE c.type = 'listed'"),
    ]);
    const found = JSON.stringify({ totals, copies });
    const wanted = JSON.stringify({ totals: [{ orders, cents, largest: QUIET_ORDERS }], copies: [orders] });
    return found === wanted ? undefined : found;
  }

  async #ofQuietDay(container: string, select: string): Promise<unknown[]> {
    const { items } = this.#stage.container(container);
    return (await items.query(`SELECT ${select}`, { partitionKey: QUIET_DAY }).fetchAll()).resources;
  }

  async #report(writers: WorldWriters, began: number): Promise<void> {
    const { progress, moves } = this.#options;
    if (!progress) return;
    while (!this.#over.signal.aborted) {
      const seconds = (performance.now() - began) / 1_000;
      const { writes } = writers;
      progress(
        `${seconds.toFixed(0)} s: ${this.#moves} of ${moves} moves, ${this.#kills} movers and ${this.#hostsKilled} hosts ` +
          `killed, ${Math.round(writes / seconds)} writes a second, ${this.#looks} looks, ${this.#looksWrong.length} wrong; ` +
          this.#movers.map(({ says }) => says).join(' | '),
      );
      await delay(PROGRESS_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  /** Resolves with the shard on which the stores are in the end. */
  async #moveAll(deadline: number): Promise<string> {
    const movers = await Promise.all(this.#stores.map(() => Mover.open(this.#stage.emulator, 'shop')));
    this.#movers = movers;
    let at = 'west';
    try {
      while (this.#begun < this.#options.moves && performance.now() < deadline) {
        const to = at === 'west' ? 'east' : 'west';
        // Two moves in opposite directions refuse each other, so a round ends with its slowest.
        const began = performance.now();
        this.#begun += movers.length;
        await Promise.all(movers.map((mover, n) => this.#move(mover, this.#stores[n]!, to)));
        this.#killHost(performance.now() - began);
        at = to;
      }
    } finally {
      for (const mover of movers) await mover[Symbol.asyncDispose]();
    }
    return at;
  }

  async #move(mover: Mover, store: string, to: string): Promise<void> {
    for (let errors = 0; ;) {
      const death = this.#death();
      const { killed, took, answer } = await mover.move({ moves: store, to }, death);
      if (death && !killed) this.#planned -= 1;
      if (killed) {
        this.#kills += 1;
        this.#killedIn[killed] = (this.#killedIn[killed] ?? 0) + 1;
        this.#leftOffline += Number((await this.#stage.map.mapping(store)).status === 'offline');
        continue;
      }
      if (answer.error !== undefined) {
        this.#errors.push(answer.error);
        if ((errors += 1) > MOST_ERRORS) throw new Error(`${store} can't be moved: ${answer.error}`);
        continue;
      }
      const { pausedMs, pause, tries = 1 } = answer.moved ?? {};
      if (pausedMs !== undefined && pause) this.#pauses.push({ ms: pausedMs, parts: pause, tries });
      this.#took.push(took);
      this.#moves += 1;
      return;
    }
  }

  /** So that all kills are spread over all moves. */
  #death(): Death | undefined {
    const { kills, moves } = this.#options;
    const left = Math.max(1, moves - this.#begun + this.#stores.length);
    const due = kills - this.#planned;
    const isLastRound = left <= this.#stores.length;
    if (due <= 0 || !(isLastRound || this.#random.chance((1.5 * due) / left))) return undefined;
    this.#planned += 1;
    const step = this.#random.pick(STEPS);
    return { step, after: 1 + this.#random.int(step === 'changing over' ? 60 : 30), lands: this.#random.chance(0.5) };
  }

  /** Some time within the next round, if one is due. */
  #killHost(roundMs: number): void {
    const { kills, moves } = this.#options;
    const due = Math.floor((kills * Math.min(moves, this.#begun)) / moves);
    for (; this.#hostKills < due; this.#hostKills++) {
      this.#killing.push(this.#killLater(this.#random.pick(HOSTS), this.#random.int(Math.ceil(roundMs))));
    }
  }

  /** One after the other. */
  async #killLater(host: string, ms: number): Promise<void> {
    const before = this.#killing.at(-1);
    await Promise.all([before, delay(ms)]);
    await this.#hosts.kill(host);
    this.#hostsKilled += 1;
  }

  #figures(reports: readonly WriterReport[], seconds: number) {
    const writes = reports.reduce((sum, of) => sum + of.writes, 0);
    const refused: Record<string, number> = {};
    for (const [code, count] of reports.flatMap((of) => Object.entries(of.refused)))
      refused[code] = (refused[code] ?? 0) + count;
    const waits = reports.flatMap(({ longestMs }) => Object.entries(longestMs));
    const longest = (stays: boolean): number =>
      Math.max(0, ...waits.filter(([store]) => (store === STAYS) === stays).map(([, ms]) => Math.round(ms)));
    return {
      seconds: Math.round(seconds),
      moves: this.#moves,
      killedIn: this.#killedIn,
      leftOffline: this.#leftOffline,
      hostsKilled: this.#hostsKilled,
      pauses: this.#pauses,
      took: this.#took,
      writes,
      perSecond: Math.round(writes / seconds),
      reads: reports.reduce((sum, of) => sum + of.reads, 0),
      readsWrong: reports.flatMap(({ wrong }) => wrong),
      refused,
      waitedMs: longest(false),
      stayedMs: longest(true),
      looks: this.#looks,
      looksWrong: this.#looksWrong,
      errors: this.#errors,
    };
  }

  async #records(): Promise<Pick<WorldReport, 'named' | 'unfinished'>> {
    const maps = this.#stage.services.place.database.client.database('maps').container('shardmaps');
    const records = await movesOf(maps, 'tenants', signal);
    return {
      named: records.reduce((sum, { parked }) => sum + parked.length, 0),
      unfinished: records.filter(({ step }) => step !== 'done').map(({ id, step }) => `${id}: ${step}`),
    };
  }
}

/** What of a run is wrong, whatever its speed. */
export function faultsOf(report: WorldReport): string[] {
  const lists = [
    'lost',
    'onBothSides',
    'effectsTwice',
    'effectsMissing',
    'derivedWrong',
    'readsWrong',
    'looksWrong',
    'unfinished',
  ] as const;
  return lists.flatMap((name) => report[name].map((one) => `${name}: ${one}`));
}
