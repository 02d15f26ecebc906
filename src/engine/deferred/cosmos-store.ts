import type { Container, JSONObject, OperationInput, OperationResponse } from '@azure/cosmos';
import { assertReadable, formatOf } from '../../base/format.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import { transact } from '../../cosmos/transact.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import type { DeferredStore, Stored, DeferredWrite } from './store.ts';

/** Another host wrote first. */
const RACES = new Set(['precondition', 'conflict', 'not-found']);

/** What the state container adds to each document of a queue. */
interface Shell {
  readonly pk: string;
  readonly type: 'millrace.deferred';
  readonly format?: number;
  readonly _etag: string;
}

/** The `pk` of what is deferred of a source container; without one the beginning of all of a pipeline. */
export const deferredPartition = (pipeline: string, source = ''): string => `deferred|${pipeline}|${source}`;

/** The queues of a pipeline for one source container, in the state container. A host without its lease sends no request (PROC-L1). */
export class CosmosDeferredStore implements DeferredStore {
  readonly #state: Container;
  readonly #pk: string;
  readonly #fence: Fence;
  readonly #meter: Meter;

  constructor(
    state: Container,
    of: { readonly pipeline: string; readonly source: string },
    fence: Fence,
    meter: Meter,
  ) {
    this.#state = state;
    this.#pk = deferredPartition(of.pipeline, of.source);
    this.#fence = fence;
    this.#meter = meter;
  }

  async read<T>(id: string): Promise<Stored<T> | undefined> {
    try {
      const [result] = await this.#transact([{ operationType: 'Read', id }], true);
      const stored = result?.resourceBody as unknown as T & Shell;
      assertReadable(stored);
      return { body: stored, etag: stored._etag };
    } catch (error) {
      if (failureOf(error).kind === 'not-found') return undefined;
      throw error;
    }
  }

  async commit(writes: readonly DeferredWrite[]): Promise<boolean> {
    try {
      await this.#transact(
        writes.map((write) => this.#operation(write)),
        false,
      );
      return true;
    } catch (error) {
      if (RACES.has(failureOf(error).kind)) return false;
      throw error;
    }
  }

  async #transact(operations: readonly OperationInput[], reads: boolean): Promise<readonly OperationResponse[]> {
    const fenced = { signal: this.#fence.signal, before: () => this.#fence.assert() };
    const results = await transact(this.#state, this.#pk, () => operations, { reads, meter: this.#meter, ...fenced });
    const charge = results.reduce((sum, { requestCharge }) => sum + requestCharge, 0);
    this.#meter.count(charge, reads ? 0 : operations.length);
    return results;
  }

  #operation(write: DeferredWrite): OperationInput {
    if (write.kind === 'remove') {
      // The service accepts a condition on a delete; only the SDK's type lacks it.
      const conditional: OperationInput & { ifMatch: string } = {
        operationType: 'Delete',
        id: write.id,
        ifMatch: write.ifMatch,
      };
      return conditional;
    }
    const { _etag: _, ...body } = write.body as Partial<Shell>;
    const document = { ...body, pk: this.#pk, type: 'millrace.deferred', ...formatOf('deferred') };
    const resourceBody = document as unknown as JSONObject & { id: string };
    if (write.kind === 'create') return { operationType: 'Create', resourceBody };
    return { operationType: 'Replace', id: write.id, resourceBody, ifMatch: write.ifMatch };
  }
}
