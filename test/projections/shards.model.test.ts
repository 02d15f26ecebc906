// Documents of several shards in the global place under random histories, while keys move between the shards: SPREAD-P1 to
// SPREAD-P6. The oracle knows the application's writes alone. Shards and moves are simulated, the sink and the state are real.
import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { MillraceError, messageOf } from '../../src/base/errors.ts';
import { Meter } from '../../src/cosmos/meter.ts';
import type { AggregateSpec, Doc } from '../../src/definition/specs.ts';
import { stayingAfterMoves } from '../../src/engine/runners.ts';
import type { Change, Version } from '../../src/feed/reading/change.ts';
import { aggregateRunner } from '../../src/projections/aggregate/aggregate-runner.ts';
import type { Runner } from '../../src/projections/runner.ts';
import { CosmosAccess } from '../../src/sinks/cosmos-access.ts';
import type { DocumentAccess } from '../../src/sinks/document-access.ts';
import { bound } from '../support/access.ts';
import { Random } from '../support/random.ts';
import { UNFENCED, Zombies, injected } from './history.ts';
import { type World, READ_LAG_MS, SEED, historiesOr, untilAnswered, useHistories } from './world.ts';

const histories = useHistories({ Groups: '/world', west: '/pk', east: '/pk' });

/** What a move or the global place must not do. */
type Wrong = 'state in the shard' | 'applies what left' | 'epoch stays' | 'epoch of the source raised' | 'copy is new';

const SHARDS = ['north', 'west', 'east'] as const;
const TENANTS = 3;
const DOCUMENTS = 4;
const MOST_DELIVERIES = 500;
const STATES = ['open', 'paid', 'sent'];

interface Written {
  readonly state: string;
  readonly cents: number;
  readonly deleted: boolean;
}

interface Entry {
  readonly key: string;
  readonly id: string;
  readonly lsn: number;
  readonly etag: string;
  readonly written: Written;
  /** A copy of a move has the version of its source; a deletion by a move has its own. */
  readonly moved?: { readonly copied?: Version };
}

/** A database with its latest-version feed, and the checkpoint of its hosts. */
class Shard {
  epoch = 1;
  checkpoint = 0;
  readonly entries = new Map<string, Entry>();
  readonly name: string;
  #lsn = 0;

  constructor(name: string) {
    this.name = name;
  }

  put(entry: Omit<Entry, 'lsn' | 'etag'>): number {
    const lsn = (this.#lsn += 1);
    this.entries.set(`${entry.key} ${entry.id}`, { ...entry, lsn, etag: `${this.name}-${lsn}` });
    return lsn;
  }

  versionOf({ lsn, etag, moved }: Entry): Version {
    return moved?.copied ?? { epoch: this.epoch, lsn, etag };
  }

  page(size: number): { readonly changes: readonly Change[]; readonly from: number; readonly next: number } {
    const from = this.checkpoint;
    const found = [...this.entries.values()].filter(({ lsn }) => lsn > from).toSorted((a, b) => a.lsn - b.lsn);
    const page = found.slice(0, size);
    return { changes: page.map((entry) => this.#change(entry)), from, next: page.at(-1)?.lsn ?? from };
  }

  #change(entry: Entry): Change {
    const { key, id, written, moved } = entry;
    return {
      container: 'Orders',
      type: 'order',
      key: [key],
      id,
      version: this.versionOf(entry),
      at: 0,
      op: written.deleted || (moved && !moved.copied) ? 'delete' : 'upsert',
      doc: { id, tenant: key, ...written },
      ...(moved && { moved: true }),
    };
  }
}

interface Move {
  readonly tenant: string;
  readonly from: Shard;
  readonly to: Shard;
  step: 'copying' | 'closed' | 'opened';
  /** The source's lsn at the closing, and the target's after the last copy. */
  closing: number;
  copied: number;
  /** The ETag of each document as it was copied last. */
  readonly known: Map<string, string>;
}

const TOTALS = (world: string): AggregateSpec => ({
  kind: 'aggregate',
  name: 'totals',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  into: { container: 'Groups', type: 'state' },
  onDelete: 'remove',
  stable: false,
  toGlobal: true,
  groupBy: (_row, doc) => ({ world, state: doc['state'] }),
  measures: { orders: { kind: 'count' }, cents: { kind: 'sum', of: (row) => Number((row as Doc)['cents']) } },
});

class History {
  readonly #world: World;
  readonly #random: Random;
  readonly #name: string;
  readonly #wrong: Wrong | undefined;
  readonly #shards: Readonly<Record<(typeof SHARDS)[number], Shard>>;
  readonly #homes: Map<string, Shard>;
  readonly #runners: ReadonlyMap<Shard, readonly Runner[]>;
  readonly #zombies = new Zombies();
  readonly #underway = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  /** By key and id: what the application wrote last. */
  readonly #oracle = new Map<string, Written>();
  /** Documents that count by their last write, and must do so at every moment until the next one. */
  readonly #settled = new Set<string>();
  #move: Move | undefined;
  moves = 0;

  constructor(world: World, seed: number, wrong?: Wrong) {
    this.#world = world;
    this.#random = new Random(seed);
    this.#name = `w${seed}`;
    this.#wrong = wrong;
    this.#shards = { north: new Shard('north'), west: new Shard('west'), east: new Shard('east') };
    const all = Object.values(this.#shards);
    this.#homes = new Map(this.#tenants.map((tenant, at) => [tenant, all[at % all.length] ?? never()]));
    const sink = { name: 'Groups', keyPaths: [['world']] };
    this.#runners = new Map(
      all.map((shard) => {
        // A wrong host keeps its locators in its shard, so the other shard doesn't know where a document counts.
        const apart = wrong === 'state in the shard' && shard.name !== 'north';
        const runner = (): Runner => {
          const own = aggregateRunner(TOTALS(this.#name), sink, { stateContainer: apart ? shard.name : 'millrace' });
          return wrong === 'applies what left' ? own : stayingAfterMoves(own);
        };
        return [shard, world.hosts.map(runner)];
      }),
    );
  }

  get #tenants(): string[] {
    return Array.from({ length: TENANTS }, (_, at) => `${this.#name}-t${at}`);
  }

  async run(): Promise<void> {
    const random = this.#random;
    for (let round = 0; round < 2; round++) {
      for (let n = 3 + random.int(5); n > 0; n--) this.#write();
      await this.#drain();
      await this.#settle();
      for (let step = 20 + random.int(20); step > 0; step--) {
        const kind = random.unit();
        if (kind < 0.2) this.#write();
        else if (kind < 0.55) void this.#deliver(this.#any(), true);
        else if (kind < 0.8) this.#advance();
        else if (kind < 0.83 && !this.#move) this.#rewind();
        else if (kind < 0.92) this.#zombies.wakeOne(random);
        else await turn();
        if (random.chance(0.3)) await this.assertSettled();
      }
    }
    while (this.#move) {
      this.#assertRunning();
      this.#advance();
      await this.#drain();
      await this.assertSettled();
    }
    await this.#drain();
    while (this.#underway.size > 0) {
      this.#zombies.wakeAll();
      await Promise.race([...this.#underway, turn()]);
    }
    await this.#drain();
    this.#assertRunning();
  }

  #assertRunning(): void {
    const [first] = this.#failures;
    if (first !== undefined) throw new AggregateError(this.#failures, `The runner failed: ${messageOf(first)}`);
  }

  #any(): Shard {
    return this.#random.pick(Object.values(this.#shards));
  }

  #write(): void {
    const tenant = this.#random.pick(this.#tenants);
    // A closed gate holds the write back.
    if (this.#move?.tenant === tenant && this.#move.step === 'closed') return;
    const id = `d${this.#random.int(DOCUMENTS)}`;
    const written: Written = {
      state: this.#random.pick(STATES),
      cents: this.#random.int(100),
      deleted: this.#random.chance(0.15),
    };
    (this.#homes.get(tenant) ?? never()).put({ key: tenant, id, written });
    this.#oracle.set(`${tenant} ${id}`, written);
    this.#settled.delete(`${tenant} ${id}`);
  }

  #rewind(): void {
    const shard = this.#any();
    shard.epoch += 1;
    shard.checkpoint = this.#random.int(shard.checkpoint + 1);
  }

  /** One step of a move; begins one if there is none. */
  #advance(): void {
    const move = this.#move;
    if (!move) {
      const tenant = this.#random.pick(this.#tenants);
      const from = this.#homes.get(tenant) ?? never();
      const to = this.#random.pick(Object.values(this.#shards).filter((shard) => shard !== from));
      this.#move = { tenant, from, to, step: 'copying', closing: 0, copied: 0, known: new Map() };
      this.moves += 1;
      return;
    }
    const { from, to, tenant } = move;
    const own = [...from.entries.values()].filter(({ key }) => key === tenant);
    if (move.step === 'copying') {
      this.#copy(move, own);
      if (this.#random.chance(0.5)) return;
      move.step = 'closed';
      move.closing = Math.max(0, ...own.map(({ lsn }) => lsn));
      return;
    }
    if (move.step === 'closed') {
      this.#copy(move, own);
      if (this.#wrong === 'epoch of the source raised') from.epoch = Math.max(from.epoch, to.epoch) + 2;
      // The hosts of both sides have acknowledged the documents, and those of the target read in the new epoch.
      if (to.checkpoint < move.copied) return;
      if (this.#wrong !== 'epoch stays') to.epoch = Math.max(to.epoch, from.epoch) + 1;
      if (this.#wrong === 'epoch of the source raised') from.epoch = to.epoch + 1;
      this.#homes.set(tenant, to);
      move.step = 'opened';
      return;
    }
    if (from.checkpoint < move.closing) return;
    for (const { key, id, written } of own) from.put({ key, id, written, moved: {} });
    this.#move = undefined;
  }

  /** Copies what the target doesn't have in this version yet. */
  #copy(move: Move, own: readonly Entry[]): void {
    const { from, to } = move;
    for (const entry of own) {
      if (entry.moved && !entry.moved.copied) continue;
      const copied = from.versionOf(entry);
      if (move.known.get(entry.id) === copied.etag) continue;
      move.known.set(entry.id, copied.etag);
      const moved = this.#wrong === 'copy is new' ? {} : { moved: { copied } };
      move.copied = to.put({ key: entry.key, id: entry.id, written: entry.written, ...moved });
    }
  }

  /** The access of a host of one shard: its source, and the sink and the state of the global place. */
  #access(shard: Shard, host: number): DocumentAccess {
    const access = new CosmosAccess(this.#world.hosts[host]?.database ?? never(), UNFENCED, new Meter());
    return {
      ...bound(access),
      read: async (container, key, ids) =>
        container === 'Orders'
          ? ids.map((id) => {
              const entry = shard.entries.get(`${String(key[0])} ${id}`);
              return entry && ({ id, _etag: entry.etag } as never);
            })
          : access.read(container, key, ids),
    };
  }

  #deliver(shard: Shard, faults: boolean): Promise<void> {
    const host = this.#random.int(this.#world.hosts.length);
    const { changes, from, next } = shard.page(1 + this.#random.int(4));
    if (changes.length === 0) return Promise.resolve();
    const inner = this.#access(shard, host);
    const access = faults ? injected(inner, this.#random, this.#zombies, 0.04, 0.02) : inner;
    const apply = async (): Promise<void> => {
      await (this.#runners.get(shard)?.[host] ?? never()).apply(changes, access);
      // Or it dies before it can say how far it got.
      if ((!faults || !this.#random.chance(0.1)) && shard.checkpoint === from) shard.checkpoint = next;
    };
    const note = (error: unknown): void => {
      if (!(error instanceof MillraceError && error.retryable)) this.#failures.push(error);
    };
    const task = apply()
      .catch(note)
      .finally(() => this.#underway.delete(task));
    this.#underway.add(task);
    return task;
  }

  async #drain(): Promise<void> {
    let left = MOST_DELIVERIES;
    for (const shard of Object.values(this.#shards))
      while (shard.page(1).changes.length > 0 && this.#failures.length === 0) {
        if ((left -= 1) === 0) throw new Error('The runner never applies a page');
        await this.#deliver(shard, false);
      }
  }

  /** What the oracle counts, and the sink has, is to be counted at every moment from now on. */
  async #settle(): Promise<void> {
    while (this.#underway.size > 0) {
      this.#zombies.wakeAll();
      await Promise.race([...this.#underway, turn()]);
    }
    await this.#drain();
    // The application's queries come from a replica that may not have the last of it yet.
    await delay(READ_LAG_MS);
    await this.assertExact();
    for (const [who, { deleted }] of this.#oracle) if (!deleted) this.#settled.add(who);
  }

  /** Each settled document counts once, by its last write. */
  async assertSettled(): Promise<void> {
    const asked = new Set(this.#settled);
    const where = "c.type = 'millrace.contribution' AND NOT IS_NULL(c['values'])";
    const stored = await untilAnswered(() => this.#world.documents('Groups', where, this.#name));
    const counted = Map.groupBy(stored, (doc) => {
      const { key, id } = doc['source'] as { readonly key: readonly string[]; readonly id: string };
      return `${key[0]} ${id}`;
    });
    // A write since the look has unsettled it.
    for (const who of asked) {
      const times = counted.get(who)?.length ?? 0;
      if (times !== 1 && this.#settled.has(who)) throw new Error(`${who} counts ${times} times`);
    }
  }

  async assertExact(): Promise<void> {
    const stored = await untilAnswered(() => this.#world.documents('Groups', "c.type = 'state'", this.#name));
    const found = stored.map(({ state, orders, cents }) => ({ state, orders, cents }));
    const live = [...this.#oracle.values()].filter(({ deleted }) => !deleted);
    const expected = STATES.map((state) => {
      const of = live.filter((one) => one.state === state);
      return { state, orders: of.length, cents: of.reduce((sum, { cents }) => sum + cents, 0) };
    }).filter(({ orders }) => orders > 0);
    const byState = (a: { state?: unknown }, b: { state?: unknown }): number =>
      String(a.state) < String(b.state) ? -1 : 1;
    assert.deepEqual(found.toSorted(byState), expected.toSorted(byState));
  }
}

function never(): never {
  throw new Error('There is no such thing');
}

it(`counts each document once at every moment while keys move (seed ${SEED})`, async () => {
  let moves = 0;
  await histories(historiesOr(30), async (world, seed) => {
    const history = new History(world, seed);
    await history.run();
    moves += history.moves;
    return () => history.assertExact();
  });
  expect(moves).toBeGreaterThan(0);
});

describe('a tempting variant is seen to fail', () => {
  const TOGETHER = 10;
  const MOST = 600;
  const LONG: readonly Wrong[] = ['state in the shard', 'epoch stays', 'epoch of the source raised', 'copy is new'];
  // The others fail in one of some dozens or hundreds of histories.
  it.each<Wrong>(['applies what left', ...(process.env['MILLRACE_HISTORIES'] === undefined ? [] : LONG)])(
    `%s (seed ${SEED})`,
    async (wrong) => {
      const seen = { failed: 0, tried: 0 };
      while (seen.failed === 0 && seen.tried < MOST) {
        const before = seen.tried;
        await histories(TOGETHER, async (world, seed) => {
          const history = new History(world, seed + before, wrong);
          seen.tried += 1;
          const ended = await Promise.allSettled([history.run()]);
          return async () => {
            const judged = await Promise.allSettled([history.assertExact()]);
            if ([...ended, ...judged].some(({ status }) => status === 'rejected')) seen.failed += 1;
          };
        });
      }
      if (process.env['MILLRACE_HISTORIES'] !== undefined) console.info(`${wrong}: ${seen.failed} of ${seen.tried}`);
      expect(seen.failed).toBeGreaterThan(0);
    },
  );
});
