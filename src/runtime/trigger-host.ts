import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError, UsageError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import { withRetry } from '../cosmos/retry.ts';
import { type Pipeline, projectionId } from '../definition/specs.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { sourceContainers } from '../engine/runners.ts';
import { type SourceContainer, isWanted, toChange } from '../feed/reading/mapper.ts';
import { currentEpoch, latestEpoch } from '../feed/reading/epochs.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import type { Services } from './workspace.ts';
import { Poison, type Runner } from '../projections/runner.ts';
import { CosmosSession } from '../sinks/cosmos-session.ts';
import { type DerivationOptions, derivation } from './derivation.ts';
import { currentDocuments, mayBeRewritten } from './current-documents.ts';

export interface TriggerOptions extends DerivationOptions {
  readonly clock?: Clock;
  /** Projections that must not work, and why, by `name@version` (readiness.ts). */
  readonly held?: ReadonlyMap<string, string>;
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
export function triggerConsumer({
  settings,
  services,
  loaded,
  readLagMs = 5_000,
  clock = systemClock,
  held = new Map(),
}: TriggerOptions): Consume {
  const adapt = (runner: Runner): Runner => holdBack(runner, held.get(runner.id));
  const { engine, deadLetters } = derivation({ settings, services, loaded, readLagMs, adapt });
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
    const session = new CosmosSession(services.database, fence, new Meter());
    const current = await currentDocuments(source, [...stale], session, { readLagMs, signal, clock });
    const changes = wanted
      .map((raw) => (stale.has(raw) ? current.get(raw) : raw))
      .map((raw) => (raw ? toChange(source, raw, epoch) : undefined))
      .filter((change) => change !== undefined);
    // The parked index may have been changed by another instance since the last batch.
    deadLetters.refresh();
    return engine.consume({ changes, charge: 0, readAt }, fence);
  };
}

/**
 * A projection that is held parks what it gets, so that the others go on and nothing of it is lost: once it may work
 * again a redrive applies the documents as they are then.
 */
function holdBack(runner: Runner, why: string | undefined): Runner {
  if (why === undefined) return runner;
  return {
    ...runner,
    apply: async (changes) => {
      const mend = 'Mend what is deployed (`millrace model apply --dry-run` shows it), then redrive its dead letters.';
      const error = new MillraceError('projection-held', `${runner.id} is held: ${why}`, { mend });
      throw new Poison(changes.map((change) => ({ change, error })));
    },
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
  const { resource } = await withRetry(() => database.container(container).read(), { reads: true });
  const rid = resource?._rid ?? '';
  return { rid, epoch: await currentEpoch(state, container, rid) };
}
