import { until } from '../../base/until.ts';
import type { LeaseTenure } from './lease-tenure.ts';
import type { RangeMemory } from './range-memory.ts';
import type { Window, WindowOptions } from './window.ts';

/**
 * Stores on a tenure's lease how far its windows are acknowledged. Only the last window counts (PROC-L3): changes that are
 * acknowledged in an earlier one are delivered again. `onPage` is called when a whole page is acknowledged.
 */
export class Checkpointing {
  readonly #tenure: LeaseTenure;
  readonly #memory: RangeMemory;
  readonly #onPage: () => void;
  #last: WindowOptions['onAdvance'] | undefined;

  constructor(tenure: LeaseTenure, memory: RangeMemory, onPage: () => void) {
    this.#tenure = tenure;
    this.#memory = memory;
    this.#onPage = onPage;
  }

  /** Returns the listener for the low watermark of a new window. */
  open(): WindowOptions['onAdvance'] {
    const advance: WindowOptions['onAdvance'] = (position, pageEnd) => {
      if (this.#last !== advance) return;
      this.#memory.advanced(position);
      if (!pageEnd) return this.#tenure.note(position);
      this.#onPage();
      this.#tenure.checkpoint(position);
    };
    this.#last = advance;
    return advance;
  }

  /**
   * Stores the position of a start before any change is delivered, so that a crash repeats changes but skips none
   * (PROC-L4).
   */
  async store(position: string, signal: AbortSignal): Promise<void> {
    this.#tenure.checkpoint(position);
    await until(this.#tenure.flush(), signal);
  }

  /**
   * Starts no more calls, waits for the running ones, and stores the position that they reached. If storing takes longer
   * than `ms`, the tenure ends without it (PROC-L7a).
   */
  async flush(window: Window, ms?: number): Promise<void> {
    const { signal, takenAway } = this.#tenure;
    await until(window.close(), AbortSignal.any([signal, takenAway]));
    if (ms !== undefined) this.#tenure.watch('storing and offering the lease', ms);
    await this.#tenure.flush();
  }
}
