import { startsNow } from '../pipeline/kind-facts.ts';
import type { Container } from '@azure/cosmos';
import type { MillraceError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import { ifFound } from '../cosmos/container-missing.ts';
import { assertPlain } from '../cosmos/plain-container.ts';
import { withRetry } from '../cosmos/retry.ts';
import { ridOf } from '../cosmos/rid.ts';
import { readLeasesRid } from '../engine/views/starts.ts';
import { allVersionsContainers, feedModeOf } from '../pipeline/all-versions.ts';
import { type Pipeline, projectionId } from '../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../pipeline/pipeline.ts';
import { leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import { leaseNameOf, processorName } from './hosts/processor-name.ts';
import type { Services } from './workspace.ts';
import { existingContainers } from './existing-containers.ts';
import { runtimeError } from './errors.ts';

/** Names of the containers whose feeds the pipeline reads, each once. */
export const feedContainers = (pipeline: Pipeline): string[] => [
  ...new Set(
    feedReaders(pipeline)
      .flatMap(sourcesOf)
      .map(({ container }) => container),
  ),
];

/**
 * Refuses to start where a start would read everything again unasked:
 * - a renamed pipeline. The sign: a container that it reads has leases with positions under another name of our form, and
 *   none under this name
 * - a pipeline whose leases were lost with their container, if it runs reactions, events or code of its own again, or has
 *   missed changes. The sign: the lease container is another one than where it last ran, and has no position of it. Where
 *   everything can be derived again, the sentence that says so is returned
 *
 * Containers that don't exist are not checked.
 * A container that its clients encrypt is refused too.
 *
 * @throws UsageError `lease-prefix-renamed`, `leases-lost`, `container-unfit`
 */
export async function assertPositions(
  pipeline: Pipeline,
  { place: { endpoint, database, state }, global: { leases } }: Pick<Services, 'place' | 'global'>,
  settings: Pick<Settings, 'startAnew' | 'triggerAllVersions'>,
): Promise<string | undefined> {
  const { startAnew } = settings;
  if (startAnew === processorName(pipeline)) return undefined;
  const [homeRid, containers] = await Promise.all([ifFound(ridOf(database)), existingContainers(database)]);
  if (homeRid === undefined) return undefined;
  for (const { container } of feedReaders(pipeline).flatMap((spec) =>
    ['into' in spec ? [spec.into] : [], sourcesOf(spec)].flat(),
  ))
    assertPlain(containers.get(container));
  const named = (rid: string): string => leasePrefix('', endpoint, homeRid, rid);
  const query = {
    query: 'SELECT c.id, c.ContinuationToken FROM c WHERE CONTAINS(c.id, @database)',
    parameters: [{ name: '@database', value: named('') }],
  };
  const found = await ifFound(
    withRetry(() => leases.items.query<{ id: string; ContinuationToken?: unknown }>(query).fetchAll(), { reads: true }),
  );
  const advanced = (found?.resources ?? []).filter(({ ContinuationToken: at }) => typeof at === 'string' && at !== '');
  let known = false;
  for (const container of feedContainers(pipeline)) {
    const rid = containers.get(container)?._rid;
    if (rid === undefined) continue;
    const ours = `${named(rid)}..`;
    const names = new Set(advanced.flatMap(({ id }) => (id.includes(ours) ? [id.slice(0, id.indexOf(ours))] : [])));
    const prefix = leaseNameOf(pipeline, container, settings);
    if (names.has(prefix)) known = true;
    const other = names.has(prefix)
      ? undefined
      : [...names].find((name) => isOfPipeline(name, { container, sources: pipeline.sources }));
    if (other === undefined) continue;
    throw renamed(pipeline, container, other, prefix);
  }
  return known || !found ? undefined : lostWith(pipeline, state, leases);
}

async function lostWith(pipeline: Pipeline, state: Container, leases: Container): Promise<string | undefined> {
  const [before, now] = await Promise.all([ifFound(readLeasesRid(state, pipeline.name)), ridOf(leases)]);
  if (before === undefined || before === now) return undefined;
  const what = `The lease container ${leases.id} was made again, and the positions of ${pipeline.name} were lost with it`;
  const again = [
    ...pipeline.effects.filter((spec) => startsNow(spec) || spec.kind === 'custom'),
    ...pipeline.publishes,
  ];
  const missed = [...allVersionsContainers(pipeline.sources)];
  if (again.length + missed.length === 0)
    return `${what}. Every feed is read from the beginning again, and everything derived stays right.`;
  const harm = [
    ...(again.length > 0 ? [`run ${again.map(projectionId).join(', ')} again for every change since they began`] : []),
    ...(missed.length > 0 ? [`miss the changes of ${missed.join(', ')} since their last position`] : []),
  ];
  throw runtimeError('leases-lost', `${what}. A start would ${harm.join(', and ')}`, {
    hint: `Import positions that you have exported (\`millrace leases import FILE\`). To begin again all the same, set LEASES_START_ANEW=${processorName(pipeline)}.`,
  });
}

/** Whether live leases of a container have this name, for a pipeline of whatever name. */
const isOfPipeline = (
  name: string,
  { container, sources }: { container: string; sources: Pipeline['sources'] },
): boolean =>
  [{}, { triggerAllVersions: true as const }].some(
    (settings) => name === leaseNameOf({ name: name.slice(0, name.indexOf('.')), sources }, container, settings),
  );

function renamed(pipeline: Pipeline, container: string, other: string, prefix: string): MillraceError {
  const anew = `set LEASES_START_ANEW=${processorName(pipeline)}`;
  const moved = other.startsWith(processorName(pipeline));
  const lost =
    feedModeOf(pipeline, container) === 'all-versions'
      ? `Starting now would miss the changes of ${container} since its last position`
      : 'Starting now would read every feed from the beginning';
  return runtimeError('lease-prefix-renamed', `The lease prefix changed from "${other}" to "${prefix}". ${lost}`, {
    hint: moved
      ? `Set TRIGGER_ALL_VERSIONS as it was before. To begin now all the same, ${anew}, and run \`millrace projections verify --repair\` afterwards.`
      : `Rename the pipeline back to ${other.slice(0, other.indexOf('.'))}. If it is another pipeline, or must read everything again, ${anew}.`,
  });
}
