import type { Settings } from '../../base/settings.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import type { Pipeline } from '../../pipeline/specs.ts';

/** The prefix of a pipeline's lease ids, here and under Functions, which share the leases. */
export const processorName = ({ name }: Pick<Pipeline, 'name'>): string => `${name}.`;

/** What the prefix also has where a shard reads a feed of the global place for itself. `rid`: of the shard's database. */
export const apartOf = (rid: string): string => `at-${rid}.`;

/**
 * The prefix of the lease ids of one container. Where triggers read all-versions feeds, these have a prefix of their own:
 * no document says that the Functions host continues from the positions of such leases that another host wrote.
 */
export const leaseNameOf = (
  pipeline: Pick<Pipeline, 'name' | 'sources'>,
  container: string,
  { triggerAllVersions }: Pick<Settings, 'triggerAllVersions'>,
): string =>
  triggerAllVersions && feedModeOf(pipeline, container) === 'all-versions'
    ? `${processorName(pipeline)}all-versions.`
    : processorName(pipeline);
