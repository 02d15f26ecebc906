// `archive restore --into CONTAINER`.
import type { Container } from '@azure/cosmos';
import { sharedError } from '../../base/shared-errors.ts';
import type { Archive } from '../../archive/types.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { wholeOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { tenantRuleOf } from '../../pipeline/tenant.ts';
import { Views } from '../../engine/views/views.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { assertSideContainer } from '../migrate/side-container.ts';
import { operationsError } from '../errors.ts';

/**
 * Whether archived documents may be copied into a container.
 * @throws UsageError `not-found`, `container-unfit`, `input-invalid`, `container-missing`; `input-invalid` if archives of two containers are chosen, whose documents might have the same key and id
 */
export async function assertInto(
  into: string,
  archives: readonly Pick<Archive, 'spec'>[],
  { pipeline, model }: Loaded,
  { place, global }: Services,
): Promise<void> {
  const [own = '', ...others] = new Set(archives.map(({ spec }) => spec.from.container));
  if (others.length > 0) {
    throw operationsError(
      'input-invalid',
      `--into ${into}: the archives have documents of ${[own, ...others].join(', ')}`,
      {
        hint: `Name one archive: ${archives.map(({ spec }) => spec.name).join(', ')}.`,
      },
    );
  }
  const user = usedBy(wholeOf(pipeline)).includes(into) ? pipeline.name : await builtBy(into, global.state);
  if (user !== undefined)
    throw operationsError('input-invalid', `${into} is a container that pipeline ${user} reads or writes`, {
      hint: 'Name a container that nothing in the pipeline uses. Leave out `--into` to restore documents to their own container.',
    });
  assertSideContainer(into, own, model);
  if (tenantRuleOf(pipeline, model, own) && !tenantRuleOf(pipeline, model, into)) {
    const what = `The documents of ${own} belong to tenants, and in the model those of ${into} don't`;
    throw sharedError('not-found', what, {
      hint: 'Give the container an example with the tenant’s field in the data model, so that an erasure looks there.',
    });
  }
  const container = placeDatabase(pipeline, { place, global }).container(into);
  await withRetry(() => container.read(), { reads: true }).catch(throwMissing(container));
}

/** The archive of a shard, with the containers of the global place beside those of the shard. */
export const writingInto = (
  archive: Archive,
  { loaded, services }: { loaded: Loaded; services: Services },
): Archive => ({
  ...archive,
  access: (fence) =>
    new CosmosAccess(placeDatabase(loaded.pipeline, services), fence, archive.feed.meter ?? new Meter()),
});

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/** The containers that a pipeline declares as sources and as sinks. */
const usedBy = (pipeline: Pipeline): string[] => [
  ...pipeline.sources.map(({ container }) => container),
  ...feedReaders(pipeline)
    .flatMap((spec) => [...sourcesOf(spec), ...('into' in spec ? [spec.into] : [])])
    .map(({ container }) => container),
  ...pipeline.ingests.map(({ into }) => into.container),
];

/** The pipeline of the state container whose stored versions read or write a container: also earlier ones, and of others. */
async function builtBy(container: string, state: Container): Promise<string | undefined> {
  for (const name of await Views.pipelinesIn(state))
    for (const { current, staged, previous } of Object.values((await new Views(state, name).read()) ?? {}))
      for (const version of [current, staged, previous])
        if (version && [version, ...version.reads].some((of) => of.container === container)) return name;
  return undefined;
}
