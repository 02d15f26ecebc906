import type { Settings } from '../../base/settings.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import type { Pipeline } from '../../pipeline/specs.ts';

/** What the ids of all leases of a pipeline begin with, here and under Functions, which share the leases. */
export const processorName = ({ name }: Pick<Pipeline, 'name'>): string => `${name}.`;

/** What the prefix also has where a shard reads a feed of the global place for itself. `rid`: of the shard's database. */
export const apartOf = (rid: string): string => `at-${rid}.`;

/**
 * The prefix of the lease ids of one container, which it names: KEDA's scaler tells leases apart by nothing else (ASM-F30).
 * `@` is for versions of projections. Where triggers read all-versions feeds, these have a prefix of their own: no document
 * says that the Functions host continues from the positions of such leases that another host wrote.
 */
export const leaseNameOf = (
  pipeline: Pick<Pipeline, 'name' | 'sources'>,
  container: string,
  { triggerAllVersions }: Pick<Settings, 'triggerAllVersions'>,
): string => {
  const name = `${processorName(pipeline)}${container.replaceAll('@', '-')}.`;
  return triggerAllVersions && feedModeOf(pipeline, container) === 'all-versions' ? `${name}all-versions.` : name;
};
