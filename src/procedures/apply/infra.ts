import { allVersionsContainers } from '../../pipeline/all-versions.ts';
import { partOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { MODEL_CODE } from '../../model/code/write.ts';
import { containersModule } from '../../model/infra.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { processorName } from '../../runtime/hosts/processor-name.ts';
import { modelContainers, ownContainer } from './apply.ts';
import { operationsError } from '../errors.ts';

/** What the other files of infra/ need to know of a pipeline: which parts to deploy, and their names. */
export interface PipelineFacts {
  readonly name: string;
  /** The ids of its leases start with this. */
  readonly leasePrefix: string;
  readonly archives: boolean;
  /** Of each archive that declares tiers: days after which the lifecycle policy moves its blobs; 0: never. */
  readonly tiers: readonly { readonly archive: string; readonly cool: number; readonly cold: number }[];
  /** The account must have the all-versions feed. */
  readonly allVersions: boolean;
  readonly eventHubs: readonly { readonly name: string; readonly consumerGroups: readonly string[] }[];
}

export interface OutputFile {
  readonly file: string;
  readonly text: string;
}

/** The files, with paths relative to the folder of main.bicep. */
export async function filesOf(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  { leases, state }: { leases: string; state: string },
): Promise<OutputFile[]> {
  const containers = [
    ...modelContainers({ pipeline, model }),
    ownContainer('leases', leases),
    ownContainer('state', state),
  ];
  const twice = containers.find(({ id }, at) => containers.findIndex((of) => of.id === id) !== at);
  if (twice) {
    throw operationsError(
      'container-reserved',
      `The model has a container ${twice.id}, but Millrace uses that name for its own documents`,
      {
        hint: 'Give Millrace another container with --leases or --state, and the same name in LEASES_CONTAINER or STATE_CONTAINER.',
      },
    );
  }
  const ofShard = pipeline.shards && [
    ...modelContainers({ pipeline: partOf(pipeline, model, 'shard'), model }),
    ownContainer('state', state),
  ];
  return [
    { file: 'modules/containers.bicep', text: containersModule(MODEL_CODE, containers) },
    ...(ofShard
      ? [{ file: 'modules/shard-containers.bicep', text: containersModule(`${MODEL_CODE}, a shard`, ofShard) }]
      : []),
    { file: 'pipeline.json', text: `${JSON.stringify(factsOf(pipeline), undefined, 2)}\n` },
  ];
}

function factsOf(pipeline: Pipeline): PipelineFacts {
  const { name, archives, publishes, ingests } = pipeline;
  const hubs = new Map<string, Set<string>>();
  for (const { to } of publishes) hubs.set(to, hubs.get(to) ?? new Set());
  for (const { from, consumerGroup } of ingests) {
    const groups = hubs.get(from) ?? new Set();
    // `$Default` always exists, and can't be deployed.
    if (consumerGroup !== '$Default') groups.add(consumerGroup);
    hubs.set(from, groups);
  }
  return {
    name,
    leasePrefix: processorName(pipeline),
    archives: archives.length > 0,
    tiers: archives.flatMap(({ name: archive, tiers }) => (tiers ? [{ archive, ...tiers }] : [])),
    allVersions: allVersionsContainers(pipeline.sources).size > 0,
    eventHubs: [...hubs].map(([hub, groups]) => ({ name: hub, consumerGroups: [...groups] })),
  };
}
