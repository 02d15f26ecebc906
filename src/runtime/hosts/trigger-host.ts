import { type Clock, systemClock } from '../../base/clock.ts';
import { isObject } from '../../base/json.ts';
import { inSpan } from '../../base/telemetry/spans.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { type SourceContainer, isWanted, toChange } from '../../feed/reading/mapper.ts';
import { currentEpoch, latestEpoch } from '../../feed/reading/epochs.ts';
import { whileFresh } from '../../feed/tenure/fences.ts';
import type { Place } from '../workspace.ts';
import { placeDatabase, sourcePlace } from '../place-containers.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { deliveredVersions } from '../delivered-versions.ts';
import { type EngineParts, READ_LAG_MS, openEngine, openStarts } from '../open-engine.ts';
import { currentDocuments, mayBeRewritten, withStoredIdentity } from '../current-documents.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { runtimeError } from '../errors.ts';

export interface TriggerOptions extends EngineParts {
  readonly clock?: Clock;
}

export interface Batch {
  readonly container: string;
  /**
   * From the Functions host, which has rewritten dates: documents, or of an all-versions feed its entries
   * `{ current, metadata }`.
   */
  readonly documents: readonly object[];
  /** True: the Functions host retries a batch that it read at an unknown time. */
  readonly again: boolean;
  readonly signal: AbortSignal;
}

export type Consume = (batch: Batch) => Promise<{ applied: number; parked: number }>;

/**
 * Passes the batches of a Cosmos DB trigger to the engine, as pages without a position. The lease belongs to the Functions
 * host, so the fence only checks the time. Rejects only for infrastructure, so that the host delivers the batch again.
 */
export function triggerConsumer(options: TriggerOptions): Consume {
  const { services, loaded, readLagMs = READ_LAG_MS, clock = systemClock, held = new Map() } = options;
  const database = placeDatabase(loaded.pipeline, services);
  const { engine, starts } = openEngine(options, 'live');
  const sources = sourceContainers(loaded.pipeline, loaded.model);
  const generations = new Map<string, Promise<Generation>>();

  /** Read for each batch (1 RU): the Functions host doesn't report a new lease, and someone may have rewound the leases. */
  const epochOf = async ({ name }: SourceContainer): Promise<number> => {
    const place = sourcePlace(loaded.pipeline, services, name);
    const first = generations.get(name) ?? readGeneration(place, name);
    generations.set(name, first);
    // A failure is not cached: the next batch asks again.
    first.catch(() => generations.delete(name));
    const { rid, epoch } = await first;
    return latestEpoch(place.state, name, rid, epoch);
  };

  const consume: Consume = async ({ container, documents, again, signal }) => {
    const source = sources.get(container);
    if (!source)
      throw sharedError('not-found', `No projection reads ${container}`, {
        hint: 'Deploy the pipeline that this function app was indexed with.',
      });
    refuseWhereAllHeld(container, loaded.pipeline, held);
    // Before a batch is looked at: with no other host, this is the moment at which a projection begins that begins now.
    await starts.recorded();
    const epoch = await epochOf(source);
    const readAt = clock.monotonic();
    const fence = whileFresh(readAt, signal, { clock });
    const access = new CosmosAccess(database, fence, new Meter(), spendingOf(database, 'live'));
    const reading = { readLagMs, signal, clock };
    const stored = (delivered: readonly Record<string, unknown>[]) =>
      currentDocuments(source, delivered, access, reading);
    if (feedModeOf(loaded.pipeline, container) === 'all-versions') {
      const identified = (delivered: readonly Record<string, unknown>[]) =>
        withStoredIdentity(source, delivered, access, reading);
      const changes = await deliveredVersions(source, documents, {
        epoch,
        again,
        now: clock.now(),
        stored,
        identified,
      });
      return engine.consume({ changes, charge: 0, readAt }, fence);
    }
    const wanted = documents.filter(isObject).filter((raw) => isWanted(source, raw));
    // A retried batch may be older than the write bound allows (PROC-L13), and rewritten dates differ from the stored
    // ones: both are read from the container.
    const stale = new Set(wanted.filter((raw) => again || mayBeRewritten(raw)));
    const current = await stored([...stale]);
    const changes = wanted
      .map((raw) => (stale.has(raw) ? current.get(raw) : raw))
      .map((raw) => (raw ? toChange(source, raw, epoch) : undefined))
      .filter((change) => change !== undefined);
    return engine.consume({ changes, charge: 0, readAt }, fence);
  };
  return (batch) =>
    inSpan(
      () => ({
        name: 'millrace.page',
        kind: 'consumer',
        attributes: { 'millrace.container': batch.container, 'millrace.changes': batch.documents.length },
      }),
      () => consume(batch),
    );
}

/** Records where the projections begin, if no host has. Without it the first batch does, and passes over what it holds. */
export async function recordStarts({ services, loaded }: Pick<EngineParts, 'services' | 'loaded'>): Promise<void> {
  await openStarts(services, loaded.pipeline, services.global.leases).recorded();
}

/** If all readers are held, the batch is rejected: the lease of the Functions host stays where it is, and nothing is parked. */
function refuseWhereAllHeld(container: string, pipeline: Pipeline, held: ReadonlyMap<string, string>): void {
  const readers = feedReaders(pipeline)
    .filter((spec) => sourcesOf(spec).some((source) => source.container === container))
    .map(projectionId);
  if (readers.some((id) => !held.has(id))) return;
  throw runtimeError(
    'projections-held',
    `The feed of ${container} waits: ${readers.map((id) => `${id} is held: ${held.get(id) ?? ''}`).join('; ')}`,
  );
}

interface Generation {
  readonly rid: string;
  readonly epoch: number;
}

async function readGeneration({ database, state }: Place, container: string): Promise<Generation> {
  const rid = await ridOf(database.container(container));
  return { rid, epoch: await currentEpoch(state, container, rid) };
}
