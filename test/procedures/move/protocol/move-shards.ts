// The shards of move-protocol.ts: documents with lsns, the feed, and sinks with a guard for each document.
import type { Letter } from './move-letters.ts';

export interface Version {
  readonly epoch: number;
  readonly lsn: number;
}

/** What a move writes into a document; an application's write takes it away. */
export interface Mark {
  readonly version?: Version;
  readonly gone?: true;
  /** `epoch` of a marker: that in which the document was acknowledged. */
  readonly of?: { readonly epoch: number; readonly lsn?: number };
  /** Of a copy of an archived document, which leaves again: its line. */
  readonly cold?: string;
  /** It came back from the archive: an event for no one, and no move's. */
  readonly restored?: true;
}

/** What a shard knows of an archived document. */
export interface Entry {
  readonly state: 'archived' | 'void';
  readonly version: Version;
  readonly etag: string;
  readonly n: number;
  /** The version that was archived first, wherever that was. */
  readonly line: string;
}

export interface Stored {
  readonly id: string;
  readonly key: string;
  readonly n: number;
  readonly lsn: number;
  /** The application counts it as deleted; it expires. */
  readonly removed?: true;
  readonly mark?: Mark;
}

export interface Change {
  readonly id: string;
  readonly key: string;
  readonly n: number;
  /** Where the feed has it. */
  readonly lsn: number;
  readonly version: Version;
  readonly etag: string;
  readonly moved: boolean;
  /** The document is on the other shard. */
  readonly gone: boolean;
  readonly restored: boolean;
  readonly op: 'upsert' | 'delete';
}

interface Guard {
  readonly version: Version;
  readonly n: number;
  readonly counts: boolean;
}

export const isNewer = (a: Version, b: Version): boolean => (a.epoch === b.epoch ? a.lsn > b.lsn : a.epoch > b.epoch);

/** The sink of a shard, or that of all: a guard for each document, and a total for each key. */
export class Sink {
  readonly guards = new Map<string, Guard>();
  readonly totals = new Map<string, number>();

  apply({ id, key, n, version, op }: Change): void {
    const known = this.guards.get(id);
    if (known && !isNewer(version, known.version)) return;
    const counts = op === 'upsert';
    const before = known?.counts ? known.n : 0;
    this.totals.set(key, (this.totals.get(key) ?? 0) - before + (counts ? n : 0));
    this.guards.set(id, { version, n, counts });
  }
}

export class Shard {
  readonly name: string;
  readonly docs = new Map<string, Stored>();
  readonly sink = new Sink();
  lsn: number;
  epoch: number;
  /** The epoch in which the running tenure reads, and how far it has acknowledged. */
  known: number;
  position: number;
  /** A page that was read, and not acknowledged yet. */
  page: { readonly changes: readonly Change[]; readonly to: number; readonly readAt: number } | undefined;
  /** Changes that hosts have acknowledged, and apply later. */
  deferred: Change[] = [];
  /** Its hosts stand still. */
  downUntil = 0;
  readonly entries = new Map<string, Entry>();
  /** Reactions that are parked, by document. */
  readonly letters = new Map<string, Letter>();
  /** Sweeps that write: since when they are recorded, and until when they may. */
  readonly sweeps = new Set<{ readonly since: number; readonly until: number }>();
  /** Keys that the gate holds, and since when. */
  held = new Map<string, number>();

  constructor(name: string, lsn: number, epoch: number) {
    this.name = name;
    this.lsn = lsn;
    this.position = lsn;
    this.epoch = epoch;
    this.known = epoch;
  }

  put(doc: Omit<Stored, 'lsn'>): Stored {
    const stored = { ...doc, lsn: (this.lsn += 1) };
    this.docs.set(doc.id, stored);
    return stored;
  }

  since(position: number, key?: string): Stored[] {
    return [...this.docs.values()]
      .filter((doc) => doc.lsn > position && (key === undefined || doc.key === key))
      .toSorted((a, b) => a.lsn - b.lsn);
  }

  /** As the mapper makes it. */
  changeOf({ id, key, n, lsn, removed, mark }: Stored, epoch: number): Change {
    const own = { epoch, lsn };
    const version = mark?.version ?? (mark?.of ? { epoch: mark.of.epoch, lsn: mark.of.lsn ?? lsn } : own);
    const restored = mark?.restored === true;
    return {
      id,
      key,
      n,
      lsn,
      version,
      etag: `${this.name}${lsn}`,
      moved: mark !== undefined && !restored,
      gone: mark?.gone === true,
      restored,
      op: mark?.gone || removed ? 'delete' : 'upsert',
    };
  }
}

/** Whether a document is as a move has written it, or as the application has written that back. */
export const isCopy = ({ mark }: Stored): boolean =>
  mark !== undefined && !mark.gone && !mark.restored && mark.cold === undefined;

/** Its hosts have acknowledged all that its feed shows. */
export const hasReadAll = ({ page, position, lsn }: Shard): boolean => !page && position >= lsn;

/** Whether a shard's sink has a document as it is. */
export function shows({ sink }: Shard, { id, n, removed }: Stored): boolean {
  const shown = sink.guards.get(id);
  return removed ? !shown?.counts : shown?.counts === true && shown.n === n;
}

export interface Router {
  /** Where it would write each key, by what it knows of the map. */
  readonly knows: Map<string, Shard>;
  silentUntil: number;
  /** A write that was admitted and not sent yet. */
  sending: { readonly key: string; readonly shard: Shard; readonly id: string; readonly at: number } | undefined;
}

export interface Move {
  readonly key: string;
  readonly from: Shard;
  readonly to: Shard;
  /** When the mapping was locked. */
  readonly lockedAt: number;
  step: 'copying' | 'switched' | 'clearing' | 'done' | 'cancelled';
  /** Positions in the source's feed: what was copied, and where it ended when it was closed. */
  copied: number;
  closedAt: number;
  /** Epoch of the source's versions in the copies. */
  epoch: number;
  switchedAt: number;
  /** Documents up to this lsn were copied by a move that was cancelled. */
  renews: number;
  tries: number;
}
