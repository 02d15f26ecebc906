// The all-versions-and-deletes feed begins when it is first read. A reader that starts at the beginning of a container,
// or uses the other feed, misses deletions. So each such combination is refused as early as possible.
import type { DerivedSpec, Pipeline, SourceRules } from './specs.ts';
import { sourcesOf } from './pipeline.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Containers that are read by their all-versions feed. All types of a container are read by the same feed. */
export const allVersionsContainers = (sources: readonly SourceRules[]): Set<string> =>
  new Set(sources.filter(({ feed }) => feed === 'all-versions').map(({ container }) => container));

/** The feed that a pipeline reads a container by, as leases and readers name it. */
export const feedModeOf = (
  { sources }: Pick<Pipeline, 'sources'>,
  container: string,
): 'latest-version' | 'all-versions' =>
  allVersionsContainers(sources).has(container) ? 'all-versions' : 'latest-version';

/** The first container of a projection that is read by its all-versions feed. */
export function allVersionsSource(spec: DerivedSpec, sources: readonly SourceRules[]): string | undefined {
  const containers = allVersionsContainers(sources);
  return sourcesOf(spec).find(({ container }) => containers.has(container))?.container;
}

/**
 * For the function app, whose triggers read latest versions unless the setting says otherwise.
 * @throws UsageError `all-versions-feed`
 */
export function refuseTriggers({ sources }: Pick<Pipeline, 'sources'>, read: readonly string[]): void {
  const containers = allVersionsContainers(sources);
  const container = read.find((name) => containers.has(name));
  if (container === undefined) return;
  throw sharedError(
    'all-versions-feed',
    `The pipeline reads ${container} by its all-versions feed, but the app's triggers read latest versions: hard deletes would be lost`,
    {
      hint: "Run the pipeline with `millrace run`. Or remove `feed: 'all-versions'` from `source()`, and mark deleted documents. Or set `TRIGGER_ALL_VERSIONS=on`: then triggers read this feed, by leases of their own.",
    },
  );
}
