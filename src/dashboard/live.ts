import { type Clock, systemClock } from '../base/clock.ts';
import { dashboardError } from './errors.ts';

/** An event of the stream as a browser gets it: its name and its data as JSON. */
export interface LiveEvent {
  readonly event: string;
  readonly data: string;
}

/** An event whose data is written when a browser gets it: thousands may be published in a second, and ten are sent. */
export interface Published {
  readonly event: string;
  readonly data: () => string;
}

export interface LiveOptions {
  /** Looks at the pipeline; it is called only while somebody reads the stream. It must not reject. */
  readonly look: () => Promise<Published>;
  /** Milliseconds between two looks. */
  readonly everyMs: number;
  /** Aborted when the dashboard stops. */
  readonly signal: AbortSignal;
  readonly clock?: Pick<Clock, 'sleep'>;
}

/** No browser gets an update sooner than this after the one before: at most ten a second, also where timers are early. */
export const UPDATE_MS = 110;
/** A sign of life, from which a page sees that it is still connected. */
const ALIVE_MS = 10_000;
/** Browsers that read at the same time. */
export const MOST_READERS = 32;

interface Reader {
  readonly pending: Set<string>;
  wake: () => void;
}

/**
 * What all browsers read. An event replaces an earlier one of its name that a browser hasn't got yet, so a slow browser
 * costs one event of each name and never falls behind. The pipeline is looked at once for all of them.
 */
export class Live {
  readonly #options: LiveOptions;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #latest = new Map<string, Published['data']>();
  readonly #readers = new Set<Reader>();
  #looking: Promise<void> | undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get readers(): number {
    return this.#readers.size;
  }

  publish({ event, data }: Published): void {
    this.#latest.set(event, data);
    for (const reader of this.#readers) {
      reader.pending.add(event);
      reader.wake();
    }
  }

  /**
   * Sends a browser the latest event of each name, and then each change, until `signal` or the dashboard ends. `send`
   * resolves when the browser has room for more.
   * @throws MillraceError `dashboard-full`, before it has sent anything
   */
  read(send: (event: LiveEvent) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (this.#readers.size >= MOST_READERS)
      throw dashboardError('dashboard-full', `${MOST_READERS} browsers read the dashboard already`);
    const reader: Reader = { pending: new Set(this.#latest.keys()), wake: () => undefined };
    this.#readers.add(reader);
    this.#look();
    return this.#serve(reader, send, AbortSignal.any([signal, this.#options.signal])).finally(() =>
      this.#readers.delete(reader),
    );
  }

  async #serve(reader: Reader, send: (event: LiveEvent) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (reader.pending.size === 0) await changed(reader, signal);
      if (signal.aborted) return;
      const [event] = reader.pending;
      if (event === undefined) await send({ event: 'alive', data: '' });
      else {
        reader.pending.delete(event);
        await send({ event, data: this.#latest.get(event)?.() ?? '' });
      }
      await this.#clock.sleep(UPDATE_MS, signal).catch(() => undefined);
    }
  }

  #look(): void {
    const { look, everyMs, signal } = this.#options;
    this.#looking ??= (async () => {
      while (this.#readers.size > 0 && !signal.aborted) {
        this.publish(await look());
        await this.#clock.sleep(everyMs, signal).catch(() => undefined);
      }
    })().finally(() => {
      this.#looking = undefined;
      // Somebody may have come while the last pause ended.
      if (this.#readers.size > 0 && !signal.aborted) this.#look();
    });
  }

  /** Resolves when no look is under way. */
  async idle(): Promise<void> {
    await this.#looking;
  }
}

/** Resolves at the next change, after `ALIVE_MS`, or when the signal is aborted. */
async function changed(reader: Reader, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  reader.wake = resolve;
  const timer = setTimeout(resolve, ALIVE_MS);
  const aborted = (): void => resolve();
  signal.addEventListener('abort', aborted);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', aborted);
  reader.wake = () => undefined;
}
