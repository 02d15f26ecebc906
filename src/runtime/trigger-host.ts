import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError, UsageError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import { spendingOf } from '../cosmos/spending.ts';
import { ridOf } from '../cosmos/rid.ts';
import { type Pipeline, projectionId } from '../definition/specs.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { sourceContainers } from '../engine/runners.ts';
import { type SourceContainer, isWanted, toChange } from '../feed/reading/mapper.ts';
import { currentEpoch, latestEpoch } from '../feed/reading/epochs.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import type { Services } from './workspace.ts';
import { CosmosSession } from '../sinks/cosmos-session.ts';
import { type EngineParts, READ_LAG_MS, openEngine } from './open-engine.ts';
import { currentDocuments, mayBeRewritten } from './current-documents.ts';

export interface TriggerOptions extends EngineParts {
  readonly clock?: Clock;
}

export interface Batch {
  readonly container: string;
  /** As the host delivers them, dates rewritten. */
  readonly documents: readonly Record<string, unknown>[];
  /** True: the host tries again with what it read at an unknown time. */
  readonly again: boolean;
  readonly signal: AbortSignal;
}

export type Consume = (batch: Batch) => Promise<{ applied: number; parked: number }>;

/**
 * Takes what a Cosmos DB trigger delivers to the engine: a page without a position, under a fence that can't fence,
 * since both belong to the host. Rejects for infrastructure alone, so that the host delivers the batch again.
 */
export function triggerConsumer(options: TriggerOptions): Consume {
  const { services, loaded, readLagMs = READ_LAG_MS, clock = systemClock, held = new Map() } = options;
  const { database } = services;
  const { engine } = openEngine(options, 'live');
  const sources = sourceContainers(loaded.pipeline, loaded.model);
  const generations = new Map<string, Promise<Generation>>();

  /** Looked up for each batch (1 RU): the host doesn't tell when it gets a lease, which others may have moved back. */
  const epochOf = async ({ name }: SourceContainer): Promise<number> => {
    const first = generations.get(name) ?? readGeneration(services, name);
    generations.set(name, first);
    // Not remembered when it failed: the next batch asks again.
    first.catch(() => generations.delete(name));
    const { rid, epoch } = await first;
    return latestEpoch(services.state, name, rid, epoch);
  };

  return async ({ container, documents, again, signal }) => {
    const source = sources.get(container);
    if (!source)
      throw new UsageError('source-unknown', `No projection reads ${container}`, {
        mend: 'Deploy the pipeline that this function app was indexed with.',
      });
    refuseWhereAllHeld(container, loaded.pipeline, held);
    const epoch = await epochOf(source);
    const readAt = clock.monotonic();
    const fence = whileFresh(readAt, signal, { clock });
    const wanted = documents.filter((raw) => isWanted(source, raw));
    // A batch that the host tries again may be older than the write bound allows (R0), and rewritten dates aren't
    // what was written: both are read anew.
    const stale = new Set(wanted.filter((raw) => again || mayBeRewritten(raw)));
    const session = new CosmosSession(database, fence, new Meter(), spendingOf(database, 'live'));
    const current = await currentDocuments(source, [...stale], session, { readLagMs, signal, clock });
    const changes = wanted
      .map((raw) => (stale.has(raw) ? current.get(raw) : raw))
      .map((raw) => (raw ? toChange(source, raw, epoch) : undefined))
      .filter((change) => change !== undefined);
    return engine.consume({ changes, charge: 0, readAt }, fence);
  };
}

/** Where nobody could apply anything, the host's lease stays where it is, and nothing has to be parked. */
function refuseWhereAllHeld(container: string, pipeline: Pipeline, held: ReadonlyMap<string, string>): void {
  const readers = feedReaders(pipeline)
    .filter((spec) => sourcesOf(spec).some((source) => source.container === container))
    .map(projectionId);
  if (readers.some((id) => !held.has(id))) return;
  throw new MillraceError(
    'projections-held',
    `The feed of ${container} waits: ${readers.map((id) => `${id} is held: ${held.get(id) ?? ''}`).join('; ')}`,
    { retryable: true, mend: 'Mend what is deployed: `millrace model apply --dry-run` shows it.' },
  );
}

interface Generation {
  readonly rid: string;
  readonly epoch: number;
}

async function readGeneration({ database, state }: Services, container: string): Promise<Generation> {
  const rid = await ridOf(database.container(container));
  return { rid, epoch: await currentEpoch(state, container, rid) };
}
