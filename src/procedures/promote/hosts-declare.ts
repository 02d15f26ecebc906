import { projectionId } from '../../pipeline/specs.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { SILENT_MS, readHostStatuses } from '../status/host-status.ts';

/**
 * Refuses to make a version current that a live host doesn't declare, because that host would hold all that the version reads,
 * for other projections too (REB-V4). A function app reports nothing of itself.
 * @throws UsageError `wrong-state`
 */
export async function assertHostsDeclare(
  services: Services,
  { pipeline: { name } }: Pick<LoadedPipeline, 'pipeline'>,
  of: Parameters<typeof projectionId>[0],
  signal: AbortSignal,
): Promise<void> {
  const id = projectionId(of);
  const behind = (await readHostStatuses(services, signal)).find(
    ({ at, pipeline, projections }) =>
      pipeline === name &&
      Date.now() - Date.parse(at) < SILENT_MS &&
      !projections.some(({ projection }) => projection === id),
  );
  if (!behind) return;
  throw sharedError(
    'wrong-state',
    `Host ${behind.id} runs a pipeline that does not declare ${id}: it would stand still`,
    {
      hint: `Deploy the code that declares ${id} to it, or stop it. A host that died is forgotten ${SILENT_MS / 1_000} s after its last report, which was at ${behind.at}.`,
    },
  );
}
