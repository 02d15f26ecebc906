import { messageOf } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { systemClock } from '../../base/clock.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { type ReactSpec, projectionId } from '../../pipeline/specs.ts';
import type { ErasureWatch } from '../../engine/erasures/watch.ts';
import type { Key } from '../../feed/reading/change.ts';
import { toChange } from '../../feed/reading/mapper.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { asArchived } from '../../kinds/archive/leaving.ts';
import { concerns, repeatKey, runReaction } from '../../kinds/react/react-runner.ts';
import { sourcesFor } from '../../runtime/history-pages.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';

/** A document that a reaction is to run for again. */
export interface ListedEffect {
  readonly key: Key;
  readonly id: string;
}

/**
 * `ran`; `left out`: the reaction isn't meant for the document as it is now (`when`, another type, a delete marker, another
 * tenant), or its tenant is erased; `missing`: the container doesn't have it (an archived document has to be restored
 * first); `failed`: on every attempt.
 */
export interface RanAgain extends ListedEffect {
  readonly outcome: 'ran' | 'left out' | 'missing' | 'failed';
  /** Why it failed, or was left out. */
  readonly message?: string;
}

export interface RerunOptions extends Parts {
  readonly spec: ReactSpec;
  readonly documents: readonly ListedEffect[];
  /** Which repetition it is: part of the keys. */
  readonly repeat: number;
  /** Leaves out the documents of other tenants. */
  readonly tenant?: string | undefined;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number;
  readonly signal: AbortSignal;
  readonly progress?: (done: number, of: number) => void;
}

/** Documents, or keys, that are processed at the same time. */
const AT_ONCE = 16;

/**
 * Runs a reaction again for the listed documents, each read fresh. Failures are reported, and not parked. A second run with
 * the same `repeat` uses the same keys, so after an interruption the receiver recognises what it has.
 */
export async function rerun(options: RerunOptions): Promise<RanAgain[]> {
  const { spec, documents, signal, progress } = options;
  const unit = ({ key, id }: ListedEffect): string => canonical(spec.order === 'document' ? [key, id] : key);
  const unique = new Map(documents.map((one) => [canonical([one.key, one.id]), one]));
  const results = new Map<string, RanAgain>();
  const erasures = watchErasures(options);
  await mapSettled(
    Map.groupBy(unique.values(), unit).values(),
    async (group) => {
      for (const one of group) {
        signal.throwIfAborted();
        results.set(canonical([one.key, one.id]), { ...one, ...(await runOne(one, options, erasures)) });
        progress?.(results.size, unique.size);
      }
    },
    { concurrency: AT_ONCE },
  );
  // In the order of the list.
  return [...unique.keys()].flatMap((place) => results.get(place) ?? []);
}

async function runOne(
  { key, id }: ListedEffect,
  { spec, services, loaded, repeat, tenant, signal, readLagMs = 5_000 }: RerunOptions,
  erasures: ErasureWatch | undefined,
): Promise<Omit<RanAgain, keyof ListedEffect>> {
  const { container } = spec.from;
  const source = sourcesFor(loaded, spec).get(container);
  const fence = untilStopped(signal);
  const erased = await erasures?.current();
  const access = new CosmosAccess(services.place.database, fence, new Meter());
  let [raw] = await access.read(container, key, [id]);
  if (!raw) {
    // A lagging replica may not have it yet.
    await systemClock.sleep(readLagMs, signal);
    [raw] = await access.read(container, key, [id]);
  }
  if (!raw || !source) return { outcome: 'missing' };
  // A read by key shows no lsn, and the reaction doesn't see it.
  const change = toChange(source, { ...raw, _lsn: 0 }, 0);
  if (!change) return { outcome: 'left out' };
  try {
    if (change.failed !== undefined) return failedBy(change.failed);
    if ((tenant ?? change.tenant) !== change.tenant) return { outcome: 'left out' };
    if (erased?.(change.tenant)) return { outcome: 'left out', message: 'its tenant is erased' };
    // The operator has asked for this document, restored, backfilled, moved here or not.
    const { restored: _, backfilled: __, moved, ...asked } = change;
    if (moved && change.op === 'delete') return { outcome: 'missing' };
    if (!concerns(spec, asked)) return { outcome: 'left out' };
  } catch (error) {
    return failedBy(error);
  }
  // A document that leaves for the archive is still the version that was archived.
  const etag = String(asArchived(raw)['_etag']);
  const name = repeatKey(projectionId(spec), { container, key, id, etag }, repeat);
  const failure = await runReaction(spec, change.doc ?? {}, name, fence);
  return failure ? { outcome: 'failed', message: failure.message } : { outcome: 'ran' };
}

const failedBy = (error: unknown): Pick<RanAgain, 'outcome' | 'message'> => ({
  outcome: 'failed',
  message: messageOf(error),
});
