// A world in which every remote operation is one atomic step, and chance decides whose step comes next: a source with its
// latest-version feed, leases, the state container's partition, a sink that compares versions, and a log of effects.
import { setImmediate as turn } from 'node:timers/promises';
import type { DeferredStore, Stored, DeferredWrite } from '../../../src/engine/deferred/store.ts';
import type { Change, Version } from '../../../src/feed/reading/change.ts';
import { overlaps } from '../../../src/feed/reading/position.ts';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { Random } from '../../support/random.ts';

/** Whose steps come, may sleep, and may end at any moment. */
export interface Actor {
  dead: boolean;
  sleepsUntil: number;
}

export interface SourceDocument {
  readonly id: string;
  readonly key: string;
  readonly lsn: number;
  readonly value: number;
}

export interface Lease extends FeedRange {
  position: number;
  /** Raised by every write. */
  etag: number;
  owner: string | undefined;
}

/** What the sink shows of a document. `begun`: for an effect of the queues, when its source was read. */
interface Copy {
  readonly version: Version;
  readonly value: number | undefined;
  readonly begun: number | undefined;
}

interface Effect {
  readonly key: string;
  readonly id: string;
  readonly version: Version;
}

export const HASHES: Readonly<Record<string, string>> = { k0: '20', k1: 'A0', k2: '60', k3: 'E0' };
const TENANTS: Readonly<Record<string, string>> = { k0: 'flood', k1: 'flood', k2: 'quiet' };
/** Where a range is split. */
const MIDDLES: Readonly<Record<string, string>> = { '-FF': '80', '-80': '40', '80-FF': 'C0' };
const DOCUMENTS = 16;

const inRange = (key: string, { min, max }: FeedRange): boolean => HASHES[key]! >= min && HASHES[key]! < max;

export class World {
  readonly random: Random;
  readonly leases: Lease[] = [{ min: '', max: 'FF', position: 0, etag: 0, owner: undefined }];
  readonly documents = new Map<string, SourceDocument>();
  readonly removedAt = new Map<string, number>();
  readonly copies = new Map<string, Copy>();
  /** Effects of hosts that had their lease, in order. */
  readonly effects: Effect[] = [];
  readonly said: string[] = [];
  readonly stored = new Map<string, Stored<object>>();
  epoch = 1;
  now = 0;
  steps = 0;
  #lsn = 0;
  #etag = 0;
  #pending: { readonly actor: Actor; readonly run: () => void }[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** One remote operation: it happens at a later step, as a whole, or never. */
  op<T>(actor: Actor, effect: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): void => {
      try {
        resolve(effect());
      } catch (error) {
        reject(error);
      }
    };
    if (!actor.dead) this.#pending.push({ actor, run });
    return promise;
  }

  /** Lets one operation happen. False: there is none whose actor is awake. */
  async step(): Promise<boolean> {
    this.now += 1;
    this.#pending = this.#pending.filter(({ actor }) => !actor.dead);
    const awake = this.#pending.filter(({ actor }) => actor.sleepsUntil <= this.now);
    if (awake.length === 0) return false;
    const next = this.random.pick(awake);
    this.#pending.splice(this.#pending.indexOf(next), 1);
    next.run();
    this.steps += 1;
    await turn();
    return true;
  }

  /** The application writes, or removes without a trace in the feed. */
  write(): void {
    const number = this.random.int(DOCUMENTS);
    const id = `d${number}`;
    if (this.documents.has(id) && this.random.chance(0.1)) {
      this.documents.delete(id);
      this.removedAt.set(id, this.now);
      return;
    }
    const key = `k${number % 4}`;
    this.documents.set(id, { id, key, lsn: (this.#lsn += 1), value: this.random.int(1_000) });
    this.removedAt.delete(id);
  }

  get end(): number {
    return this.#lsn;
  }

  /** The latest-version feed of a range. */
  page(range: FeedRange, from: number, most: number, epoch: number): { changes: Change[]; next: number } {
    const there = [...this.documents.values()]
      .filter(({ key, lsn }) => lsn > from && inRange(key, range))
      .toSorted((a, b) => a.lsn - b.lsn);
    const some = there.slice(0, most);
    const next = some.length < there.length ? some.at(-1)!.lsn : Math.max(from, this.#lsn);
    return { changes: some.map((document) => changeOf(document, epoch)), next };
  }

  /** The state container's partition, as one actor reaches it. `lossy`: answers may be lost. */
  storeOf(actor: Actor, lossy: () => boolean): DeferredStore {
    return {
      read: <T>(id: string) => this.op(actor, () => this.stored.get(id) as Stored<T> | undefined),
      commit: (writes) =>
        this.op(actor, () => {
          const lost = lossy() && this.random.chance(0.02);
          const made = lost && this.random.chance(0.5) ? false : this.#commit(writes);
          if (lost) throw new Error('the answer was lost');
          return made;
        }),
    };
  }

  #commit(writes: readonly DeferredWrite[]): boolean {
    const holds = writes.every((write) => {
      const there = this.stored.get(write.id);
      return write.kind === 'create' ? !there : there !== undefined && ['*', there.etag].includes(write.ifMatch);
    });
    if (!holds) return false;
    for (const write of writes) {
      if (write.kind === 'remove') this.stored.delete(write.id);
      else this.stored.set(write.id, { body: structuredClone(write.body), etag: String((this.#etag += 1)) });
    }
    return true;
  }

  leaseOf(key: string): Lease | undefined {
    return this.leases.find((lease) => inRange(key, lease));
  }

  /** A range is split: its leases continue at the stored position, and its old owner doesn't know yet. */
  split(): void {
    const whole = this.random.pick(this.leases);
    const middle = MIDDLES[`${whole.min}-${whole.max}`];
    if (middle === undefined) return;
    const { position } = whole;
    const part = (min: string, max: string): Lease => ({ min, max, position, etag: 0, owner: undefined });
    whole.etag = -1;
    this.leases.splice(this.leases.indexOf(whole), 1, part(whole.min, middle), part(middle, whole.max));
  }

  /** An operator moves a lease back, and raises the epoch. */
  rewind(): void {
    const lease = this.random.pick(this.leases);
    this.epoch += 1;
    lease.position = this.random.int(lease.position + 1);
    lease.etag += 1;
    lease.owner = undefined;
  }

  copy(change: Change, value: number | undefined, begun: number | undefined): void {
    this.copies.set(change.id, { version: change.version, value, begun });
  }

  /** The feed shows no removal, so a deletion that a drain makes of one has no place in the order of a key. */
  note({ key, id, version, op }: Change, tenure: string): void {
    if (op === 'upsert' && this.leaseOf(key[0] as string)?.owner === tenure)
      this.effects.push({ key: key[0] as string, id, version });
  }

  /** A stored position passes nothing that is neither in the sink nor in a queue (TEN-F4). */
  passed(lease: Lease): void {
    const queued = this.#queued();
    for (const { id, key, lsn } of this.documents.values()) {
      if (!inRange(key, lease) || lsn > lease.position) continue;
      const shown = this.copies.get(id);
      if ((shown?.version.lsn ?? -1) < lsn && !queued.has(`${id}@${lsn}`))
        this.said.push(`position ${lease.position} passes ${id}@${lsn}`);
    }
  }

  #queued(): Set<string> {
    const found = new Set<string>();
    for (const [name, { body }] of this.stored)
      if (name.startsWith('bundle|'))
        for (const { id, version } of (body as { items: { id: string; version: Version }[] }).items)
          found.add(`${id}@${version.lsn}`);
    return found;
  }

  /** No queue is left, and every position is at the end. */
  get settled(): boolean {
    const register = this.stored.get('register')?.body as { queues: readonly FeedRange[] } | undefined;
    const queues = register?.queues ?? [];
    return (
      this.leases.every(({ position }) => position >= this.#lsn) &&
      this.leases.every((lease) => !queues.some((queue) => overlaps(queue, lease)))
    );
  }

  /** Judges the end by the source alone: values by document, order by key. */
  judge(): string[] {
    for (let number = 0; number < DOCUMENTS; number++) {
      const id = `d${number}`;
      const wanted = this.documents.get(id);
      const shown = this.copies.get(id);
      if (wanted) {
        if (shown?.version.lsn !== wanted.lsn || shown.value !== wanted.value)
          this.said.push(`${id}: the sink has ${JSON.stringify(shown)}, the source ${JSON.stringify(wanted)}`);
      } else if (shown?.value !== undefined && (shown.begun ?? 0) > (this.removedAt.get(id) ?? Infinity))
        this.said.push(`${id} came back from the queues after it was gone`);
    }
    if (this.stored.size > 1) this.said.push(`left behind: ${[...this.stored.keys()].join(', ')}`);
    const seen = new Set<string>();
    const last = new Map<string, Version>();
    for (const { key, id, version } of this.effects) {
      const name = `${id}@${version.epoch}:${version.lsn}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const before = last.get(key);
      if (before && isAfter(before, version))
        this.said.push(`${key}: ${name} came first after ${before.epoch}:${before.lsn}`);
      last.set(key, version);
    }
    return this.said;
  }
}

export const isAfter = (a: Version, b: Version): boolean => (a.epoch - b.epoch || a.lsn - b.lsn) > 0;

export function changeOf({ id, key, lsn, value }: SourceDocument, epoch: number): Change {
  const tenant = TENANTS[key];
  return {
    container: 'c',
    type: 't',
    key: [key],
    id,
    version: { epoch, lsn, etag: `${id}@${lsn}` },
    at: 0,
    op: 'upsert',
    doc: { value },
    ...(tenant && { tenant }),
  };
}
