import { withoutTurns } from '../../pipeline/undeferrable.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { storedQueues } from '../../engine/deferred/stored.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { type DoctorFinding, bad, doubtful, good } from './finding.ts';
import { plural } from '../table.ts';

/** Whether floods of a tenant can be deferred, and whether anything is deferred that no host drains. */
export async function fairTurns(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  { place: { state } }: Pick<Services, 'place'>,
  signal: AbortSignal,
): Promise<DoctorFinding[]> {
  const read = sourceContainers(pipeline, model);
  const left = (await storedQueues(state, pipeline.name, signal)).filter(({ source, queues }) => {
    const drained = read.has(source) && feedModeOf(pipeline, source) === 'latest-version';
    return queues > 0 && !drained;
  });
  const findings = [
    ...left.map(({ source, queues }) =>
      bad(
        'fair turns',
        `${plural(queues, 'queue')} of changes of ${source} are deferred, and no host of this pipeline drains them`,
        `Let the pipeline read ${source} by its latest-version feed until \`millrace status\` shows nothing that is deferred. Or give the changes up with \`millrace dead-letters discard --deferred ${source}\`.`,
      ),
    ),
    ...[...withoutTurns(pipeline, model)].map(([name, why]) =>
      doubtful(
        'fair turns',
        `a flood of one tenant in ${name} delays the others, and can’t be deferred: ${why}`,
        'See "Fair turns" in docs/tenants.md.',
      ),
    ),
  ];
  return findings.length > 0 || pipeline.tenant === undefined
    ? findings
    : [good('fair turns', 'a flood of one tenant is deferred in every source of tenants')];
}
