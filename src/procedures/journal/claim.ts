import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';

/** A document on which one process works. */
export interface Claimed {
  readonly id: string;
  readonly pk: string;
  /** The run that works on it; another for each run, also of one operator. Empty: none does. */
  readonly holder: string;
  /** ISO 8601 UTC. When the holder last stored something. */
  readonly aliveAt: string;
}

export interface ClaimedBy {
  /** What it does, for people: `A backfill of Orders`. */
  readonly what: string;
  readonly clock: Clock;
}

type Unclaimed<D extends Claimed> = Omit<D, keyof Claimed>;

/** Such a document, as its holder writes it: each write depends on the version that was read, and on the holder (JRN-L1). */
export class Claim<D extends Claimed> {
  readonly #container: Container;
  readonly #by: ClaimedBy;
  readonly #holder: string;
  #writing: Promise<unknown> = Promise.resolve();
  #sentAt = -Infinity;
  /** As the holder last stored it. */
  now: D;

  private constructor(container: Container, now: D, by: ClaimedBy, holder: string) {
    this.#container = container;
    this.#by = by;
    this.#holder = holder;
    this.now = now;
  }

  /** Takes it. `next` says what is stored then, and throws to refuse. */
  static async take<D extends Claimed>(
    container: Container,
    { id, pk }: Pick<Claimed, 'id' | 'pk'>,
    next: (stored: D | undefined) => Unclaimed<D>,
    by: ClaimedBy,
  ): Promise<Claim<D>> {
    const holder = randomUUID();
    const claim = new Claim<D>(container, { id, pk } as D, by, holder);
    await claim.#write((stored) => (stored?.holder === holder ? stored : next(stored)));
    return claim;
  }

  /** When the last write that was acknowledged was sent, by the monotonic clock. */
  get sentAt(): number {
    return this.#sentAt;
  }

  /** Stores a change, or only that the holder is alive. @throws MillraceError `overtaken` */
  save(change: (stored: D) => Unclaimed<D> = (stored) => stored): Promise<void> {
    const own = (stored: D | undefined): D => {
      if (stored?.holder === this.#holder) return stored;
      throw sharedError('overtaken', `${this.#by.what} was taken over by another process`, { retryable: false });
    };
    // One after the other: containers are copied side by side, and each stores how far it is.
    const saved = this.#writing.then(() => this.#write((stored) => change(own(stored))));
    this.#writing = saved.catch(() => undefined);
    return saved;
  }

  /** Ends it once all is saved. `next`: what stays; undefined: nothing. One that was taken over is left alone. */
  async end(next: (stored: D) => D | undefined): Promise<void> {
    await this.#writing;
    await rewrite(this.#container, this.now, (stored?: D) => (stored?.holder === this.#holder ? next(stored) : stored));
  }

  async #write(next: (stored: D | undefined) => Unclaimed<D>): Promise<void> {
    const { id, pk } = this.now;
    let sentAt = 0;
    const { after } = await rewrite(this.#container, { id, pk }, (stored?: D): D => {
      sentAt = systemClock.monotonic();
      const aliveAt = new Date(this.#by.clock.now()).toISOString();
      return { ...next(stored), id, pk, holder: this.#holder, aliveAt } as D;
    });
    this.#sentAt = sentAt;
    this.now = after;
  }
}
