import { until } from '../../base/until.ts';
import type { LeaseSession } from './lease-session.ts';
import type { RangeMemory } from './range-memory.ts';
import type { Window, WindowOptions } from './window.ts';

/**
 * Tells a tenure's lease how far its windows are acknowledged. Only the last window counts (L3): what is acknowledged of
 * an earlier one is delivered again. `onPage` is called when a page is acknowledged to its end.
 */
export class Checkpointing {
  readonly #session: LeaseSession;
  readonly #memory: RangeMemory;
  readonly #onPage: () => void;
  #last: WindowOptions['onAdvance'] | undefined;

  constructor(session: LeaseSession, memory: RangeMemory, onPage: () => void) {
    this.#session = session;
    this.#memory = memory;
    this.#onPage = onPage;
  }

  /** Of a window that is opened now: what its low watermark is told to. */
  open(): WindowOptions['onAdvance'] {
    const advance: WindowOptions['onAdvance'] = (position, pageEnd) => {
      if (this.#last !== advance) return;
      this.#memory.advanced(position);
      if (!pageEnd) return this.#session.note(position);
      this.#onPage();
      this.#session.checkpoint(position);
    };
    this.#last = advance;
    return advance;
  }

  /** A start that was found is stored before anything is handed on: a crash then repeats, and skips nothing (L4). */
  async store(position: string, signal: AbortSignal): Promise<void> {
    this.#session.checkpoint(position);
    await until(this.#session.settled(), signal);
  }

  /** Lets what runs end, begins nothing more, and stores how far that got: within `ms`, or else the tenure ends without (L7a). */
  async settle(window: Window, ms?: number): Promise<void> {
    const { signal, takenAway } = this.#session;
    await until(window.close(), AbortSignal.any([signal, takenAway]));
    if (ms !== undefined) this.#session.watch('storing and offering the lease', ms);
    await this.#session.settled();
  }
}
