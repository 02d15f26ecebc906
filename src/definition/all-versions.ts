// The all-versions-and-deletes feed begins where it is first read. Whatever reads a container from its beginning, or by
// another feed, misses its deletions, so each such combination is refused where it is first asked for.
import { UsageError } from '../base/errors.ts';
import { error, ref } from './declaration.ts';
import { type DerivedSpec, type Finding, type Pipeline, type SourceRules, projectionId } from './specs.ts';
import { sourcesOf } from './pipeline.ts';

/** Containers that are read by their all-versions feed; a container has one feed, whichever of its types are read. */
export const allVersionsContainers = (sources: readonly SourceRules[]): Set<string> =>
  new Set(sources.filter(({ feed }) => feed === 'all-versions').map(({ container }) => container));

/** The feed that a pipeline reads a container by, as leases and readers name it. */
export const feedModeOf = (
  { sources }: Pick<Pipeline, 'sources'>,
  container: string,
): 'latest-version' | 'all-versions' =>
  allVersionsContainers(sources).has(container) ? 'all-versions' : 'latest-version';

/** The first container of a projection that is read so. */
export function allVersionsSource(spec: DerivedSpec, sources: readonly SourceRules[]): string | undefined {
  const containers = allVersionsContainers(sources);
  return sourcesOf(spec).find(({ container }) => containers.has(container))?.container;
}

/** What of a pipeline can't work with the feed. */
export function allVersionsFindings({ sources, archives, projections }: Pipeline): Finding[] {
  const containers = allVersionsContainers(sources);
  return [
    ...archives
      .filter(({ from }) => containers.has(from.container))
      .map(({ name, from }) =>
        error(
          'archive-all-versions',
          `Archive ${name} takes ${ref(from)}, and ${from.container} is read by its all-versions feed: what a sweep removes would count as deleted, and be lost to its history`,
          "Leave the archive out, or take feed: 'all-versions' out of source() and mark deleted documents.",
        ),
      ),
    ...[...Map.groupBy(projections, ({ name }) => name)].flatMap(([name, versions]) =>
      versions.length < 2 ? [] : unbuildable(name, versions, sources),
    ),
  ];
}

function unbuildable(name: string, versions: readonly DerivedSpec[], sources: readonly SourceRules[]): Finding[] {
  const container = versions.map((spec) => allVersionsSource(spec, sources)).find((found) => found !== undefined);
  if (container === undefined) return [];
  return [
    {
      code: 'versions-all-versions',
      severity: 'warning',
      message: `Projection ${name} is declared in ${versions.length} versions and reads ${container} by its all-versions feed: no other version of it can be built`,
      mend: 'Keep one version, or give the next one a name of its own: it begins with what changes from then on.',
    },
  ];
}

/**
 * For what gives a projection the history of its sources.
 * @throws UsageError `history-all-versions`
 */
export function refuseHistory(spec: DerivedSpec, { sources }: Pick<Pipeline, 'sources'>, what: string): void {
  const container = allVersionsSource(spec, sources);
  if (container === undefined) return;
  throw new UsageError(
    'history-all-versions',
    `${projectionId(spec)} can't be ${what}: it reads ${container} by its all-versions feed, which has no beginning, and by the latest-version feed deleted documents would stay`,
    {
      mend: `\`millrace projections verify ${spec.name} --repair\` puts right what differs from the documents there are.`,
    },
  );
}

/**
 * For the function app: the Cosmos DB trigger reads latest versions.
 * @throws UsageError `trigger-all-versions`
 */
export function refuseTriggers({ sources }: Pick<Pipeline, 'sources'>, read: readonly string[]): void {
  const containers = allVersionsContainers(sources);
  const container = read.find((name) => containers.has(name));
  if (container === undefined) return;
  throw new UsageError(
    'trigger-all-versions',
    `The pipeline reads ${container} by its all-versions feed, and the app's triggers read latest versions: hard deletes would be lost`,
    { mend: "Run it by `millrace run`, or take feed: 'all-versions' out of source() and mark deleted documents." },
  );
}
