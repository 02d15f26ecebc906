import { messageOf } from '../../base/errors.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { promote } from '../../procedures/promote/promote.ts';
import { type RebuildOptions, rebuild } from '../../procedures/rebuild/rebuild.ts';
import type { Screen } from '../../procedures/screen.ts';
import { plural } from '../../procedures/table.ts';

/**
 * Builds and promotes the projections that were added to data that is there: no live host gives them what was before
 * them. The lowest version of each name, as at a first start. A failure is named; the rest of the run goes on.
 */
export async function buildAdded(
  options: Omit<RebuildOptions, 'spec' | 'progress'>,
  screen: Pick<Screen, 'line'>,
): Promise<void> {
  const { signal } = options;
  try {
    for (const spec of await added(options)) {
      const id = projectionId(spec);
      screen.line(`${id} is new: it is built from the data that is there.`);
      const { changes } = await rebuild({ ...options, spec });
      await promote({ ...options, spec });
      screen.line(`${id} is built from ${plural(changes, 'change')}, and follows from now on.`);
    }
  } catch (error) {
    if (!signal.aborted) screen.line(`A new projection can't be built: ${messageOf(error)}`);
  }
}

async function added({
  services,
  loaded: { pipeline },
}: Pick<RebuildOptions, 'services' | 'loaded'>): Promise<ProjectionSpec[]> {
  // The host has stored them at its start: of a pipeline that never ran, all are current.
  const views = await new Views(services.global.state, pipeline.name).read();
  const lowest = new Map<string, ProjectionSpec>();
  for (const spec of pipeline.projections.toSorted((a, b) => b.version - a.version)) lowest.set(spec.name, spec);
  return views ? [...lowest.values()].filter(({ name }) => !views[name]?.current) : [];
}
