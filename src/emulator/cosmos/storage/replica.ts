import type { StoredAccount } from './account.ts';
import type { StoredContainer } from './container.ts';
import type { StoredItem, StoredVersion } from './logical-partition.ts';
import type { LogicalPartition } from './logical-partition.ts';
import type { PhysicalPartition } from './physical-partition.ts';
import { WireError } from '../wire/wire.ts';

/**
 * The replica that answers one read or query. It shows the current state. With the fault `replicaLagMs` it may show an
 * older one, but not older than this lag and not older than the session token demands.
 */
export class Replica {
  readonly #account: StoredAccount;
  readonly #container: StoredContainer;
  #now = 0;
  #lag = 0;
  readonly #withExpired: boolean;
  #token: ReadonlyMap<string, number> = new Map();
  readonly #past = new Map<PhysicalPartition, Map<StoredItem, StoredVersion | undefined>>();

  constructor(account: StoredAccount, container: StoredContainer, token: string | undefined, withExpired = false) {
    this.#withExpired = withExpired;
    this.#account = account;
    this.#container = container;
    this.refresh(token);
  }

  /** Whether it shows an older state. */
  get lags(): boolean {
    return this.#lag > 0;
  }

  /** Chooses the lag and the time again, for the next page of a query. */
  refresh(token: string | undefined): void {
    this.#now = this.#account.now();
    const lag = this.#account.faults.replicaLagMs ?? 0;
    this.#lag = lag > 0 ? this.#account.random() * lag : 0;
    this.#token = parseToken(token);
    this.#past.clear();
  }

  /** Refuses with 404/1002 if the token is ahead of the partition, for example after the container was created again. */
  demand(range: PhysicalPartition): number {
    // A token from before a split or merge names the parents, whose lsn this partition continued.
    let lsn = this.#token.get(range.id) ?? 0;
    for (const id of range.parents) lsn = Math.max(lsn, this.#token.get(id) ?? 0);
    if (lsn > range.lsn) {
      throw new WireError(404, 'The read session is not available for the input session token.', 1002);
    }
    return lsn;
  }

  read(home: LogicalPartition, id: string): StoredVersion | undefined {
    const item = home.items.get(id);
    if (this.#lag > 0) {
      for (const [other, before] of this.#overlay(this.#rangeOf(home))) {
        if (other.id === id && other.home.text === home.text && (before || other === item)) return this.#live(before);
      }
    }
    return this.#live(item?.current);
  }

  /** The items of a logical partition, by ascending seq. */
  versions(home: LogicalPartition): StoredVersion[] {
    const past = this.#lag > 0 ? this.#overlay(this.#rangeOf(home)) : undefined;
    const found: StoredVersion[] = [];
    const add = (version: StoredVersion | undefined): void => {
      if (this.#live(version)) found.push(version!);
    };
    for (const item of home.items.values()) add(past?.has(item) ? past.get(item) : item.current);
    for (const [item, before] of past ?? []) {
      if (item.home.text === home.text && home.items.get(item.id) !== item) add(before);
    }
    return found.toSorted(bySeq);
  }

  /** The items of the whole container, by ascending seq, beginning with `from`. */
  *all(from: number): Generator<StoredVersion, void> {
    if (this.#lag > 0) {
      const found = [...this.homes()].flatMap((home) => this.versions(home));
      yield* found.filter(({ seq }) => seq >= from).toSorted(bySeq);
      return;
    }
    for (const { current } of this.#container.items.from(from)) if (this.#live(current)) yield current!;
  }

  /** The logical partitions that the replica shows, also those that were emptied meanwhile. */
  *homes(): Generator<LogicalPartition, void> {
    yield* this.#container.logical.values();
    if (this.#lag === 0) return;
    const gone = new Map<string, LogicalPartition>();
    for (const range of this.#container.ranges) {
      for (const { home } of this.#overlay(range).keys()) {
        if (!this.#container.logical.has(home.text)) gone.set(home.text, home);
      }
    }
    yield* gone.values();
  }

  /** The session token of the answer: a lagging replica's token is as old as its state. */
  sessionToken(ranges: readonly PhysicalPartition[]): string {
    return ranges.map((range) => `${range.id}:-1#${this.#lag > 0 ? this.#lsn(range) : range.lsn}`).join(',');
  }

  #lsn(range: PhysicalPartition): number {
    return range.undo.lsnAt(this.#now - this.#lag, this.demand(range), range.lsn);
  }

  #live(version: StoredVersion | undefined): StoredVersion | undefined {
    return this.#withExpired || this.#container.isLive(version, this.#now) ? version : undefined;
  }

  #rangeOf({ epk }: LogicalPartition): PhysicalPartition {
    return this.#container.rangeOf(epk);
  }

  #overlay(range: PhysicalPartition): Map<StoredItem, StoredVersion | undefined> {
    let past = this.#past.get(range);
    if (!past) {
      past = range.undo.since(this.#lsn(range));
      this.#past.set(range, past);
    }
    return past;
  }
}

const bySeq = (a: StoredVersion, b: StoredVersion): number => a.seq - b.seq;

/** `range:version#lsn#…,range:…` as a map from range to lsn; unreadable parts are ignored. */
export function parseToken(token: string | undefined): ReadonlyMap<string, number> {
  const lsns = new Map<string, number>();
  for (const part of token?.split(',') ?? []) {
    const [range, vector] = part.split(':');
    const lsn = Number(vector?.split('#')[1]);
    if (range !== undefined && Number.isFinite(lsn)) lsns.set(range, lsn);
  }
  return lsns;
}
