import { until } from '../../base/until.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Services } from '../../runtime/workspace.ts';

/** How long a hub may take to answer, milliseconds. */
const PATIENCE_MS = 5_000;

/** The ingests that don't read on, because their positions are of an earlier hub. Of one that doesn't answer nothing is said. */
export async function misfitHubs({ ingests }: Pick<Pipeline, 'ingests'>, { hubs }: Pick<Services, 'hubs'>) {
  const each = ingests.map(async ({ from: hub, consumerGroup: group }) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const fault = await until(hubs.positions(hub, group).assertFit(), signal).catch((error: unknown) => error);
    const isMisfit = fault instanceof MillraceError && fault.code === 'position-unusable';
    return isMisfit ? [{ hub, group, why: `${fault.message}. ${fault.hint ?? ''}` }] : [];
  });
  return (await Promise.all(each)).flat();
}
