// Random histories of documents in several shards, while keys move between them. The oracle knows the application's writes
// alone. Shards and moves are simulated; what is judged, a sink of all shards, is real.
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { MillraceError, messageOf } from '../../src/base/errors.ts';
import type { Change, Version } from '../../src/feed/reading/change.ts';
import type { Random } from '../support/random.ts';
import type { Zombies } from './history.ts';

/** What a move must not do; and two that the subject does. */
export type Wrong =
  | 'state in the shard'
  | 'applies what left'
  | 'epoch stays'
  | 'epoch of the source raised'
  | 'copy is new';

const SHARDS = ['north', 'west', 'east'] as const;
const TENANTS = 3;
const DOCUMENTS = 4;
const MOST_DELIVERIES = 500;
export const STATES = ['open', 'paid', 'sent'];
/** Hosts of each shard. */
export const HOSTS = 2;

export interface Written {
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
export class Shard {
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

  /** As a point read of a host: the document's id and ETag. */
  read(key: string, id: string): { readonly id: string; readonly _etag: string } | undefined {
    const entry = this.entries.get(`${key} ${id}`);
    return entry && { id, _etag: entry.etag };
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
      tenant: key,
      ...(moved && { moved: true, ...(!moved.copied && { gone: true }) }),
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

/** What is judged: a projection into one sink of all shards. */
export interface Subject {
  /** Applies a page at a host of a shard. With `faults` it may crash or fall asleep between any two requests. */
  apply(shard: Shard, host: number, changes: readonly Change[], faults: boolean): Promise<void>;
  /** Throws unless the sink has what the application wrote last, by key and id. */
  exact(written: ReadonlyMap<string, Written>): Promise<void>;
  /** Throws if the sink doesn't have each of these documents once. `still`: it was not written since. */
  settled(documents: ReadonlySet<string>, still: (document: string) => boolean): Promise<void>;
}

export interface ShardHistoryOptions {
  readonly random: Random;
  /** Documents and tenants begin with it, so that histories share a sink. */
  readonly name: string;
  readonly zombies: Zombies;
  readonly subject: Subject;
  readonly wrong?: Wrong | undefined;
  /** How old what a judge reads in the middle may be, milliseconds. */
  readonly judgeLagMs?: number;
}

export const shardsOf = (): readonly Shard[] => SHARDS.map((name) => new Shard(name));

/** Documents of three tenants on three shards, between which the tenants move while hosts apply pages. */
export class ShardHistory {
  readonly #random: Random;
  readonly #name: string;
  readonly #wrong: Wrong | undefined;
  readonly #shards: readonly Shard[];
  readonly #homes: Map<string, Shard>;
  readonly #subject: Subject;
  readonly #judgeLagMs: number;
  readonly #zombies: Zombies;
  readonly #underway = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  /** By key and id: what the application wrote last. */
  readonly #oracle = new Map<string, Written>();
  /** Documents that count by their last write, and must do so at every moment until the next one. */
  readonly #settled = new Set<string>();
  #move: Move | undefined;
  moves = 0;

  constructor(
    shards: readonly Shard[],
    { random, name, zombies, subject, wrong, judgeLagMs = 0 }: ShardHistoryOptions,
  ) {
    this.#random = random;
    this.#name = name;
    this.#wrong = wrong;
    this.#shards = shards;
    this.#homes = new Map(this.#tenants.map((tenant, at) => [tenant, shards[at % shards.length] ?? never()]));
    this.#subject = subject;
    this.#judgeLagMs = judgeLagMs;
    this.#zombies = zombies;
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
        else if (kind < 0.55) void this.#deliver(random.pick(this.#shards), true);
        else if (kind < 0.8) this.#advance();
        else if (kind < 0.83 && !this.#move) this.#rewind();
        else if (kind < 0.92) this.#zombies.wakeOne(random);
        else await turn();
        if (random.chance(0.3)) await this.#assertSettled();
      }
    }
    while (this.#move) {
      this.#assertRunning();
      this.#advance();
      await this.#drain();
      await this.#assertSettled();
    }
    await this.#drain();
    await this.#wakeAll();
    await this.#drain();
    this.#assertRunning();
  }

  assertExact(): Promise<void> {
    return this.#subject.exact(this.#oracle);
  }

  #assertRunning(): void {
    const [first] = this.#failures;
    if (first !== undefined) throw new AggregateError(this.#failures, `The runner failed: ${messageOf(first)}`);
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
    const shard = this.#random.pick(this.#shards);
    shard.epoch += 1;
    shard.checkpoint = this.#random.int(shard.checkpoint + 1);
  }

  /** One step of a move; begins one if there is none. */
  #advance(): void {
    const move = this.#move;
    if (!move) {
      const tenant = this.#random.pick(this.#tenants);
      const from = this.#homes.get(tenant) ?? never();
      const to = this.#random.pick(this.#shards.filter((shard) => shard !== from));
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

  #deliver(shard: Shard, faults: boolean): Promise<void> {
    const host = this.#random.int(HOSTS);
    const { changes, from, next } = shard.page(1 + this.#random.int(4));
    if (changes.length === 0) return Promise.resolve();
    const { epoch } = shard;
    const apply = async (): Promise<void> => {
      await this.#subject.apply(shard, host, changes, faults);
      // Or it dies before it can say how far it got. Whoever raises an epoch takes the leases away (MOVE-V5), so what was
      // read before acknowledges nothing.
      const dies = faults && this.#random.chance(0.1);
      if (!dies && shard.epoch === epoch && shard.checkpoint === from) shard.checkpoint = next;
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
    for (const shard of this.#shards)
      while (shard.page(1).changes.length > 0 && this.#failures.length === 0) {
        if ((left -= 1) === 0) throw new Error('The runner never applies a page');
        await this.#deliver(shard, false);
      }
  }

  async #wakeAll(): Promise<void> {
    while (this.#underway.size > 0) {
      this.#zombies.wakeAll();
      await Promise.race([...this.#underway, turn()]);
    }
  }

  /** What the oracle counts, and the sink has, is to be counted at every moment from now on. */
  async #settle(): Promise<void> {
    await this.#wakeAll();
    await this.#drain();
    // The judge may be answered by a replica that doesn't have the last of it yet.
    if (this.#judgeLagMs > 0) await delay(this.#judgeLagMs);
    await this.assertExact();
    for (const [who, { deleted }] of this.#oracle) if (!deleted) this.#settled.add(who);
  }

  #assertSettled(): Promise<void> {
    return this.#subject.settled(new Set(this.#settled), (document) => this.#settled.has(document));
  }
}

export function never(): never {
  throw new Error('There is no such thing');
}
