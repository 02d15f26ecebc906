import { failureOf } from '../../cosmos/failure.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { audited } from '../journal/runs.ts';
import type { Context } from '../context.ts';
import type { LeaseInventory } from '../leases/groups.ts';

/** With a record of it; without one where there is neither a pipeline nor a state container to keep it. */
export async function recorded<T>(
  context: Pick<Context, 'workspace' | 'actor' | 'screen' | 'signal'>,
  inventory: Pick<LeaseInventory, 'hasPipeline'>,
  verb: string,
  given: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  if (inventory.hasPipeline || (await hasState(context))) return audited(context, verb, given, work);
  context.screen.line('Millrace kept no record of this, because there is no state container.');
  return work();
}

async function hasState({ workspace, signal }: Pick<Context, 'workspace' | 'signal'>): Promise<boolean> {
  const { state } = (await workspace.services()).global;
  try {
    await ridOf(state, signal);
    return true;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return false;
    throw error;
  }
}
