// What excludes each other in the service and shows in no other check. Two more are refused: several write regions
// (ASM-A6), where the account is opened, and Always Encrypted (ASM-F31), where its containers are compared.
import { ChangeFeedStartFrom, ConsistencyLevel, type ContainerDefinition, type DatabaseAccount } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { allVersionsContainers } from '../../pipeline/all-versions.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { existingContainers } from '../../runtime/existing-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type DoctorFinding, bad, doubtful, good } from './finding.ts';

export interface CombinationFacts {
  readonly pipeline: Pipeline;
  readonly account: Pick<DatabaseAccount, 'consistencyPolicy' | 'enablePerPartitionFailover'> | undefined;
  readonly containers: ReadonlyMap<string, ContainerDefinition>;
  /** Containers of an all-versions feed whose partitions were merged once. */
  readonly merged: readonly string[];
}

const CHECK = 'combinations';

export async function combinations({ pipeline }: LoadedPipeline, { place }: Services): Promise<DoctorFinding[]> {
  const { database } = place;
  const [{ resource: account }, containers, merged] = await Promise.all([
    withRetry(() => database.client.getDatabaseAccount(), { reads: true }),
    existingContainers(database),
    Promise.all(
      [...allVersionsContainers(pipeline.sources)].map(async (name) => ((await wasMerged(name)) ? [name] : [])),
    ),
  ]);
  const found = sayCombinations({ pipeline, account, containers, merged: merged.flat() });
  return found.length > 0 ? found : [good(CHECK, 'nothing in use excludes something else')];

  /** A start from a time is refused once partitions were merged (ASM-A7). */
  async function wasMerged(name: string): Promise<boolean> {
    const feed = database.container(name).items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date()),
      maxItemCount: 1,
    });
    return withRetry(() => feed.readNext(), { reads: true }).then(
      () => false,
      (error: unknown) => failureOf(error).status === 400,
    );
  }
}

export function sayCombinations({ pipeline, account, containers, merged }: CombinationFacts): DoctorFinding[] {
  const found = merged.map((name) =>
    bad(
      CHECK,
      `${name} is read by its all-versions feed, and its partitions were merged once: the service can’t read both together`,
      'Move the data to an account that has never merged, by a restore or a copy (azure-cosmos-dotnet-v3#5707).',
    ),
  );
  if (account?.enablePerPartitionFailover && account.consistencyPolicy !== ConsistencyLevel.Strong)
    found.push(
      doubtful(
        CHECK,
        'the account fails over single partitions, and its consistency is not strong: after a failover the feed may leave out changes',
        'Run `millrace projections verify --repair` after one, or take strong consistency (azure-cosmos-dotnet-v3#5376).',
      ),
    );
  for (const spec of feedReaders(pipeline)) {
    const id = projectionId(spec);
    if ('into' in spec && isIndex(containers.get(spec.into.container)))
      found.push(
        bad(
          CHECK,
          `${id} writes into ${spec.into.container}, a global secondary index, which only the service writes`,
          'Take the projection out of the pipeline, or name a container of its own.',
        ),
      );
    for (const { container } of sourcesOf(spec)) {
      const definition = containers.get(container);
      if (isIndex(definition))
        found.push(
          doubtful(
            CHECK,
            `${id} reads ${container}, a global secondary index: no page says what its feed shows`,
            'Read the container that the index is made from.',
          ),
        );
      if (['react', 'publish', 'send', 'custom'].includes(spec.kind) && isEmbedded(definition))
        found.push(
          doubtful(
            CHECK,
            `${id} acts on each change of ${container}, into which the service writes vectors: each document comes twice`,
            'Name the vector in `ignore` of `source()`, or state the container’s vector policy in model.ts: then it is no change.',
          ),
        );
    }
  }
  return found;
}

/** Its name in the service is the one that it had in preview. */
const isIndex = (container: ContainerDefinition | undefined): boolean =>
  container !== undefined && 'materializedViewDefinition' in container;

const isEmbedded = (container: ContainerDefinition | undefined): boolean =>
  container?.vectorEmbeddingPolicy?.vectorEmbeddings.some((one) => 'embeddingSource' in one) === true;
