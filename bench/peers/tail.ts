import { setTimeout as delay } from 'node:timers/promises';
import { ChangeFeedStartFrom, type Container } from '@azure/cosmos';

const POLL_MS = 100;

interface Seen {
  readonly id: string;
  readonly turn?: number;
}

/** Follows a view by its own change feed, to know when its rows came. */
export class Tail implements AsyncDisposable {
  /** Newest version of each row, and when that was seen. */
  readonly turns = new Map<string, number>();
  /** When a row came last. */
  lastAt = Number.NaN;
  /** Request units of following. */
  charge = 0;
  readonly #container: Container;
  readonly #row: (id: string, turn: number, at: number) => void;
  #newAt = Number.NaN;
  readonly #over = new AbortController();
  readonly #following: Promise<void>;

  constructor(container: Container, row: (id: string, turn: number, at: number) => void = () => undefined) {
    this.#container = container;
    this.#row = row;
    this.#following = this.#follow();
  }

  /** For how long no new version of a row has come; 0 before the first. Rows without versions are always new. */
  quietMs(): number {
    return Number.isNaN(this.#newAt) ? 0 : performance.now() - this.#newAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const iterator = this.#container.items.getChangeFeedIterator<Seen>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      maxItemCount: 1_000,
    });
    while (!this.#over.signal.aborted) {
      const { result, requestCharge, count } = await iterator.readNext();
      this.charge += requestCharge;
      const at = performance.now();
      for (const { id, turn = 0 } of result) {
        this.lastAt = at;
        if (turn === 0 || this.turns.get(id) !== turn) this.#newAt = at;
        this.turns.set(id, turn);
        this.#row(id, turn, at);
      }
      if (count === 0) await delay(POLL_MS);
    }
  }
}
