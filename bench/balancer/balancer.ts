// npm run bench -- balancer: the real hosts and their real balancer in virtual time, with more leases and hosts than a
// machine has. Counts alone: requests of the lease container, priced by one run of the real store.
import { parseArgs } from 'node:util';
import type { FeedRange } from '../../src/cosmos/ranges.ts';
import { FeedHost } from '../../src/feed/sharing/feed-host.ts';
import type { LeaseStore } from '../../src/feed/leases/lease.ts';
import type { Page } from '../../src/feed/reading/change.ts';
import type { ChangeSource } from '../../src/feed/reading/source.ts';
import { Quick, rangesOf, unwatched } from '../../test/feed/sim/fleet.ts';
import type { Leases } from '../../test/feed/sim/leases.ts';
import { NO_FAULTS, Process, World, remote } from '../../test/feed/sim/world.ts';
import { type Call, type Prices, prices } from './prices.ts';

const CALLS: readonly Call[] = ['list', 'acquire', 'renew', 'takeOver', 'handOver', 'read'];
const STEP_MS = 1_000;
const MINUTE_MS = 60_000;
/** Hosts of a deployment start within half a minute. */
const ROLLOUT_MS = 30_000;

export async function balancer(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      leases: { type: 'string', default: '2000' },
      hosts: { type: 'string', default: '100' },
      minutes: { type: 'string', default: '10' },
    },
  });
  const [leases, hosts, minutes] = [Number(values.leases), Number(values.hosts), Number(values.minutes)];
  const ranges = rangesOf(leases);
  const priced = await prices(ranges);
  const fleet = new Fleet(ranges, priced);
  console.log(`${leases} leases, ${hosts} hosts, default intervals; RU a call: ${shown(priced)}\n`);
  console.log(
    ['| | until balanced | requests | RU | RU/s at most, of one second |', '|---|---|---|---|---|'].join('\n'),
  );
  const phase = async (what: string, work: () => Promise<number | undefined>): Promise<void> => {
    fleet.begin();
    const ms = await work();
    console.log(`| ${what} | ${ms === undefined ? '' : `${Math.round(ms / 1_000)} s`} | ${fleet.figures()} |`);
  };
  const lost = Math.floor(hosts / 3);
  await phase(`${hosts} hosts start at free leases`, () => fleet.start(hosts));
  // Answers of former owners, and the first lists that find nothing to do, belong to no rest.
  await fleet.pass(2 * MINUTE_MS);
  await phase(`at rest, an hour (of ${minutes} minutes)`, async () => {
    await fleet.pass(minutes * MINUTE_MS);
    fleet.scale(60 / minutes);
    return undefined;
  });
  await phase(`${lost} hosts are killed`, () => fleet.kill(lost));
  await phase(`${lost} hosts come again`, () => fleet.start(lost));
}

const shown = (of: Prices): string => CALLS.map((call) => `${call} ${of[call].toFixed(1)}`).join(', ');

class Fleet {
  readonly #world = new World(new Quick(1));
  readonly #leases: Leases;
  readonly #prices: Prices;
  readonly #hosts = new Map<string, Process>();
  readonly #calls = new Map<Call, number>();
  #started = 0;
  #second = 0;
  #most = 0;
  #factor = 1;

  constructor(ranges: readonly FeedRange[], priced: Prices) {
    this.#prices = priced;
    this.#leases = unwatched(this.#world, ranges);
  }

  begin(): void {
    this.#calls.clear();
    [this.#second, this.#most, this.#factor] = [0, 0, 1];
  }

  scale(factor: number): void {
    this.#factor = factor;
  }

  figures(): string {
    const counts = CALLS.map((call) => [call, (this.#calls.get(call) ?? 0) * this.#factor] as const);
    const charge = counts.reduce((sum, [call, count]) => sum + count * this.#prices[call], 0);
    const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
    const by = counts.filter(([, count]) => count > 0).map(([call, count]) => `${call} ${whole(count)}`);
    return [by.join(', '), whole(charge), whole(this.#most)].join(' | ');
  }

  /** Resolves to how long it took until they were balanced. */
  async start(count: number): Promise<number> {
    for (let n = 0; n < count; n++)
      this.#world.in(this.#world.random.int(ROLLOUT_MS), () => void this.#begin(`host-${this.#started++}`));
    await this.pass(ROLLOUT_MS);
    return ROLLOUT_MS + (await this.#balanced());
  }

  async kill(count: number): Promise<number> {
    for (const [name, process] of [...this.#hosts].slice(0, count)) {
      process.state = 'dead';
      this.#hosts.delete(name);
    }
    return this.#balanced();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await this.#world.pass(STEP_MS);
      this.#most = Math.max(this.#most, this.#second);
      this.#second = 0;
    }
  }

  async #balanced(): Promise<number> {
    for (let ms = 0; ; ms += STEP_MS) {
      if (this.#isBalanced()) return ms;
      if (ms > 60 * MINUTE_MS) throw new Error('Not balanced within an hour');
      await this.pass(STEP_MS);
    }
  }

  /** Each lease is a living host's, none of which has more than its share, and nobody waits for a former owner. */
  #isBalanced(): boolean {
    const leases = [...this.#leases.documents.values()];
    const owned = Map.groupBy(leases, ({ owner }) => owner);
    const share = Math.ceil(leases.length / this.#hosts.size);
    return [...owned].every(([owner, of]) => owner !== null && this.#hosts.has(owner) && of.length <= share);
  }

  async #begin(name: string): Promise<void> {
    const process = new Process(this.#world, 0, this.#world.random.int(1_000_000));
    this.#hosts.set(name, process);
    const feed = new FeedHost({
      container: 'c',
      host: name,
      source: new StillSource(process),
      leases: this.#counted(this.#leases.store(process, name, NO_FAULTS)),
      start: 'beginning',
      handle: () => Promise.resolve(),
      // Nothing comes, and reading costs the lease container nothing.
      timings: { pollMs: MINUTE_MS },
      clock: process.clock,
    });
    await feed.start();
  }

  #counted(store: LeaseStore): LeaseStore {
    const counted = { ...store };
    for (const call of CALLS) {
      const original = store[call] as (...args: unknown[]) => Promise<never>;
      Object.assign(counted, {
        [call]: (...args: unknown[]) => {
          this.#calls.set(call, (this.#calls.get(call) ?? 0) + 1);
          this.#second += this.#prices[call];
          return original(...args);
        },
      });
    }
    return counted;
  }
}

/** A feed without changes. */
class StillSource implements ChangeSource {
  readonly #process: Process;

  constructor(process: Process) {
    this.#process = process;
  }

  async prepare(): Promise<void> {}

  read(range: FeedRange, from: string): Promise<Page & { next: string }> {
    const readAt = this.#process.clock.monotonic();
    const page = { changes: [], next: from || '"1000000"', range, charge: 1, readAt };
    return remote(this.#process, NO_FAULTS, () => page);
  }

  resolve(): Promise<string> {
    return remote(this.#process, NO_FAULTS, () => '"1000000"');
  }
}
