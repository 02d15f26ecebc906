import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import type { Change, Page } from '../../../src/feed/reading/change.ts';
import { intersection, lsnOf, overlaps, positionAt } from '../../../src/feed/reading/position.ts';
import { type ChangeSource, RangeGone } from '../../../src/feed/reading/source.ts';
import { type Faults, type Process, type World, remote } from './world.ts';

export interface Doc {
  readonly id: string;
  readonly key: string;
  readonly hash: string;
  readonly lsn: number;
  readonly at: number;
}

interface Partition extends FeedRange {
  readonly id: string;
  lsn: number;
  /** Lsns with the time they were written, for replicas that lag. */
  readonly times: { lsn: number; at: number }[];
}

const HASHES = ['08', '28', '48', '68', '88', 'A8', 'C8', 'E8'];

/** Of a key `kN`. */
export const hashOf = (key: string): string => HASHES[Number(key.slice(1))]!;

/** A container and its latest-version feed: physical partitions with their lsns, and of each document the newest version. */
export class Container {
  readonly docs = new Map<string, Doc>();
  readonly #world: World;
  #partitions: Partition[];
  #ids = 0;

  constructor(world: World, count: number) {
    this.#world = world;
    const borders = ['', '40', '80', 'C0', 'FF'].filter((_, n) => n % (4 / count) === 0);
    this.#partitions = borders.slice(1).map((max, n) => this.#partition(borders[n]!, max, 0));
  }

  get ranges(): (FeedRange & { id: string })[] {
    return this.#partitions.map(({ min, max, id }) => ({ min, max, id }));
  }

  /** One transaction: documents of one key share an lsn. */
  write(numbers: readonly number[]): void {
    const slot = numbers[0]! % HASHES.length;
    const hash = HASHES[slot]!;
    const partition = this.#partitions.find(({ min, max }) => min <= hash && hash < max)!;
    partition.lsn += 1;
    partition.times.push({ lsn: partition.lsn, at: this.#world.now });
    for (const n of numbers) {
      const id = `d${n}`;
      this.docs.set(id, { id, key: `k${slot}`, hash, lsn: partition.lsn, at: this.#world.now });
    }
  }

  split(): void {
    const wide = this.#partitions.filter(({ min, max }) => middle(min, max) !== undefined);
    if (wide.length === 0 || this.#partitions.length >= 8) return;
    const one = this.#world.random.pick(wide);
    const border = middle(one.min, one.max)!;
    const parts = [this.#partition(one.min, border, one.lsn), this.#partition(border, one.max, one.lsn)];
    for (const part of parts) part.times.push(...one.times);
    this.#partitions.splice(this.#partitions.indexOf(one), 1, ...parts);
  }

  merge(): void {
    if (this.#partitions.length < 2) return;
    const at = this.#world.random.int(this.#partitions.length - 1);
    const [a, b] = this.#partitions.slice(at, at + 2) as [Partition, Partition];
    this.#partitions.splice(at, 2, this.#partition(a.min, b.max, Math.max(a.lsn, b.lsn)));
  }

  /** What lies in a range, by lsn; only what the replica that is asked has by now. */
  after(range: FeedRange, lsn: number, lagMs: number): { docs: Doc[]; lsn: number } {
    const [partition, ...others] = this.#partitions.filter((one) => overlaps(one, range));
    if (!partition || others.length > 0) {
      const parts = this.#partitions.map((one) => intersection(one, range)).filter((one) => one !== undefined);
      throw new RangeGone(range, parts);
    }
    const hidden = partition.times.find(({ at }) => at > this.#world.now - lagMs)?.lsn ?? Infinity;
    const docs = [...this.docs.values()]
      .filter((doc) => doc.hash >= range.min && doc.hash < range.max && doc.lsn > lsn && doc.lsn < hidden)
      .toSorted((a, b) => a.lsn - b.lsn);
    return { docs, lsn: Math.min(partition.lsn, hidden - 1) };
  }

  #partition(min: string, max: string, lsn: number): Partition {
    return { min, max, lsn, id: String(this.#ids++), times: [] };
  }
}

function middle(min: string, max: string): string | undefined {
  const [from, to] = [min === '' ? 0 : Number.parseInt(min, 16), max === 'FF' ? 256 : Number.parseInt(max, 16)];
  return to - from <= 32 ? undefined : ((from + to) / 2).toString(16).toUpperCase().padStart(2, '0');
}

/** The feed as one process reads it. */
export class SimSource implements ChangeSource {
  /** How often a page came that began before its position. */
  static again = 0;
  /** The page that each change came with. */
  static readonly pages = new WeakMap<Change, readonly Change[]>();
  readonly #process: Process;
  readonly #container: Container;
  readonly #faults: Readonly<Faults>;
  readonly #most: number;

  constructor(process: Process, container: Container, faults: Readonly<Faults>, most: number) {
    this.#process = process;
    this.#container = container;
    this.#faults = faults;
    this.#most = most;
  }

  async prepare(): Promise<void> {}

  read(range: FeedRange, from: string): Promise<Page & { next: string }> {
    const { random } = this.#process.world;
    const readAt = this.#process.clock.monotonic();
    const again = from !== '' && random.chance(this.#faults.failBefore / 2) ? 1 + random.int(3) : 0;
    SimSource.again += Number(again > 0);
    return remote(this.#process, this.#faults, () => {
      const found = this.#container.after(
        range,
        Math.max(-1, lsnOf(from) - again),
        random.chance(0.2) ? random.int(800) : 0,
      );
      let count = Math.min(this.#most, found.docs.length);
      while (count > 0 && found.docs[count]?.lsn === found.docs[count - 1]?.lsn && count < found.docs.length) count++;
      const docs = found.docs.slice(0, count);
      const end =
        count < found.docs.length ? docs.at(-1)!.lsn : Math.max(found.lsn, docs.at(-1)?.lsn ?? 0, lsnOf(from));
      const next = positionAt(Math.max(end, lsnOf(from), 0));
      const changes = docs.map(changeOf);
      for (const change of changes) SimSource.pages.set(change, changes);
      return { changes, next, range, charge: 1, readAt };
    });
  }

  resolve(range: FeedRange, start: 'now' | Date): Promise<string> {
    return remote(this.#process, this.#faults, () => {
      const { docs, lsn } = this.#container.after(range, -1, 0);
      if (start === 'now') return positionAt(lsn);
      const first = docs.find(({ at }) => at >= start.getTime());
      return positionAt(first ? first.lsn - 1 : lsn);
    });
  }
}

export const changeOf = ({ id, key, lsn, at }: Doc): Change => ({
  container: 'c',
  type: 'item',
  key: [key],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at,
  op: 'upsert',
});
