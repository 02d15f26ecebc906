import type { Container } from '@azure/cosmos';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import type { ErasureRecord } from '../../engine/erasures/record.ts';
import { type LongOperation, type PassOptions, untilQuiet } from '../../engine/erasures/stop.ts';
import { GONE_MS, readRunning } from '../journal/runs.ts';

export interface WaitOptions extends Omit<PassOptions, 'running' | 'signal'> {
  readonly state: Container;
}

/** They write no document, or are the caller. */
const NOT_WAITED_FOR = new Set([
  'archive verify',
  'projections verify',
  'tenants list',
  'tenants export',
  'tenants erase',
]);

/** Resolves when no process acts any more on what it read before this call (ERASE-S8). */
export const passed =
  (options: WaitOptions) =>
  (signal: AbortSignal): Promise<void> =>
    untilQuiet({ ...options, signal, running: () => writing(options, signal) });

/**
 * The first wait of an erasure: resolves when no process applies a change of the tenant that it read before the record
 * (ERASE-S7). A record that is not `stopping` any more has been waited for.
 */
export const stopped =
  (options: WaitOptions) =>
  async ({ state }: ErasureRecord, signal: AbortSignal): Promise<void> => {
    if (state === 'stopping') await passed(options)(signal);
  };

/** Also those that look dead, for three minutes and what clocks differ. */
async function writing({ state, clock }: WaitOptions, signal: AbortSignal): Promise<LongOperation[]> {
  const running = await readRunning(state, signal, clock.now(), 2 * GONE_MS + CLOCK_SKEW_MS);
  return running
    .filter(({ verb }) => !NOT_WAITED_FOR.has(verb))
    .map(({ id, verb, actor, at }) => ({ id, what: `${verb} of ${actor} since ${at}` }));
}
