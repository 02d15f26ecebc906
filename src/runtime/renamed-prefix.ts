import type { MillraceError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { ridOf } from '../cosmos/rid.ts';
import { feedModeOf } from '../pipeline/all-versions.ts';
import type { Pipeline } from '../pipeline/specs.ts';
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
 * Refuses to start a renamed pipeline, which would read everything from the beginning. The sign: a container that the
 * pipeline reads has leases with positions under another name of our form, and none under this name. Containers that don't
 * exist are not checked.
 * @throws UsageError `lease-prefix-renamed`
 */
export async function refuseRenamedPrefix(
  pipeline: Pipeline,
  { place: { endpoint, database }, global: { leases } }: Pick<Services, 'place' | 'global'>,
  settings: Pick<Settings, 'startAnew' | 'triggerAllVersions'>,
): Promise<void> {
  const { startAnew } = settings;
  if (startAnew === processorName(pipeline)) return;
  const [homeRid, containers] = await Promise.all([ifFound(() => ridOf(database)), existingContainers(database)]);
  if (homeRid === undefined) return;
  const named = (rid: string): string => leasePrefix('', endpoint, homeRid, rid);
  const query = {
    query: 'SELECT c.id, c.ContinuationToken FROM c WHERE CONTAINS(c.id, @database)',
    parameters: [{ name: '@database', value: named('') }],
  };
  const found = await ifFound(() => leases.items.query<{ id: string; ContinuationToken?: unknown }>(query).fetchAll());
  const advanced = (found?.resources ?? []).filter(({ ContinuationToken: at }) => typeof at === 'string' && at !== '');
  for (const container of feedContainers(pipeline)) {
    const rid = containers.get(container)?._rid;
    if (rid === undefined) continue;
    const ours = `${named(rid)}..`;
    const names = new Set(advanced.flatMap(({ id }) => (id.includes(ours) ? [id.slice(0, id.indexOf(ours))] : [])));
    const prefix = leaseNameOf(pipeline, container, settings);
    const other = names.has(prefix) ? undefined : [...names].find((name) => OF_PIPELINES.test(name));
    if (other === undefined) continue;
    throw renamed(pipeline, container, other, prefix);
  }
}

const OF_PIPELINES = /^[a-z0-9-]{1,50}\.(?:all-versions\.)?$/;

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

async function ifFound<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await withRetry(ask, { reads: true });
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}
