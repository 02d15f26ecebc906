import type { Container } from '@azure/cosmos';
import { digest } from '../../base/json.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Input } from './input.ts';

/** How far an input was loaded. */
export interface Progress {
  /** Number of the last item that is durable (or in the rejects file): the next run goes on after it. */
  readonly at: number;
  readonly loaded: number;
  readonly rejected: number;
}

const NOTHING: Progress = { at: 0, loaded: 0, rejected: 0 };

/** Remembers in the state container how far an input was loaded, so that a restart loads nothing again. */
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
    const { resource } = await withRetry(() => this.#state.item(this.#key, this.#key).read<Progress>(), {
      reads: true,
    });
    return resource ? { at: resource.at, loaded: resource.loaded, rejected: resource.rejected } : NOTHING;
  }

  /** Only after everything up to `progress.at` is durable. */
  async write(progress: Progress): Promise<void> {
    const document = { id: this.#key, pk: this.#key, type: 'millrace.input', name: this.#name, ...progress };
    // One process loads, and the same again is harmless: an unknown outcome is simply written once more.
    await withRetry(() => this.#state.items.upsert(document), { reads: true });
  }
}
