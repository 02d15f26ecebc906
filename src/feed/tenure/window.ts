import { type Change, type Page, feedLsnOf, onlyTenant } from '../reading/change.ts';
import { lsnOf, positionAt } from '../reading/position.ts';
import { RoundRobin } from './round-robin.ts';

/** Fewer unacknowledged changes are no flood, however many pages have them. */
const LEAST = 500;
/** As many times `mostPages` are accepted while they have fewer changes than that: a range that is read often has small pages. */
const SMALL_PAGES = 4;

/** What is unacknowledged of a page. */
interface OpenPage {
  /** In the order of their lsns. */
  readonly changes: readonly Change[];
  /** Undefined: all are left. */
  left: Set<Change> | undefined;
  /** No change before this one is left. */
  first: number;
}

/** What one call of the handler gets: the parts of one page or, where it had to wait, of several (PROC-L10a). */
interface Work {
  readonly values: Set<string>;
  /** False: other order values share it. */
  readonly alone: boolean;
  /** It begins when they have ended. */
  readonly follows: Set<Work>;
  readonly parts: PagePart[];
  changes: number;
  charge: number;
  begun: boolean;
  done: Promise<void>;
}

/** How much of what waits becomes one part. */
export interface Joining {
  /** So many changes, and what comes last. It may change while the window is used. */
  readonly most: () => number;
  /** So many request units of reading, 1 a KB, and what comes last. */
  readonly charge: number;
}

/** The changes for one call of the handler: a whole page, or its changes of one order value or more. */
export interface PagePart {
  readonly changes: readonly Change[];
  /** Where several pages wait, their last one with all the changes and the time of the oldest. */
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
  /** Joins what waits behind a part. Then the window has room for as much as runs, and as much behind it. Default: nothing. */
  readonly join?: Joining | undefined;
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
  /** The pages of which changes are unacknowledged. */
  readonly #pages = new Map<Page, OpenPage>();
  #unacknowledged = 0;
  readonly #pageEnds: string[] = [];
  /** The last work of each order value. The next one of that value starts when it has ended. */
  readonly #lanes = new Map<string, Work>();
  /** Works that wait for one of the `concurrency` places. Tenants get them in turns (TEN-F1). */
  readonly #ready = new RoundRobin<() => void>();
  readonly #watching = new Set<() => void>();
  #running = 0;
  /** Works that run or wait. */
  #works = 0;
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

  /**
   * Resolves when another page may be offered. Whole pages are read one ahead of the handler, and more only where they are
   * joined and the feed has `more`: else each read would bring a few changes.
   */
  room(more = false): Promise<void> {
    const { orderOf, join } = this.#options;
    return this.#until(
      () => !this.#isFull() && (orderOf !== undefined || this.#works === 0 || (join !== undefined && more)),
    );
  }

  #isFull(): boolean {
    const { most, mostPages = Infinity, join, orderOf } = this.#options;
    const size = this.#unacknowledged;
    if (size >= most || this.#pages.size >= (size < LEAST ? SMALL_PAGES * mostPages : mostPages)) return true;
    if (!join || orderOf) return false;
    const charge = [...this.#pages.keys()].reduce((sum, page) => sum + page.charge, 0);
    return size >= 2 * join.most() || charge >= 2 * join.charge;
  }

  /** With this many unacknowledged changes, those of a page that comes counted, the window is half full. */
  get half(): number {
    const { most, mostPages = Infinity } = this.#options;
    const byPages = 2 * this.#pages.size < mostPages ? Infinity : Math.max(LEAST, this.#unacknowledged);
    return Math.min(most / 2, byPages);
  }

  /** The number of pages that have unacknowledged changes. */
  get pages(): number {
    return this.#pages.size;
  }

  /** True: all offered changes are acknowledged. */
  get isEmpty(): boolean {
    return this.#unacknowledged === 0 && this.#works === 0;
  }

  /** The number of offered changes that are not acknowledged, by tenant. */
  held(): Map<string, number> {
    const held = new Map<string, number>();
    for (const { left, changes } of this.#pages.values())
      for (const { tenant } of left ?? changes) if (tenant !== undefined) held.set(tenant, (held.get(tenant) ?? 0) + 1);
    return held;
  }

  /** The number of offered changes that are not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged;
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
    // The feed may deliver acknowledged changes again. The watermark stays.
    const fresh = page.changes.filter((change) => feedLsnOf(change) > acknowledged);
    if (fresh.length > 0) {
      const changes = isInOrder(fresh) ? fresh : fresh.toSorted((a, b) => feedLsnOf(a) - feedLsnOf(b));
      this.#pages.set(page, { changes, left: undefined, first: 0 });
      this.#unacknowledged += fresh.length;
    }
    for (const [values, changes] of this.#partsOf(page)) this.#enqueue(values, { changes, page });
    if (this.#pages.size === 0) this.#advance();
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

  /** Puts a part into the work that its order values wait for, or makes one that follows theirs. */
  #enqueue(values: readonly string[], part: PagePart): void {
    const before = new Set(values.flatMap((value) => this.#lanes.get(value) ?? []));
    const alone = values.length === 1;
    const work = [...before].find((one) => this.#joins(one, before, alone)) ?? this.#newWork(before, alone);
    work.parts.push(part);
    work.changes += part.changes.length;
    work.charge += (part.page.charge * part.changes.length) / part.page.changes.length;
    for (const value of values) {
      work.values.add(value);
      this.#lanes.set(value, work);
    }
  }

  /** Whether a work takes a part that comes after `before`: it hasn't begun, and follows the others already. */
  #joins(work: Work, before: ReadonlySet<Work>, alone: boolean): boolean {
    const { join } = this.#options;
    if (!join || work.begun || work.alone !== alone) return false;
    const inOrder = [...before].every((one) => one === work || work.follows.has(one));
    return inOrder && work.changes < join.most() && work.charge < join.charge;
  }

  #newWork(follows: Set<Work>, alone: boolean): Work {
    const made = { values: new Set<string>(), alone, follows, parts: [], changes: 0, charge: 0, begun: false };
    const work: Work = { ...made, done: Promise.resolve() };
    this.#works += 1;
    work.done = this.#runInTurn(work);
    return work;
  }

  /** Never rejects. */
  async #runInTurn(work: Work): Promise<void> {
    await Promise.all([...work.follows].map(({ done }) => done));
    // Otherwise each would keep all before it in memory.
    work.follows.clear();
    const { handle, automatic } = this.#options;
    await this.turn(onlyTenant(work.parts[0]?.changes ?? []), async () => {
      work.begun = true;
      const part = joined(work.parts);
      await handle(part, (changes) => this.#acknowledge(work.parts.map(({ page }) => ({ changes, page }))));
      if (automatic) this.#acknowledge(work.parts);
    });
    this.#works -= 1;
    for (const value of work.values) if (this.#lanes.get(value) === work) this.#lanes.delete(value);
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

  #acknowledge(parts: readonly PagePart[]): void {
    for (const { changes, page } of parts) {
      const open = this.#pages.get(page);
      if (!open) continue;
      const before = leftOf(open);
      if (changes === page.changes) open.left = new Set();
      else {
        open.left ??= new Set(open.changes);
        for (const change of changes) open.left.delete(change);
      }
      this.#unacknowledged -= before - leftOf(open);
      if (open.left.size === 0) this.#pages.delete(page);
    }
    this.#advance();
    this.#changed();
  }

  /** Moves the watermark to just before the lowest lsn with unacknowledged changes, else to the end of the last page. */
  #advance(): void {
    const lowest = Math.min(...[...this.#pages.values()].map(lowestOf));
    const next = lowest === Infinity ? this.#read : positionAt(lowest - 1);
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

function joined(parts: readonly PagePart[]): PagePart {
  const [first, ...others] = parts;
  if (!first || others.length === 0) return first ?? never();
  const changes = parts.flatMap((part) => part.changes);
  const pages = parts.map(({ page }) => page);
  const readAt = Math.min(...pages.map((page) => page.readAt));
  return { changes, page: { ...(pages.at(-1) ?? first.page), changes, readAt } };
}

function never(): never {
  throw new Error('A work without a part');
}

const leftOf = ({ left, changes }: OpenPage): number => left?.size ?? changes.length;

/** As a feed usually is. */
const isInOrder = (changes: readonly Change[]): boolean =>
  changes.every((change, n) => n === 0 || feedLsnOf(changes[n - 1] ?? change) <= feedLsnOf(change));

/** The lowest lsn that is left of a page. */
function lowestOf(open: OpenPage): number {
  for (; open.first < open.changes.length; open.first++) {
    const change = open.changes[open.first];
    if (change && open.left?.has(change) !== false) return feedLsnOf(change);
  }
  return Infinity;
}
