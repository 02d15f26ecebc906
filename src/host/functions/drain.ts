import { hostError } from '../errors.ts';

/** The Functions host gives a worker ten seconds to end; the running work gets most of them. */
const GRACE_MS = 8_000;

/** Tracks the running work, so that a function app can end without leaving a batch half done. */
export class Drain {
  readonly #graceMs: number;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;

  constructor(graceMs = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** @throws MillraceError `shutting-down` after `end` was called: the Functions host gives the work to another instance */
  async run<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
    if (this.#closed) throw hostError('shutting-down', 'The function app is shutting down');
    const running = work(this.#ending.signal);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Refuses new work, waits for the running work, and aborts it if it takes too long. */
  async end(): Promise<void> {
    this.#closed = true;
    const patience = setTimeout(
      () => this.#ending.abort(new DOMException('The function app is shutting down', 'AbortError')),
      this.#graceMs,
    );
    await Promise.allSettled(this.#running);
    clearTimeout(patience);
  }
}
