import type { Change, Page } from '../reading/change.ts';
import { lsnOf, positionAt } from '../reading/position.ts';

/** Changes of one order value (or a whole page), handed to the handler together. */
export interface Batch {
  readonly changes: readonly Change[];
  readonly page: Page;
}

export interface WindowOptions {
  /** The position that the first page was read from. */
  readonly from: string;
  /** Changes of equal value are handled one after the other, in the order of the feed; undefined: a page is one batch. */
  readonly orderOf: ((change: Change) => string) | undefined;
  /** Most batches that are handled at once. */
  readonly concurrency: number;
  /** Where so many changes are read and not acknowledged, no other page is taken. */
  readonly most: number;
  /** Whether a batch is acknowledged when its handler resolves, beside what it acknowledged itself. */
  readonly automatic: boolean;
  /** Resolves when the batch is handled; rejects when it is to be read again. */
  readonly handle: (batch: Batch, acknowledge: (changes: readonly Change[]) => void) => Promise<void>;
  /** The low watermark moved, with `pageEnd` past the end of a page. */
  readonly onAdvance: (position: string, pageEnd: boolean) => void;
}

/**
 * What was read of one range and is not acknowledged yet (L10): gives batches to the handler, those of one order value
 * in order and others in parallel, and knows the low watermark, up to which everything is acknowledged (L2).
 */
export class Window {
  readonly #options: WindowOptions;
  readonly #failed = new AbortController();
  /** By lsn, how many of its changes wait to be acknowledged. */
  readonly #open = new Map<number, number>();
  /** The keys of `#open` in ascending order, and some that are closed: what is lowest is asked after each batch. */
  readonly #lsns: number[] = [];
  readonly #unacknowledged = new Set<Change>();
  readonly #pageEnds: string[] = [];
  /** The last batch of each order value; the next of it begins when that one has ended. */
  readonly #lanes = new Map<string, Promise<void>>();
  /** Batches that wait for one of the `concurrency` places. */
  readonly #ready: (() => void)[] = [];
  readonly #watching = new Set<() => void>();
  #running = 0;
  /** Batches that run or wait to. */
  #batches = 0;
  #closed = false;
  #read: string;
  #position: string;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#read = options.from;
    this.#position = options.from;
  }

  /** Up to here everything is acknowledged. */
  get position(): string {
    return this.#position;
  }

  /** Aborted with the reason when a batch failed; then nothing more is begun. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Resolves when another page may be offered: whole pages are read one ahead of the handler, not two. */
  room(): Promise<void> {
    const { orderOf, most } = this.#options;
    return this.#until(() => this.#unacknowledged.size < most && (orderOf !== undefined || this.#batches === 0));
  }

  /** Whether everything offered is acknowledged. */
  get isEmpty(): boolean {
    return this.#unacknowledged.size === 0 && this.#batches === 0;
  }

  /** How many changes of what was offered are not. */
  get unacknowledged(): number {
    return this.#unacknowledged.size;
  }

  /** Resolves when it is. */
  empty(): Promise<void> {
    return this.#until(() => this.isEmpty);
  }

  /** Begins nothing more, and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const begin of this.#ready.splice(0)) begin();
    await this.#until(() => this.#running === 0);
  }

  offer(page: Page & { readonly next: string }): void {
    this.#read = page.next;
    this.#pageEnds.push(page.next);
    const acknowledged = lsnOf(this.#position);
    for (const change of page.changes) {
      const { lsn } = change.version;
      // The feed may deliver again what is acknowledged already; the watermark stays.
      if (lsn <= acknowledged) continue;
      const before = this.#open.get(lsn) ?? 0;
      if (before === 0) this.#lsns.push(lsn);
      this.#open.set(lsn, before + 1);
      this.#unacknowledged.add(change);
    }
    // One look where the feed is in order, as it is.
    this.#lsns.sort((a, b) => a - b);
    for (const [value, changes] of this.#batchesOf(page)) this.#enqueue(value, { changes, page });
    if (this.#open.size === 0) this.#advance();
  }

  #batchesOf({ changes }: Page): Iterable<readonly [string, readonly Change[]]> {
    const { orderOf } = this.#options;
    if (changes.length === 0) return [];
    return orderOf ? Map.groupBy(changes, orderOf) : [['', changes]];
  }

  #enqueue(value: string, batch: Batch): void {
    this.#batches += 1;
    const lane = this.#runAfter(this.#lanes.get(value), batch);
    this.#lanes.set(value, lane);
    void lane.finally(() => this.#lanes.get(value) === lane && this.#lanes.delete(value));
  }

  async #runAfter(before: Promise<void> | undefined, batch: Batch): Promise<void> {
    await before;
    await this.#run(batch);
  }

  /** Never rejects. */
  async #run(batch: Batch): Promise<void> {
    const { handle, automatic, concurrency } = this.#options;
    if (!this.#closed && this.#running >= concurrency) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#ready.push(resolve);
      await promise;
    }
    if (!this.#closed) {
      this.#running += 1;
      try {
        await handle(batch, (changes) => this.#acknowledge(changes));
        if (automatic) this.#acknowledge(batch.changes);
      } catch (error) {
        this.#closed = true;
        this.#failed.abort(error);
      }
      this.#running -= 1;
      this.#ready.shift()?.();
    }
    this.#batches -= 1;
    this.#changed();
  }

  #acknowledge(changes: readonly Change[]): void {
    for (const change of changes) {
      if (!this.#unacknowledged.delete(change)) continue;
      const { lsn } = change.version;
      const left = (this.#open.get(lsn) ?? 1) - 1;
      if (left > 0) this.#open.set(lsn, left);
      else this.#open.delete(lsn);
    }
    this.#advance();
    this.#changed();
  }

  /** Just before the lowest lsn that isn't wholly acknowledged, else the end of what was read. */
  #advance(): void {
    const closed = this.#lsns.findIndex((lsn) => this.#open.has(lsn));
    this.#lsns.splice(0, closed === -1 ? this.#lsns.length : closed);
    const [lowest] = this.#lsns;
    const next = lowest === undefined ? this.#read : positionAt(lowest - 1);
    if (lsnOf(next) <= lsnOf(this.#position)) return;
    this.#position = next;
    let pageEnd = false;
    while (this.#pageEnds[0] !== undefined && lsnOf(this.#pageEnds[0]) <= lsnOf(next)) {
      this.#pageEnds.shift();
      pageEnd = true;
    }
    this.#options.onAdvance(next, pageEnd);
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watching.add(resolve);
      await promise;
    }
  }

  #changed(): void {
    for (const resolve of this.#watching) resolve();
    this.#watching.clear();
  }
}
