// The all-versions-and-deletes feed begins when it is first read. A reader that starts at the beginning of a container,
// or uses the other feed, misses deletions. So each such combination is refused as early as possible.
import { type DerivedSpec, type Finding, type Pipeline, type SourceRules, projectionId } from './specs.ts';
import { sourcesOf } from './pipeline.ts';
import { definitionError } from './errors.ts';

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

/** Declarations of a pipeline that can't work with this feed. */
export function allVersionsFindings({ sources, projections }: Pipeline): Finding[] {
  return [...Map.groupBy(projections, ({ name }) => name)].flatMap(([name, versions]) =>
    versions.length < 2 ? [] : unbuildable(name, versions, sources),
  );
}

function unbuildable(name: string, versions: readonly DerivedSpec[], sources: readonly SourceRules[]): Finding[] {
  const container = versions.map((spec) => allVersionsSource(spec, sources)).find((found) => found !== undefined);
  if (container === undefined) return [];
  return [
    {
      code: 'versions-all-versions',
      severity: 'warning',
      message: `Projection ${name} is declared in ${versions.length} versions and reads ${container} by its all-versions feed: another version of it can't be built`,
      hint: 'Keep one version, or give the new one another name: it begins with the changes after its deployment.',
    },
  ];
}

/**
 * For operations that give a projection the history of its sources.
 * @throws UsageError `history-all-versions`
 */
export function refuseHistory(spec: DerivedSpec, { sources }: Pick<Pipeline, 'sources'>, what: string): void {
  const container = allVersionsSource(spec, sources);
  if (container === undefined) return;
  throw definitionError(
    'history-all-versions',
    `${projectionId(spec)} can't be ${what}: it reads ${container} by its all-versions feed, which has no beginning; the latest-version feed would leave deleted documents in the sink`,
    {
      hint: `Run \`millrace projections verify ${spec.name} --repair\`: it corrects the sink from the source documents.`,
    },
  );
}

/**
 * For the function app, whose triggers read latest versions unless a preview of the service is allowed.
 * @throws UsageError `trigger-all-versions`
 */
export function refuseTriggers({ sources }: Pick<Pipeline, 'sources'>, read: readonly string[]): void {
  const containers = allVersionsContainers(sources);
  const container = read.find((name) => containers.has(name));
  if (container === undefined) return;
  throw definitionError(
    'trigger-all-versions',
    `The pipeline reads ${container} by its all-versions feed, but the app's triggers read latest versions: hard deletes would be lost`,
  );
}
