import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import type { Lane, Share } from './limit.ts';
import { cosmosError } from '../errors.ts';
import { failureOf } from '../failure.ts';
import { readItem } from '../read-item.ts';
import type { RetryOptions } from '../retry.ts';
import { rewrite } from '../compare-and-swap.ts';

/** What a process says of itself, and the part of the budget that it may spend. */
export interface BudgetMember {
  readonly id: string;
  /** For people: host or operator, and process. */
  readonly name: string;
  /** From 0 to 1. All shares of the document together are 1 at most. */
  readonly share: number;
  /** The part of the budget that its live work needs; 1 also if it needs more than it has. */
  readonly live: number;
  /** Whether it has bulk work. */
  readonly bulk: boolean;
  /** Counts its writes: a member whose number stays is gone. */
  readonly beat: number;
}

interface SharesDocument {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.budget';
  readonly members: readonly BudgetMember[];
}

const PARTITION = 'budget';
/** Time between two writes of a process that spends. */
export const BEAT_MS = 10_000;
/** Time between two looks of a process that has no share. */
const EAGER_MS = 1_000;
/** A share lapses this long after its owner sent its last acknowledged write, and is given away no earlier. */
export const SHARE_MS = 40_000;
/** A process without requests gives its share back after this. */
const IDLE_MS = 60_000;
/** How long a process tries to leave; what it doesn't say lapses. */
const LEAVE_MS = 2_000;
/** A request waits for a share this long while the state container can't be reached. */
const UNSHARED_MS = 60_000;
/** What each member has in any case, so that its first request needn't wait; together no more than the second number. */
const FLOOR = 0.02;
const FLOORS = 0.4;
/** Live work gets this much more than it has needed. */
const HEADROOM = 1.25;

export interface SharesOptions {
  readonly state: Container;
  /** The database that the budget is for. */
  readonly database: string;
  readonly name: string;
  /** RU/s of each physical partition, for all processes together. */
  readonly ruPerSecond: number;
  readonly clock?: Clock;
}

/** The members of a budget; none: no process spends. */
export const readMembers = async (state: Container, database: string): Promise<readonly BudgetMember[]> =>
  (await readItem<SharesDocument>(state.item(database, PARTITION)))?.members ?? [];

/**
 * The share of this process in a budget that all processes of a database keep together (docs/SPEC-budget.md). It joins
 * when its first request is sent, and leaves when none has been for a minute. A document in the state container has the
 * members; each changes its own entry alone, under the document's ETag.
 */
export class Shares implements Share {
  readonly #options: SharesOptions;
  readonly #clock: Clock;
  readonly #id = randomUUID();
  /** What this process may spend until `#until`, monotonic. */
  #share = 0;
  #until = -Infinity;
  #beat = 0;
  #running: Promise<void> | undefined;
  #closed = new AbortController();
  #wantedAt = -Infinity;
  /** Since the last beat. */
  #since = 0;
  #waited = false;
  #bulk = false;
  readonly #spent = new Map<string, number>();
  /** Why the share could not be renewed, and since when, monotonic. */
  #failing: { readonly since: number; readonly error: unknown } | undefined;
  /** The last number of each other member, and when it was first seen, monotonic. */
  readonly #seen = new Map<string, { readonly beat: number; readonly at: number }>();

  constructor(options: SharesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  now(): number {
    return this.#clock.monotonic() < this.#until ? this.#share : 0;
  }

  /** @throws UsageError `budget-denied`; MillraceError `budget-unshared`, when nothing can be sent and waiting is no use */
  want(lane: Lane, waits: boolean): void {
    this.#wantedAt = this.#clock.monotonic();
    if (lane === 'bulk') this.#bulk = true;
    else if (waits) this.#waited = true;
    if (this.#closed.signal.aborted) return;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    // Last: the process goes on trying for the next caller.
    this.#assertAttainable();
  }

  #assertAttainable(): void {
    if (!this.#failing || this.now() > 0) return;
    const { since, error } = this.#failing;
    const { kind, message } = failureOf(error);
    const why = `${this.#options.state.id}: ${message.split('\n')[0] ?? ''}`;
    if (kind === 'denied')
      throw cosmosError('budget-denied', `This process can't share RU_BUDGET by ${why}`, { cause: error });
    if (this.#clock.monotonic() - since > UNSHARED_MS)
      throw cosmosError('budget-unshared', `This process has no share of RU_BUDGET: ${why}`, { cause: error });
  }

  spent(lane: Lane, partition: string, charge: number): void {
    if (lane === 'live') this.#spent.set(partition, (this.#spent.get(partition) ?? 0) + charge);
  }

  /** Gives the share back. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    this.#since = this.#clock.monotonic();
    try {
      while (!signal.aborted && this.#clock.monotonic() - this.#wantedAt < IDLE_MS) {
        // A failure is tried again: until then the share lapses, and requests wait as everything that needs the state does.
        await this.#renew().then(
          () => (this.#failing = undefined),
          (error: unknown) => this.#fail(error),
        );
        await this.#clock.sleep(this.now() > 0 ? BEAT_MS : EAGER_MS, signal).catch(() => undefined);
      }
    } finally {
      this.#until = -Infinity;
      this.#failing = undefined;
      await this.#write(() => undefined, { withinMs: LEAVE_MS }).catch(() => undefined);
    }
  }

  #fail(error: unknown): void {
    const now = this.#clock.monotonic();
    this.#failing = { since: this.#failing?.since ?? now, error };
    if (failureOf(error).kind !== 'not-found') return;
    // Without a state container no host runs, and there is no process to share with.
    this.#share = 1;
    this.#until = now + SHARE_MS;
  }

  async #renew(): Promise<void> {
    const now = this.#clock.monotonic();
    const needs = this.#needs(now);
    const sentAt = new Map<number, number>();
    const stored = await this.#write(
      (others) => {
        const free = 1 - others.reduce((sum, of) => sum + of.share, 0);
        const own = { id: this.#id, name: this.#options.name, ...needs };
        const share = Math.max(0, Math.min(shareTargetOf([...others, own], own), free));
        // Lowered before the others can know of it (BUD-B1). A raise counts once the write is acknowledged.
        this.#share = Math.min(this.#share, share);
        this.#beat += 1;
        sentAt.set(this.#beat, this.#clock.monotonic());
        return { ...own, share, beat: this.#beat };
      },
      { withinMs: BEAT_MS, signal: this.#closed.signal },
    );
    if (!stored) return;
    // Of several attempts the one that counts is the one that is stored.
    this.#share = stored.share;
    this.#until = (sentAt.get(stored.beat) ?? now) + SHARE_MS;
  }

  /** What it needs by what it did since the last beat. */
  #needs(now: number): Pick<BudgetMember, 'live' | 'bulk'> {
    const seconds = Math.max(1, (now - this.#since) / 1_000);
    const most = Math.max(0, ...this.#spent.values());
    const live = this.#waited ? 1 : Math.min(1, most / seconds / this.#options.ruPerSecond);
    const needs = { live, bulk: this.#bulk };
    this.#since = now;
    this.#spent.clear();
    this.#waited = false;
    this.#bulk = false;
    return needs;
  }

  /** Replaces the own entry; undefined removes it. Members that are gone are removed with any write. Resolves with the own entry. */
  async #write(
    next: (others: readonly BudgetMember[]) => BudgetMember | undefined,
    retry: Pick<RetryOptions, 'withinMs' | 'signal'>,
  ): Promise<BudgetMember | undefined> {
    const { state, database } = this.#options;
    const at = { id: database, pk: PARTITION } as const;
    const { after } = await rewrite(
      state,
      at,
      (stored: SharesDocument | undefined): SharesDocument | undefined => {
        const others = this.#alive((stored?.members ?? []).filter(({ id }) => id !== this.#id));
        const own = next(others);
        const members = own ? [...others, own] : others;
        if (members.length === 0) return undefined;
        return { ...at, type: 'millrace.budget', ...formatOf('budget'), members };
      },
      { clock: this.#clock, ...retry },
    );
    return after?.members.find(({ id }) => id === this.#id);
  }

  /** A member whose number has not changed for as long as a share lasts has none (BUD-B2): no clock but this one is asked. */
  #alive(others: readonly BudgetMember[]): BudgetMember[] {
    const now = this.#clock.monotonic();
    for (const { id, beat } of others) if (this.#seen.get(id)?.beat !== beat) this.#seen.set(id, { beat, at: now });
    for (const id of this.#seen.keys()) if (!others.some((of) => of.id === id)) this.#seen.delete(id);
    return others.filter(({ id }) => now - (this.#seen.get(id)?.at ?? now) < SHARE_MS);
  }
}

/**
 * The share that a member should have: live work first, each what it needs, in proportion if that is too much; what is
 * left goes to those with bulk work, and without bulk work to all.
 */
export function shareTargetOf(
  members: readonly Pick<BudgetMember, 'id' | 'live' | 'bulk'>[],
  { id }: Pick<BudgetMember, 'id'>,
): number {
  const floor = Math.min(FLOOR, FLOORS / members.length);
  const whole = 1 - floor * members.length;
  const wanted = members.map(({ live }) => Math.min(1, live * HEADROOM));
  const sum = wanted.reduce((all, one) => all + one, 0);
  const scale = sum > whole ? whole / sum : 1;
  const bulk = members.filter((of) => of.bulk);
  const rest = (whole - sum * scale) / (bulk.length > 0 ? bulk.length : members.length);
  const index = members.findIndex((of) => of.id === id);
  const getsRest = bulk.length === 0 || members[index]?.bulk === true;
  return floor + (wanted[index] ?? 0) * scale + (getsRest ? rest : 0);
}
