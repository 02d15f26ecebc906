import type { Services } from '../../runtime/workspace.ts';
import { listCheckpoints } from '../checkpoints/store.ts';
import type { LeaseInventory } from '../leases/groups.ts';
import type { RecoveryFinding } from './finding.ts';

/**
 * Saved positions mean nothing in another container, and may stand for other changes in one that lost changes. The raised
 * epoch makes the latter unusable (REC-C1), also where no change was lost: nothing shows that.
 */
export async function findCheckpoints(
  { sources }: LeaseInventory,
  services: Services,
  signal: AbortSignal,
): Promise<RecoveryFinding[]> {
  const found: RecoveryFinding[] = [];
  for (const { id, sets } of await listCheckpoints(services, signal))
    for (const { container, rid, epoch } of sets) {
      const monitored = sources.get(container)?.monitored;
      if (!monitored) continue;
      const about = `checkpoint ${id}`;
      const hint = `Give a time in its place, and delete it: \`millrace checkpoints delete ${id} --yes\`.`;
      if (monitored.rid !== rid)
        found.push({
          about,
          what: `its positions are of an earlier container ${container}, and are refused`,
          remedy: 'recover',
          hint,
        });
      else if (epoch === undefined)
        found.push({
          about,
          what: `no epoch of ${container} was stored when it was saved, so it is not refused afterwards`,
          remedy: 'unknown',
          hint,
        });
      else
        found.push({
          about,
          what: `${container} may use its positions again for other changes. They are refused after the recovery`,
          remedy: 'recover',
          hint,
        });
    }
  return found;
}
