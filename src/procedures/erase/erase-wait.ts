import type { Container } from '@azure/cosmos';
import type { ErasureRecord } from '../../engine/erasures/record.ts';
import { type LongOperation, type PassOptions, untilQuiet } from '../../engine/erasures/stop.ts';
import { readRunning } from '../running.ts';

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
  ({ state, ...options }: WaitOptions) =>
  (signal: AbortSignal): Promise<void> =>
    untilQuiet({ ...options, signal, running: () => writing(state, signal) });

/**
 * The first wait of an erasure: resolves when no process applies a change of the tenant that it read before the record
 * (ERASE-S7). A record that is not `stopping` any more has been waited for.
 */
export const stopped =
  (options: WaitOptions) =>
  async ({ state }: ErasureRecord, signal: AbortSignal): Promise<void> => {
    if (state === 'stopping') await passed(options)(signal);
  };

/** Also those that look dead: clocks differ. The note of a dead one expires after three minutes. */
async function writing(state: Container, signal: AbortSignal): Promise<LongOperation[]> {
  const running = await readRunning(state, signal, -Infinity);
  return running
    .filter(({ verb }) => !NOT_WAITED_FOR.has(verb))
    .map(({ id, verb, actor, since }) => ({ id, what: `${verb} of ${actor} since ${since}` }));
}
