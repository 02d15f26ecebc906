import { exactStringify } from '../wire/exact-json.ts';
import type { StoredAccount } from '../storage/account.ts';
import { recordChange } from '../feed/record-change.ts';
import type { StoredContainer } from '../storage/container.ts';
import { StoredItem, StoredVersion } from '../storage/logical-partition.ts';
import type { LogicalPartition } from '../storage/logical-partition.ts';
import type { PhysicalPartition } from '../storage/physical-partition.ts';
import { shuffle } from '../../random.ts';
import { itemRid } from '../storage/rids.ts';
import { badRequest, conflict, wireTooLarge } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

export const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;

interface Staged {
  readonly item: StoredItem;
  readonly open: string;
  readonly etag: string;
  readonly ttl: number | undefined;
  readonly doc: WireDoc;
}

/**
 * Writes to one logical partition that become visible together, under one lsn. Nothing else changes before `commit`, so a
 * transaction without a commit has no effect.
 */
export class Transaction {
  readonly account: StoredAccount;
  readonly container: StoredContainer;
  readonly home: LogicalPartition;
  readonly range: PhysicalPartition;
  readonly now: number;
  readonly #staged = new Map<string, Staged | undefined>();
  readonly #unique = new Map<string, string | undefined>();

  readonly #expires: boolean;

  /**
   * @param now the time of the writes, milliseconds since 1970
   * @param expires what it removes expires, whatever its time to live
   */
  constructor(
    account: StoredAccount,
    container: StoredContainer,
    home: LogicalPartition,
    now = account.now(),
    expires = false,
  ) {
    this.#expires = expires;
    this.account = account;
    this.container = container;
    this.home = home;
    this.range = container.rangeOf(home.epk);
    this.now = now;
  }

  /** The item as this transaction sees it. A staged state is returned as a version that isn't in any log. */
  read(id: string): StoredVersion | undefined {
    if (this.#staged.has(id)) {
      const staged = this.#staged.get(id);
      return staged && new StoredVersion(staged.item, staged.open, staged.etag, 0, this.now, staged.ttl, staged.doc);
    }
    const version = this.home.items.get(id)?.current;
    return this.container.isLive(version, this.now) ? version : undefined;
  }

  /** Stages `doc` (whose ownership passes here) as the item's state; returns its etag and text. */
  put(id: string, doc: WireDoc): { etag: string; text: string } {
    const { account, container, home } = this;
    const ttl = readTtl(doc);
    const known = this.#staged.get(id)?.item ?? (this.#staged.has(id) ? undefined : home.items.get(id));
    const item = known ?? new StoredItem(id, home, container.nextSeq++);
    const rid = itemRid(container.rid, item.seq);
    const etag = account.etag();
    doc._rid = rid;
    doc._self = `${container.self}docs/${rid}/`;
    doc._etag = etag;
    doc._attachments = 'attachments/';
    doc._ts = Math.floor(this.now / 1000);
    const text = exactStringify(doc);
    if (text.length > MAX_DOCUMENT_BYTES / 3 && Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) throw wireTooLarge();
    this.#claim(id, doc);
    this.#staged.set(id, { item, open: text.slice(0, -1), etag, ttl, doc });
    return { etag, text };
  }

  remove(id: string): void {
    const before = this.read(id) ?? this.home.items.get(id)?.current;
    if (before && this.container.unique.length > 0) this.#release(id, before.doc);
    this.#staged.set(id, undefined);
  }

  /** Makes everything staged visible; returns the partition's lsn. */
  commit(): number {
    const { account, container, home, range } = this;
    if (this.#staged.size === 0) return range.lsn;
    const lsn = ++range.lsn;
    const lag = keepMs(account);
    const written: StoredVersion[] = [];
    if (!container.logical.has(home.text)) container.logical.set(home.text, home);
    for (const [id, staged] of this.#staged) {
      const standing = home.items.get(id);
      if (standing && standing !== staged?.item) this.#drop(standing, lsn, lag);
      if (!staged) continue;
      const { item } = staged;
      range.undo.push({ lsn, at: this.now, item, before: item.current }, lag);
      const before = item.current;
      if (before) range.retire();
      item.current = new StoredVersion(item, staged.open, staged.etag, lsn, this.now, staged.ttl);
      if (staged.ttl !== undefined && staged.ttl > 0) container.expiring.add(item);
      if (!before) container.items.add(item);
      home.items.set(id, item);
      written.push(item.current);
      for (const index of container.indexes.values()) index.update(item, staged.doc);
      home.changed(item);
      if (container.allVersions) recordChange(account, container, before, item.current, lsn, this.now);
      account.journal?.put(container, item.current);
    }
    if (written.length > 1 && (account.faults.shuffleInLsn ?? true)) shuffle(written, account.random);
    for (const version of written) range.append(version);
    for (const [value, id] of this.#unique) {
      if (id === undefined) home.unique.delete(value);
      else home.unique.set(value, id);
    }
    if (home.items.size === 0) container.logical.delete(home.text);
    account.journal?.moved(container, range);
    return lsn;
  }

  #drop(item: StoredItem, lsn: number, lag: number): void {
    const { range } = this;
    range.undo.push({ lsn, at: this.now, item, before: item.current }, lag);
    const live = this.#expires ? false : undefined;
    if (this.container.allVersions)
      recordChange(this.account, this.container, item.current, undefined, lsn, this.now, live);
    for (const index of this.container.indexes.values()) index.update(item, undefined);
    item.current = undefined;
    range.retire();
    this.home.items.delete(item.id);
    this.home.changed(item);
    this.container.items.retire();
    this.container.expiring.delete(item);
    this.account.journal?.remove(this.container, item);
  }

  #claim(id: string, doc: WireDoc): void {
    if (this.container.unique.length === 0) return;
    const before = this.read(id) ?? this.home.items.get(id)?.current;
    if (before) this.#release(id, before.doc);
    for (const value of this.container.uniqueValues(doc)) {
      const holder = this.#unique.has(value) ? this.#unique.get(value) : this.home.unique.get(value);
      // An expired item that isn't purged yet does not hold its value.
      if (holder !== undefined && holder !== id && this.read(holder)) throw conflict();
      this.#unique.set(value, id);
    }
  }

  #release(id: string, doc: WireDoc): void {
    for (const value of this.container.uniqueValues(doc)) {
      if ((this.#unique.get(value) ?? this.home.unique.get(value)) === id) this.#unique.set(value, undefined);
    }
  }
}

/** How long past states are kept, for lagging replicas and for failovers. */
const keepMs = ({ faults: { replicaLagMs = 0, historyMs = 0 } }: StoredAccount): number =>
  Math.max(replicaLagMs, historyMs);

function readTtl(doc: WireDoc): number | undefined {
  const { ttl } = doc;
  if (ttl === undefined) return undefined;
  if (typeof ttl === 'number' && Number.isInteger(ttl) && (ttl === -1 || (ttl > 0 && ttl <= 2147483647))) return ttl;
  throw badRequest(
    `The input ttl '${JSON.stringify(ttl)}' is invalid. Ensure to provide a nonzero positive integer less than or equal to 2147483647, or -1 for never.`,
  );
}
