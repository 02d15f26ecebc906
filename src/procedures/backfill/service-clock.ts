import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { withRetry } from '../../cosmos/retry.ts';

/**
 * The service's time, which decides when documents expire. This machine's clock counts as right until an answer of the
 * service contradicts it.
 */
export class ServiceClock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#clock.now() + this.#aheadMs;
  }

  /** Asks the service for its time (ASM-F20). The answer was made at a moment between the request and its arrival. */
  async look(state: Container, signal: AbortSignal): Promise<void> {
    const ask = async () => {
      const sent = this.#clock.now();
      const { resources } = await state.items
        .query<number>('SELECT VALUE GetCurrentTimestamp()', { partitionKey: 'backfills' })
        .fetchAll();
      return { sent, answered: this.#clock.now(), told: resources[0] };
    };
    const { sent, answered, told } = await withRetry(ask, { reads: true, signal });
    if (told === undefined) return;
    this.#aheadMs = Math.min(told - sent, Math.max(told - answered, 0));
  }
}
