import type { Container } from '@azure/cosmos';
import { digest } from '../../base/json.ts';
import { formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Input } from './input.ts';

/** How far an input is loaded. */
export interface Progress {
  /** Number of the last item that is durable or in the rejects file: the next run resumes after it. */
  readonly at: number;
  readonly loaded: number;
  readonly rejected: number;
}

const NOTHING: Progress = { at: 0, loaded: 0, rejected: 0 };

/** Stores in the state container how far an input is loaded, so that a restart loads nothing again. */
export class Marker {
  readonly #state: Container;
  readonly #key: string;
  readonly #name: string;

  constructor(state: Container, input: Input) {
    this.#state = state;
    this.#name = input.name;
    this.#key = `input|${digest(input.identity)}`;
  }

  async read(): Promise<Progress> {
    const stored = await readItem<Progress>(this.#state.item(this.#key, this.#key));
    return stored ? { at: stored.at, loaded: stored.loaded, rejected: stored.rejected } : NOTHING;
  }

  /** Call it only after everything up to `progress.at` is durable. */
  async write(progress: Progress): Promise<void> {
    const document = {
      id: this.#key,
      pk: this.#key,
      type: 'millrace.input',
      ...formatOf('input'),
      name: this.#name,
      ...progress,
    };
    // Only one process loads, and the same write twice is harmless: an ambiguous outcome is retried without a read.
    await withRetry(() => this.#state.items.upsert(document), { reads: true });
  }
}
