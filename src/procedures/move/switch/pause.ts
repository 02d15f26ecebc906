import type { Clock } from '../../../base/clock.ts';

/**
 * What writes of the keys wait for, in this order: until the routers hold them, until the mapping is offline, until the
 * shard's gate admits nothing, for what is left then of the copying beside that, for the last of the feed, for what is left
 * of the comparison then, until the mapping is online on the target, and until the gate is open.
 */
export const PAUSE_PARTS = ['hold', 'offline', 'drain', 'copy', 'copyLast', 'compare', 'online', 'open'] as const;
export type PausePart = (typeof PAUSE_PARTS)[number];
/** Milliseconds of each part. */
export type PauseParts = Readonly<Record<PausePart, number>>;

/** How long writes of some keys were held, by what they waited for. */
export class Pause {
  readonly #clock: Clock;
  #began: number;
  #ended: number | undefined;
  readonly #parts = new Map<PausePart, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.monotonic();
  }

  get ms(): number {
    return Math.round((this.#ended ?? this.#clock.monotonic()) - this.#began);
  }

  /** Writes wait from now on. */
  begin(): void {
    this.#began = this.#clock.monotonic();
  }

  /** Writes go on. */
  end(): void {
    this.#ended = this.#clock.monotonic();
  }

  get parts(): PauseParts {
    const all = PAUSE_PARTS.map((part) => [part, Math.round(this.#parts.get(part) ?? 0)] as const);
    return Object.fromEntries(all) as Record<PausePart, number>;
  }

  /** The part of the pause in which this is done. */
  async of<T>(part: PausePart, work: () => Promise<T>): Promise<T> {
    const since = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#parts.set(part, this.#clock.monotonic() - Math.max(since, this.#began));
    }
  }
}
