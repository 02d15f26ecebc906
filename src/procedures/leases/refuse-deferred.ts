import { registeredOf } from '../../engine/deferred/registered.ts';
import { operationsError } from '../errors.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';

/**
 * Positions of a container mean nothing to others while changes before them are deferred: only this pipeline's hosts would
 * apply those (TEN-F22). Positions that come from outside, or go back, are no loss: what is deferred stays in its queues.
 * @throws UsageError `leases-deferred`
 */
export async function assertNothingDeferred(
  containers: Iterable<string>,
  { workspace, signal }: Pick<Context, 'workspace' | 'signal'>,
): Promise<void> {
  const own = new Set(containers);
  // Leases of others need no pipeline.
  if (own.size === 0) return;
  const { state } = (await workspace.services()).place;
  const { pipeline } = await workspace.pipeline();
  for (const container of own) {
    const { size } = await registeredOf(state, { pipeline: pipeline.name, source: container }, signal).tenants();
    if (size > 0)
      throw operationsError(
        'leases-deferred',
        `Changes of ${container} are deferred for ${plural(size, 'tenant')}, and the leases have passed them`,
      );
  }
}
