// Random histories of locks in virtual time: three administrators, two things, requests that land late or twice, lost
// answers, processes that die or stand still anywhere, clocks that differ. What lands on a thing comes task by task and
// step by step. JRN-L1 to JRN-L6.
import { setTimeout as delay } from 'node:timers/promises';
import { type Container, CosmosClient } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { CLOCK_SKEW_MS, LANDING_BOUND_MS } from '../../../src/base/bounds.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { startEmulator } from '../../../src/emulator/index.ts';
import { whileLocked } from '../../../src/procedures/journal/lock.ts';
import { Life, ProcessTime } from '../../support/process-time.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 12);
/** What procedures must not do, and what may not be. Each of them has to be found. */
const VARIANTS = [
  'acts though its lock has expired',
  'goes on though a step may still land',
  'clocks differ by more than they may',
] as const;
type Variant = (typeof VARIANTS)[number] | undefined;

const MOST_FOR_A_VARIANT = 60;
const THINGS = ['a', 'b'] as const;
const STEPS = 4;
const LASTS_MS = 40 * 60_000;
const MOST_MS = 3 * LASTS_MS;
/** An administrator waits no longer for an answer. */
const PATIENCE_MS = 10_000;
const NEVER: Promise<never> = new Promise(() => undefined);

interface Progress {
  readonly task: number;
  readonly step: number;
}

/** One process of an administrator. */
class Mortal extends Life {
  standsUntil = 0;
}

class World {
  readonly #random: Random;
  readonly #variant: Variant;
  readonly #time: ProcessTime;
  readonly #network = new Life();
  readonly #until: number;
  readonly #landed = new Map<string, Progress[]>();
  readonly #faults: string[] = [];
  #tasks = 0;
  readonly count = { ended: 0, resumed: 0, died: 0, overtaken: 0 };

  constructor(random: Random, time: ProcessTime, variant: Variant) {
    this.#random = random;
    this.#time = time;
    this.#variant = variant;
    this.#until = time.passed + LASTS_MS;
  }

  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Most requests land at once; some land late, or their answer comes to nobody. */
  async send<T>(life: Mortal, land: () => Promise<T> | T): Promise<T> {
    await delay(Math.max(0, life.standsUntil - this.#time.passed));
    const late = this.#random.chance(0.08) ? this.#random.int(LANDING_BOUND_MS) : this.#random.int(200);
    const landing = this.#time.live(this.#network, async () => {
      await delay(late);
      return this.#time.request(async () => land());
    });
    const answer = await Promise.race([landing.then((value) => ({ value })), delay(PATIENCE_MS)]);
    if (life.over) await NEVER;
    if (!answer || this.#random.chance(0.03))
      throw Object.assign(new Error('socket hang up'), { name: 'RestError', code: 'ECONNRESET' });
    return answer.value;
  }

  /** Administrators, each a process after the other, until all that was begun has ended. */
  async run(open: (life: Mortal) => Container): Promise<void> {
    await Promise.all(
      [0, 1, 2].map(async (admin) => {
        while (this.#goesOn) await this.#process(open, admin);
      }),
    );
  }

  get #goesOn(): boolean {
    return this.#time.passed < this.#until || this.#open.size > 0;
  }
  /** Things with a task that has not ended. */
  readonly #open = new Set<string>();

  async #process(open: (life: Mortal) => Container, admin: number): Promise<void> {
    const life = new Mortal();
    const most = this.#variant === 'clocks differ by more than they may' ? 4 * CLOCK_SKEW_MS : CLOCK_SKEW_MS;
    const ahead = (most / 2) * (admin - 1);
    const state = open(life);
    const living = this.#time.live(life, async () => {
      for (let n = 0; n < 5 && this.#goesOn; n++) {
        await this.#work(life, state, admin, ahead).catch((error: unknown) => {
          if (!(error instanceof MillraceError)) throw error;
          if (error.code === 'overtaken') this.count.overtaken += 1;
        });
        await delay(this.#random.int(120_000));
      }
    });
    const mayDie = this.#time.passed < this.#until && this.#random.chance(0.7);
    const dies = mayDie ? delay(this.#random.int(400_000)).then(() => 'dies' as const) : NEVER;
    if ((await Promise.race([living, dies])) !== 'dies') return;
    life.over = true;
    this.count.died += 1;
  }

  async #work(life: Mortal, state: Container, admin: number, ahead: number): Promise<void> {
    const of = this.#random.pick(THINGS);
    const clock = { ...systemClock, now: () => Date.now() + ahead };
    const { signal: never } = new AbortController();
    const lock = { kind: 'erasing', of, what: of, actor: `${admin}`, clock, signal: never } as const;
    await whileLocked<void, Progress>(state, lock, async ({ signal, progress, save }) => {
      if (progress) this.count.resumed += 1;
      this.#open.add(of);
      const task = progress?.task ?? (this.#tasks += 1);
      let unknownAt = -Infinity;
      for (let step = progress?.step ?? 0; step < STEPS; step++) {
        for (let done = false; !done;) {
          if (this.#random.chance(0.02)) life.standsUntil = this.#time.passed + this.#random.int(500_000);
          await delay(Math.max(0, life.standsUntil - this.#time.passed) + this.#random.int(5_000));
          if (this.#variant !== 'acts though its lock has expired') signal.throwIfAborted();
          const sentAt = this.#time.passed;
          done = await this.send(life, () => this.#land(of, { task, step })).then(
            () => true,
            () => false,
          );
          if (!done) unknownAt = sentAt;
        }
        const mayLand = unknownAt + LANDING_BOUND_MS - this.#time.passed;
        if (this.#variant !== 'goes on though a step may still land') await delay(Math.max(0, mayLand));
        await save({ task, step: step + 1 });
      }
      this.#open.delete(of);
      this.count.ended += 1;
    });
  }

  #land(of: string, { task, step }: Progress): void {
    const landed = this.#landed.get(of) ?? [];
    const last = landed.at(-1);
    if (last?.task === task && last.step > step) this.#faults.push(`${of}: step ${step} after step ${last.step}`);
    if (last && last.task !== task && landed.some((one) => one.task === task))
      this.#faults.push(`${of}: step ${step} of task ${task} after a step of task ${last.task}`);
    this.#landed.set(of, [...landed, { task, step }]);
  }
}

async function history(seed: number, variant?: Variant): Promise<World> {
  using time = new ProcessTime();
  const emulator = await startEmulator({ seed });
  const { httpClient, ...options } = emulator.clientOptions;
  const { database } = await new CosmosClient(emulator.clientOptions).databases.create({ id: 'shop' });
  await database.containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
  time.begin(seed);
  const world = new World(new Random(seed), time, variant);
  const open = (life: Mortal): Container => {
    const sendRequest: typeof httpClient.sendRequest = (of) => world.send(life, () => httpClient.sendRequest(of));
    return new CosmosClient({ ...options, httpClient: { sendRequest } }).database('shop').container('millrace');
  };
  const work = time.live(new Life(), () => world.run(open));
  try {
    await time.run(work, { ms: MOST_MS, requests: Infinity });
  } finally {
    await emulator.close();
  }
  return world;
}

it.each(Array.from({ length: HISTORIES }, (_, n) => SEED + n))(
  'what lands on a thing comes task by task and step by step, whoever dies, sleeps or takes over (seed %i)',
  async (seed) => {
    const { faults, count } = await history(seed);
    console.log(JSON.stringify(count));
    expect(faults).toEqual([]);
    expect(count.ended).toBeGreaterThan(0);
  },
);

it.each(VARIANTS)('a history finds a process that %s', async (variant) => {
  for (let n = 0; n < MOST_FOR_A_VARIANT; n++) if ((await history(SEED + n, variant)).faults.length > 0) return;
  expect.fail('no history has found it');
});
