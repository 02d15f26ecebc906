import type { RangePosition } from '../reading/position.ts';
import { ChangeFeedEstimator } from './change-feed-estimator.ts';
import { checkOptions } from './check-options.ts';
import type { AllVersionsOptions, AnyOptions, ChangeFeedProcessorOptions } from './processor-options.ts';
import { type ProcessorStatus, ProcessorRun } from './run.ts';

/**
 * Reads a container's change feed together with other hosts, at least once and in order, and hands it to a handler. `T`
 * is the type of the container's documents. docs/SPEC-processor.md numbers the guarantees; docs/processor.md shows the use.
 *
 * @example
 * await using processor = new ChangeFeedProcessor<Order>({ source, leases, name: 'mailer', instance: hostname(), handler });
 * await processor.start();
 * await processor.closed;
 */
export class ChangeFeedProcessor<T = Record<string, unknown>> implements AsyncDisposable {
  readonly #options: AnyOptions;
  #run: ProcessorRun;

  /** @throws UsageError `option-invalid` */
  constructor(options: ChangeFeedProcessorOptions<T> | AllVersionsOptions<T>) {
    // Which documents the handler expects is the caller's concern from here on.
    const given = options as unknown as AnyOptions;
    checkOptions(given);
    this.#options = given;
    this.#run = new ProcessorRun(given);
  }

  /**
   * Resolves when the processor was stopped. Rejects with `handler-halted` when its failure policy stopped it, and with the
   * error of a start that failed. After another start it is the new run's promise: read it again.
   */
  get closed(): Promise<void> {
    return this.#run.closed;
  }

  /**
   * Resolves when the leases are prepared and this host has taken its first ones. A second call while it runs is the same
   * start; after a stop or a failed start it begins again, once the run before has ended. When the signal is aborted, the
   * processor stops. If it is stopped before it has started, `start` resolves when it has stopped.
   * @throws UsageError `container-missing`, `lease-container-missing`, `multi-region-writes`, `continuation-invalid`,
   *   `handler-module-invalid`
   */
  async start({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#run.isOver) this.#run = new ProcessorRun(this.#options, this.#run.ended);
    await this.#run.start(signal);
  }

  /**
   * Lets running handlers end, stores their position, and offers the leases to the other hosts, which take them
   * immediately. It takes `timings.stopMs` at most (30 s), also where the lease container can't be reached: then the
   * handlers' signals are aborted, and the leases expire.
   */
  stop(): Promise<void> {
    return this.#run.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop().catch(() => undefined);
  }

  /**
   * Resolves once the whole feed is read to its end and acknowledged, whichever hosts have its ranges. For leases of other
   * hosts and free leases the stored positions decide. While changes keep coming it waits for a moment without any. A range
   * that no host reads keeps it waiting.
   * @throws UsageError `processor-stopped` if this processor is stopped; MillraceError `handler-halted`
   */
  drained({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.#run.drained(signal);
  }

  status(): ProcessorStatus {
    return this.#run.status();
  }

  /** The stored positions of all ranges, whichever host has them: another processor can start there. */
  checkpoint(): Promise<RangePosition[]> {
    return this.#run.checkpoint();
  }

  /** How far the leases of this name are behind, at all hosts. It reads only, and works before a start and after a stop. */
  estimator(): ChangeFeedEstimator {
    return new ChangeFeedEstimator(this.#options);
  }
}
