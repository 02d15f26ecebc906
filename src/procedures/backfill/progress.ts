import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** How far a container's feed is backfilled; a document of the state container. */
interface ProgressDocument {
  /** The container. */
  readonly id: string;
  readonly pk: 'backfills';
  readonly type: 'millrace.backfill';
  readonly holder: string;
  readonly task: Task;
  /** Positions before which no document lacks a value that could be found. */
  readonly positions: readonly RangePosition[];
  /** Documents written until then. A process that died may have written more. */
  readonly written: number;
}

/** What is backfilled. Another task begins at the beginning of the feed. */
export interface Task {
  /** The container's `_rid`, and its epoch: positions have no meaning in another one. */
  readonly rid: string;
  readonly epoch: number;
  /** The options that decide which documents get which values. */
  readonly given: Readonly<Record<string, unknown>>;
}

const PK = 'backfills';

/** The stored progress of one backfill. Each write depends on the ETag of the one before. */
export class BackfillProgress {
  readonly #state: Container;
  #stored: ProgressDocument;
  #etag: string;

  private constructor(state: Container, stored: ProgressDocument, etag: string) {
    this.#state = state;
    this.#stored = stored;
    this.#etag = etag;
  }

  /** Continues what is stored for the same task, or begins. `holder`: unique for each run. */
  static async begin(state: Container, container: string, task: Task, holder: string): Promise<BackfillProgress> {
    for (;;) {
      const known = await readItem<ProgressDocument>(state.item(container, PK));
      const same = known && canonical(known.task) === canonical(task);
      const { positions, written } = same ? known : { positions: [], written: 0 };
      const body = { id: container, pk: PK, type: 'millrace.backfill', ...formatOf('backfill') } as const;
      const next: ProgressDocument = { ...body, holder, task, positions, written };
      const etag = await put(state, next, known?._etag);
      if (etag !== undefined) return new BackfillProgress(state, next, etag);
    }
  }

  get positions(): readonly RangePosition[] {
    return this.#stored.positions;
  }

  get written(): number {
    return this.#stored.written;
  }

  /** @throws MillraceError `overtaken` if another run has taken over */
  async save(positions: readonly RangePosition[], written: number): Promise<void> {
    const next = { ...this.#stored, positions: [...positions], written };
    const etag = (await put(this.#state, next, this.#etag)) ?? (await this.#landed(next));
    this.#stored = next;
    this.#etag = etag;
  }

  /** Forgets the positions: the next run begins at the beginning. */
  async end(): Promise<void> {
    const { id } = this.#stored;
    const accessCondition = { type: 'IfMatch', condition: this.#etag };
    await withRetry(() => this.#state.item(id, PK).delete({ accessCondition }), { reads: true }).catch(
      (error: unknown) => {
        // Another run may have taken over and begun its own.
        if (!['not-found', 'precondition'].includes(failureOf(error).kind)) throw error;
      },
    );
  }

  /** The answer to a write may have been lost (ASM-A5). */
  async #landed(next: ProgressDocument): Promise<string> {
    const found = await readItem<ProgressDocument>(this.#state.item(next.id, PK));
    if (found?.holder === next.holder && canonical(found.positions) === canonical(next.positions)) return found._etag;
    if (found?.holder === next.holder) {
      const etag = await put(this.#state, next, found._etag);
      if (etag !== undefined) return etag;
    }
    throw sharedError('overtaken', `Another process has taken over the backfill of ${next.id}`);
  }
}

/** The new ETag; undefined: the condition failed, or the outcome is unknown. */
async function put(state: Container, next: ProgressDocument, etag: string | undefined): Promise<string | undefined> {
  const write = async (): Promise<string> => {
    if (etag === undefined) return (await state.items.create(next)).etag;
    const accessCondition = { type: 'IfMatch', condition: etag };
    return (await state.item(next.id, PK).replace<ProgressDocument>(next, { accessCondition })).etag;
  };
  try {
    return await withRetry(write, { reads: false });
  } catch (error) {
    const { kind } = failureOf(error);
    if (error instanceof AmbiguousOutcome || kind === 'precondition' || kind === 'conflict') return undefined;
    // A document that was read is gone; a create finds no container.
    if (kind === 'not-found' && etag !== undefined) return undefined;
    throw error;
  }
}
