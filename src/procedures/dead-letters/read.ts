import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';

/** @throws UsageError `container-missing` if there is no state container yet */
export async function readDeadLetters({ place: { state } }: Services): Promise<DeadLetter[]> {
  return new DeadLetters(state).list().catch(throwMissing(state));
}
