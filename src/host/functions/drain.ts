import { MillraceError } from '../../base/errors.ts';

/** The worker is given ten seconds between being told to end and its end; what is in hand gets most of them. */
const GRACE_MS = 8_000;

/** Knows what is in hand, so that a function app can end without leaving a batch half done. */
export class Drain {
  readonly #graceMs: number;
  readonly #ending = new AbortController();
  readonly #inHand = new Set<Promise<unknown>>();
  #closed = false;

  constructor(graceMs = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** @throws MillraceError `shutting-down` once `end` was called: the host gives the work to another instance */
  async run<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
    if (this.#closed)
      throw new MillraceError('shutting-down', 'The function app is shutting down', { retryable: true });
    const running = work(this.#ending.signal);
    this.#inHand.add(running);
    try {
      return await running;
    } finally {
      this.#inHand.delete(running);
    }
  }

  /** Takes nothing more, waits for what is in hand, and aborts what takes too long. */
  async end(): Promise<void> {
    this.#closed = true;
    const patience = setTimeout(
      () => this.#ending.abort(new DOMException('The function app is shutting down', 'AbortError')),
      this.#graceMs,
    );
    await Promise.allSettled(this.#inHand);
    clearTimeout(patience);
  }
}
