import type { Settings } from '../base/settings.ts';
import { UsageError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { ridOf } from '../cosmos/rid.ts';
import type { Pipeline } from '../definition/specs.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import { processorName } from './processor-name.ts';
import type { Services } from './workspace.ts';
import { containersThere } from './containers-there.ts';

/** Containers whose feeds the pipeline reads, each once. */
export const feedContainers = (pipeline: Pipeline): string[] => [
  ...new Set(
    feedReaders(pipeline)
      .flatMap(sourcesOf)
      .map(({ container }) => container),
  ),
];

/**
 * Leases of this pipeline under another name, which a renamed pipeline leaves behind: the new name would read everything
 * from the beginning. Told by: leases of a container that we read too, whose names have our form, hold positions, and
 * ours none. Says nothing of containers that aren't there.
 * @throws UsageError `lease-prefix-renamed`
 */
export async function refuseRenamedPrefix(
  pipeline: Pipeline,
  { database, leases }: Pick<Services, 'database' | 'leases'>,
  { cosmos, startAnew }: Pick<Settings, 'cosmos' | 'startAnew'>,
): Promise<void> {
  const prefix = processorName(pipeline);
  if (startAnew === prefix) return;
  const [homeRid, containers] = await Promise.all([ifThere(() => ridOf(database)), containersThere(database)]);
  if (homeRid === undefined) return;
  const named = (rid: string): string => leasePrefix('', cosmos.endpoint, homeRid, rid);
  const query = {
    query: 'SELECT c.id, c.ContinuationToken FROM c WHERE CONTAINS(c.id, @database)',
    parameters: [{ name: '@database', value: named('') }],
  };
  const found = await ifThere(() => leases.items.query<{ id: string; ContinuationToken?: unknown }>(query).fetchAll());
  const advanced = (found?.resources ?? []).filter(({ ContinuationToken: at }) => typeof at === 'string' && at !== '');
  for (const container of feedContainers(pipeline)) {
    const rid = containers.get(container)?._rid;
    if (rid === undefined) continue;
    const ours = `${named(rid)}..`;
    const names = new Set(advanced.flatMap(({ id }) => (id.includes(ours) ? [id.slice(0, id.indexOf(ours))] : [])));
    const other = names.has(prefix) ? undefined : [...names].find((name) => /^[a-z0-9-]{1,50}\.$/.test(name));
    if (other === undefined) continue;
    throw new UsageError(
      'lease-prefix-renamed',
      `This pipeline's leases begin with ${prefix}, and those that have been at work begin with ${other}: under another prefix everything is read from the beginning`,
      {
        mend: `Give the pipeline its name ${other.slice(0, -1)} back. If it is another pipeline, or shall begin anew, set LEASES_START_ANEW=${prefix}.`,
      },
    );
  }
}

async function ifThere<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await withRetry(ask, { reads: true });
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}
