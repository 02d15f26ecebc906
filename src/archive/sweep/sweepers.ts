// Sweeps of one archive that run at the same time take different keys first (ADR 97).
import { createHash, randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type ArchiveSpec, projectionId } from '../../pipeline/specs.ts';
import type { Key } from '../../feed/reading/change.ts';
import { SWEEPING } from './sweeping.ts';

const LOOK_MS = 10_000;
/** A sweep that has not written for this long has died, however clocks differ by some seconds. */
const GONE_MS = 3 * LOOK_MS;

/** One sweep among those that run now. Nothing depends on the division: each takes the rest too, when it is done. */
export class Sweeper implements AsyncDisposable {
  readonly #id = randomUUID();
  readonly #pk: string;
  readonly #state: Container;
  readonly #clock: Clock;
  #all: readonly string[];
  #lookedAt = -Infinity;

  constructor(state: Container, spec: ArchiveSpec, clock: Clock = systemClock) {
    this.#state = state;
    this.#pk = `sweepers|${projectionId(spec)}`;
    this.#clock = clock;
    this.#all = [this.#id];
  }

  /** Whether others run too. */
  get isShared(): boolean {
    return this.#all.length > 1;
  }

  /** Says that this sweep runs, and looks which others do; rarely. */
  async look(signal: AbortSignal): Promise<void> {
    if (this.#clock.monotonic() - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = this.#clock.monotonic();
    const pk = this.#pk;
    const at = this.#clock.now();
    const record = { id: this.#id, pk, type: SWEEPING, ...formatOf('sweeping'), at, ttl: (2 * GONE_MS) / 1_000 };
    await withRetry(() => this.#state.items.upsert(record), { reads: true });
    const alive: string[] = [];
    const query = 'SELECT c.id, c.at FROM c';
    const options = { partitionKey: pk, anyFormat: true };
    for await (const { id, at: since } of fetchAll<{ id: string; at: number }>(this.#state, query, signal, options))
      if (id === this.#id || at - since < GONE_MS) alive.push(id);
    this.#all = alive.toSorted();
  }

  /** Whether this sweep takes a key before the others do. */
  isFirstFor(key: Key): boolean {
    const all = this.#all;
    return all.length < 2 || all[numberOf(key) % all.length] === this.#id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // If it fails, others leave its keys for the end until the record expires.
    await withRetry(() => this.#state.item(this.#id, this.#pk).delete(), { reads: true }).catch(() => undefined);
  }
}

const numberOf = (key: Key): number => createHash('sha256').update(canonical(key)).digest().readUInt32BE();
