import type { ContainerDefinition } from '../../model/container-definitions.ts';
import { allVersionsContainers, feedModeOf } from '../../pipeline/all-versions.ts';
import { partOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { MODEL_CODE } from '../../model/code/write.ts';
import { containersModule } from '../../model/infra.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { leaseNameOf } from '../../runtime/hosts/processor-name.ts';
import { feedContainers } from '../../runtime/lease-positions.ts';
import { modelContainers, ownContainer } from './apply.ts';
import { operationsError } from '../errors.ts';

/** What the other files of infra/ need to know of a pipeline, Terraform's module too: which parts to deploy, and their names. */
export interface PipelineFacts {
  readonly name: string;
  readonly archives: boolean;
  /** Of each archive that declares tiers: days after which the lifecycle policy moves its blobs; 0: never. */
  readonly tiers: readonly { readonly archive: string; readonly cool: number; readonly cold: number }[];
  /** The account must have the all-versions feed. */
  readonly allVersions: boolean;
  readonly eventHubs: readonly { readonly name: string; readonly consumerGroups: readonly string[] }[];
  /** The feeds that hosts read, with what the ids of their leases begin with. */
  readonly feeds: readonly { readonly container: string; readonly leasePrefix: string; readonly mode: string }[];
  /** Why at least one host must always run: what KEDA's scaler doesn't see (ASM-F30). */
  readonly awake: readonly string[];
  readonly leases: { readonly container: string };
  /** `resource` is what the resource manager takes. Without `throughput` it shares that of the database. */
  readonly containers: readonly ContainerFacts[];
  /** Of a pipeline over shards: those of each shard's database. */
  readonly shardContainers?: readonly ContainerFacts[];
  readonly roles: readonly RoleFacts[];
}

interface ContainerFacts {
  readonly resource: Omit<ContainerDefinition, 'throughput' | 'changeFeedPolicy'>;
  readonly throughput?: ContainerDefinition['throughput'];
}

interface RoleFacts {
  readonly identity: 'app' | 'applier' | 'router';
  readonly on: 'database' | 'resourceGroup' | 'storage' | 'eventHubs';
  readonly role: string;
  /** Of the built-in role; on a database it is one of Cosmos DB's own. */
  readonly id: string;
}

export interface OutputFile {
  readonly file: string;
  readonly text: string;
}

interface Names {
  readonly leases: string;
  readonly state: string;
}

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/** The files, with paths relative to the folder of main.bicep. */
export async function filesOf(loaded: Loaded, names: Names): Promise<OutputFile[]> {
  const { all, ofShard } = containersOf(loaded, names);
  return [
    { file: 'modules/containers.bicep', text: containersModule(MODEL_CODE, all) },
    ...(ofShard
      ? [{ file: 'modules/shard-containers.bicep', text: containersModule(`${MODEL_CODE}, a shard`, ofShard) }]
      : []),
    { file: 'pipeline.json', text: `${JSON.stringify(factsOf(loaded, names), undefined, 2)}\n` },
  ];
}

function containersOf({ pipeline, model }: Loaded, { leases, state }: Names) {
  const own = ownContainer('state', state);
  const all = [...modelContainers({ pipeline, model }), ownContainer('leases', leases), own];
  const twice = all.find(({ id }, at) => all.findIndex((of) => of.id === id) !== at);
  if (twice) {
    throw operationsError(
      'container-reserved',
      `The model has a container ${twice.id}, but Millrace uses that name for its own documents`,
      {
        hint: 'Give Millrace another container with --leases or --state, and the same name in LEASES_CONTAINER or STATE_CONTAINER.',
      },
    );
  }
  const ofShard = pipeline.shards && [...modelContainers({ pipeline: partOf(pipeline, model, 'shard'), model }), own];
  return { all, ofShard };
}

/** @throws UsageError `container-reserved` */
export function factsOf(loaded: Loaded, names: Names): PipelineFacts {
  const { pipeline } = loaded;
  const { all, ofShard } = containersOf(loaded, names);
  const { name, archives, publishes, ingests, sources } = pipeline;
  const allVersions = [...allVersionsContainers(sources)];
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
    archives: archives.length > 0,
    tiers: archives.flatMap(({ name: archive, tiers }) => (tiers ? [{ archive, ...tiers }] : [])),
    allVersions: allVersions.length > 0,
    eventHubs: [...hubs].map(([hub, groups]) => ({ name: hub, consumerGroups: [...groups] })),
    feeds: feedContainers(pipeline).map((container) => ({
      container,
      leasePrefix: leaseNameOf(pipeline, container, {}),
      mode: feedModeOf(pipeline, container),
    })),
    awake: [
      ...allVersions.map((container) => `${container} is read by all versions`),
      ...ingests.map(({ from }) => `hub ${from} is read`),
      ...(pipeline.shards ? ['feeds of shards are read'] : []),
    ],
    leases: { container: names.leases },
    containers: all.map(containerFacts),
    ...(ofShard && { shardContainers: ofShard.map(containerFacts) }),
    roles: rolesOf(pipeline),
  };
}

// The resource manager knows no change feed policy (ASM-F19).
function containerFacts({ throughput, ...definition }: ContainerDefinition): ContainerFacts {
  const { changeFeedPolicy: _, ...resource } = definition;
  return { resource, ...(throughput && { throughput }) };
}

/** What the modules of infra/ assign; test/infra holds them against it. */
function rolesOf({ archives, publishes, ingests }: Pipeline): RoleFacts[] {
  const hubs = publishes.length + ingests.length > 0;
  const roles = [
    ['app', 'database', 'Cosmos DB Built-in Data Contributor', '00000000-0000-0000-0000-000000000002', true],
    ['router', 'database', 'Cosmos DB Built-in Data Reader', '00000000-0000-0000-0000-000000000001', true],
    ['applier', 'resourceGroup', 'Cosmos DB Operator', '230815da-be43-4aae-9cb4-875f7bd000aa', true],
    [
      'app',
      'storage',
      'Storage Blob Data Contributor',
      'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
      hubs || archives.length > 0,
    ],
    ['app', 'eventHubs', 'Azure Event Hubs Data Sender', '2b629674-e913-4c01-ae53-ef4638d8f975', hubs],
    ['app', 'eventHubs', 'Azure Event Hubs Data Receiver', 'a638d3c7-ab3a-418d-83e6-5f17a39d4fde', hubs],
  ] as const;
  return roles.flatMap(([identity, on, role, id, needed]) => (needed ? [{ identity, on, role, id }] : []));
}
