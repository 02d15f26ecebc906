import { type Change, type Page, feedLsnOf, onlyTenant } from '../reading/change.ts';
import { lsnOf, positionAt } from '../reading/position.ts';
import { RoundRobin } from './round-robin.ts';

/** Fewer unacknowledged changes are no flood, however many pages have them. */
const LEAST = 500;
/** As many times `mostPages` are accepted while they have fewer changes than that: a range that is read often has small pages. */
const SMALL_PAGES = 4;

/** The last part of an order value. */
interface Lane {
  readonly done: Promise<void>;
  /** False: other order values share the part. */
  readonly alone: boolean;
}

/** The changes for one call of the handler: a whole page, or its changes of one order value or more. */
export interface PagePart {
  readonly changes: readonly Change[];
  readonly page: Page;
}

export interface WindowOptions {
  /** The position that the first page was read from. */
  readonly from: string;
  /** Changes with the same value are handled one after the other, in feed order. Undefined: a page has one part. */
  readonly orderOf: ((change: Change) => string) | undefined;
  /**
   * Order values that have less than this part of a page's changes share a part, because each part costs requests
   * (TEN-F14). Default: none do.
   */
  readonly together?: number | undefined;
  /** The most parts that are handled at the same time. */
  readonly concurrency: number;
  /** With this many unacknowledged changes the window accepts no other page. */
  readonly most: number;
  /**
   * With unacknowledged changes of this many pages it accepts none either; of four times as many, if they are fewer than
   * 500. Pages that wait take memory, and get too old (PROC-L13). Default: no limit.
   */
  readonly mostPages?: number | undefined;
  /** True: when the handler resolves, all changes of the part are acknowledged. */
  readonly automatic: boolean;
  /** Resolves when the part is handled; rejects if it must be read again. */
  readonly handle: (part: PagePart, acknowledge: (changes: readonly Change[]) => void) => Promise<void>;
  /** The low watermark moved. `pageEnd`: it passed the end of a page. */
  readonly onAdvance: (position: string, pageEnd: boolean) => void;
}

/**
 * The unacknowledged changes of one range (PROC-L10). Passes page parts to the handler: those of one order value one after
 * the other, the others in parallel. Keeps the low watermark, up to which all changes are acknowledged (PROC-L2).
 */
export class Window {
  readonly #options: WindowOptions;
  readonly #failed = new AbortController();
  /** The number of unacknowledged changes, by lsn. */
  readonly #open = new Map<number, number>();
  /** The keys of `#open` in ascending order, with some that are done: the lowest one is needed after each part. */
  readonly #lsns: number[] = [];
  /** With their pages. */
  readonly #unacknowledged = new Map<Change, Page>();
  /** The number of unacknowledged changes of each page that has any. */
  readonly #pages = new Map<Page, number>();
  readonly #pageEnds: string[] = [];
  /** The last part of each order value. The next part of that value starts when it has ended. */
  readonly #lanes = new Map<string, Lane>();
  /** Parts that wait for one of the `concurrency` places. Tenants get them in turns (TEN-F1). */
  readonly #ready = new RoundRobin<() => void>();
  readonly #watching = new Set<() => void>();
  #running = 0;
  /** Parts that run or wait. */
  #parts = 0;
  #closed = false;
  #read: string;
  #position: string;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#read = options.from;
    this.#position = options.from;
  }

  /** The low watermark. */
  get position(): string {
    return this.#position;
  }

  /** Aborted with the reason when a part failed. Then no other part is started. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Resolves when another page may be offered. Whole pages are read one ahead of the handler, not two. */
  room(): Promise<void> {
    const { orderOf } = this.#options;
    return this.#until(() => !this.#isFull() && (orderOf !== undefined || this.#parts === 0));
  }

  #isFull(): boolean {
    const { most, mostPages = Infinity } = this.#options;
    const { size } = this.#unacknowledged;
    return size >= most || this.#pages.size >= (size < LEAST ? SMALL_PAGES * mostPages : mostPages);
  }

  /** With this many unacknowledged changes, those of a page that comes counted, the window is half full. */
  get half(): number {
    const { most, mostPages = Infinity } = this.#options;
    const byPages = 2 * this.#pages.size < mostPages ? Infinity : Math.max(LEAST, this.#unacknowledged.size);
    return Math.min(most / 2, byPages);
  }

  /** The number of pages that have unacknowledged changes. */
  get pages(): number {
    return this.#pages.size;
  }

  /** True: all offered changes are acknowledged. */
  get isEmpty(): boolean {
    return this.#unacknowledged.size === 0 && this.#parts === 0;
  }

  /** The number of offered changes that are not acknowledged, by tenant. */
  held(): Map<string, number> {
    const held = new Map<string, number>();
    for (const { tenant } of this.#unacknowledged.keys())
      if (tenant !== undefined) held.set(tenant, (held.get(tenant) ?? 0) + 1);
    return held;
  }

  /** The number of offered changes that are not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged.size;
  }

  /** Resolves when the window is empty. */
  empty(): Promise<void> {
    return this.#until(() => this.isEmpty);
  }

  /** Starts no more parts, and resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const begin of this.#ready.all()) begin();
    await this.#until(() => this.#running === 0);
  }

  offer(page: Page & { readonly next: string }): void {
    this.#read = page.next;
    this.#pageEnds.push(page.next);
    const acknowledged = lsnOf(this.#position);
    for (const change of page.changes) {
      const lsn = feedLsnOf(change);
      // The feed may deliver acknowledged changes again. The watermark stays.
      if (lsn <= acknowledged) continue;
      const before = this.#open.get(lsn) ?? 0;
      if (before === 0) this.#lsns.push(lsn);
      this.#open.set(lsn, before + 1);
      this.#unacknowledged.set(change, page);
      this.#pages.set(page, (this.#pages.get(page) ?? 0) + 1);
    }
    // Cheap, because the feed is in order already.
    this.#lsns.sort((a, b) => a - b);
    for (const [values, changes] of this.#partsOf(page)) this.#enqueue(values, { changes, page });
    if (this.#open.size === 0) this.#advance();
  }

  /** The parts of a page, each with its order values. */
  #partsOf({ changes }: Page): (readonly [readonly string[], readonly Change[]])[] {
    const { orderOf, together = 0 } = this.#options;
    if (changes.length === 0) return [];
    if (!orderOf) return [[[''], changes]];
    const parts = Map.groupBy(changes, orderOf);
    const shared = new Set<string>();
    // Not one that has a part of its own in hand: the others would wait for that.
    for (const [value, own] of parts)
      if (own.length < together * changes.length && !this.#lanes.get(value)?.alone) shared.add(value);
    const alone = [...parts].filter(([value]) => !shared.has(value));
    return [
      ...(shared.size > 0 ? [[[...shared], changes.filter((change) => shared.has(orderOf(change)))] as const] : []),
      ...alone.map(([value, own]) => [[value], own] as const),
    ];
  }

  #enqueue(values: readonly string[], part: PagePart): void {
    this.#parts += 1;
    const before = values.flatMap((value) => this.#lanes.get(value)?.done ?? []);
    const lane = { done: this.#runAfter(before, part), alone: values.length === 1 };
    for (const value of values) this.#lanes.set(value, lane);
    void lane.done.finally(() => {
      for (const value of values) if (this.#lanes.get(value) === lane) this.#lanes.delete(value);
    });
  }

  async #runAfter(before: readonly Promise<void>[], part: PagePart): Promise<void> {
    await Promise.all(before);
    await this.#run(part);
  }

  /** Never rejects. */
  async #run(part: PagePart): Promise<void> {
    const { handle, automatic } = this.#options;
    await this.turn(onlyTenant(part.changes), async () => {
      await handle(part, (changes) => this.#acknowledge(changes));
      if (automatic) this.#acknowledge(part.changes);
    });
    this.#parts -= 1;
    this.#changed();
  }

  /**
   * Does work of a tenant in one of the places, at its turn. If it fails, the window fails. Never rejects; false: the window
   * was closed, and the work was not begun or failed.
   */
  async turn(tenant: string | undefined, work: () => Promise<void>): Promise<boolean> {
    const { concurrency } = this.#options;
    if (!this.#closed && this.#running >= concurrency) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#ready.add(tenant, resolve);
      await promise;
    }
    if (this.#closed) return false;
    this.#running += 1;
    try {
      await work();
    } catch (error) {
      this.#closed = true;
      this.#failed.abort(error);
    }
    this.#running -= 1;
    this.#ready.next()?.();
    this.#changed();
    return !this.#closed;
  }

  #acknowledge(changes: readonly Change[]): void {
    for (const change of changes) {
      const page = this.#unacknowledged.get(change);
      if (!page) continue;
      this.#unacknowledged.delete(change);
      countDown(this.#pages, page);
      countDown(this.#open, feedLsnOf(change));
    }
    this.#advance();
    this.#changed();
  }

  /** Moves the watermark to just before the lowest lsn with unacknowledged changes, else to the end of the last page. */
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

function countDown<K>(counts: Map<K, number>, key: K): void {
  const left = (counts.get(key) ?? 1) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}
