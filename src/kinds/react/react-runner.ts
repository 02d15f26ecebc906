import { systemClock } from '../../base/clock.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Doc, type ReactSpec, projectionId } from '../../pipeline/specs.ts';
import type { Change, Identity } from '../../feed/reading/change.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { type EffectClaim, type EffectRecords, claimOf } from '../effects/records.ts';
import { Poison, type Refusal, type Runner, evaluate } from '../runner.ts';
import { projectionsError } from '../errors.ts';
import { progressOf, tracked } from './once.ts';

export interface ReactRunnerOptions {
  /** Where others write into the documents, and their writes come back as changes. */
  readonly records?: EffectRecords | undefined;
  /** First pause between two attempts, milliseconds; each later pause is twice as long. */
  readonly pauseMs?: number;
}

/** Documents, or keys, that are processed at the same time. */
const AT_ONCE = 16;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/** Runs the user's code for changes, at least once each (docs/SPEC-reactions.md). */
export function reactRunner(spec: ReactSpec, { records, pauseMs = FIRST_PAUSE_MS }: ReactRunnerOptions = {}): Runner {
  const id = projectionId(spec);
  /** Changes of the current page that are done: after a refused change, the engine passes the others again. */
  const done = new WeakSet<Change>();

  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    const meant = evaluate(changes, (change) => ({ change, runs: !done.has(change) && concerns(spec, change) }))
      .filter(({ runs }) => runs)
      .map(({ change }) => change);
    const groups = Map.groupBy(meant, ({ container, key, id: document }) =>
      canonical([container, key, ...(spec.order === 'document' ? [document] : [])]),
    );
    const refusals: Refusal[] = [];
    await mapSettled(
      groups.values(),
      async (group) => {
        for (const change of group) {
          const claim = claimOf(change);
          const error = await runReaction(spec, change.doc ?? {}, effectKey(id, change), access.fence, {
            pauseMs,
            claim,
          });
          if (error) refusals.push({ change, error });
          // By key, later changes wait for a refused one. By document, a newer version takes its place.
          if (error && spec.order === 'partitionKey') return;
          if (error) continue;
          done.add(change);
          await claim?.finish();
        }
      },
      { concurrency: AT_ONCE },
    );
    if (refusals.length > 0) throw new Poison(refusals);
  };

  const isEvent = (change: Change): boolean => isMeant(spec, change);
  const runner: Runner = { id, order: spec.order, sources: [spec.from], isEvent, apply };
  return records ? records.guard(runner, (change) => concerns(spec, change)) : runner;
}

/** Runs a reaction with its attempts. Returns the error of the last one. */
export async function runReaction(
  spec: ReactSpec,
  doc: Doc,
  key: string,
  fence: Fence,
  { pauseMs = FIRST_PAUSE_MS, claim }: { pauseMs?: number; claim?: EffectClaim | undefined } = {},
): Promise<MillraceError | undefined> {
  const progress = progressOf(spec, claim);
  for (let attempt = 1; ; attempt++) {
    fence.assert();
    const timeout = AbortSignal.timeout(spec.timeoutMs);
    const signal = AbortSignal.any([fence.signal, timeout]);
    try {
      await within(spec.run(doc, tracked({ key, attempt, signal }, progress)), signal);
      return undefined;
    } catch (cause) {
      // The lease is lost: the next owner processes the change, also if this attempt had an effect.
      fence.signal.throwIfAborted();
      const isUnknown = cause instanceof MillraceError && cause.code === 'effect-unfinished';
      if (attempt >= spec.attempts || isUnknown) return refusal(spec, cause, timeout.aborted);
      const pause = Math.min(LONGEST_PAUSE_MS, pauseMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      await systemClock.sleep(pause, fence.signal);
    }
  }
}

type Written = Pick<Change, 'restored' | 'backfilled' | 'moved'>;

/** False for backfills and moves to another shard; and for moves to and from the archive, unless the reaction asks for them. */
const isMeant = (spec: ReactSpec, { restored, backfilled, moved }: Written): boolean =>
  backfilled !== true && moved !== true && (restored !== true || spec.restored);

/** False also for deletions, unless the reaction asks for them, and for documents that it leaves out. */
export function concerns(spec: ReactSpec, change: Pick<Change, 'op' | 'doc'> & Written): boolean {
  const { op, doc } = change;
  if (!isMeant(spec, change)) return false;
  if (doc === undefined || (op === 'delete' && spec.onDelete === 'remove')) return false;
  return spec.when?.(doc) ?? true;
}

/**
 * `container/key/id/etag/lsn/projection`, each part URI-encoded: ASCII, so that it can stand in an HTTP header. Without the
 * epoch: a change that is delivered again in a later one is the same change (MOVE-V31).
 */
export const effectKey = (projection: string, { container, key, id, version }: Change): string =>
  keyOf([container, JSON.stringify(key), id, version.etag, version.lsn, projection]);

/**
 * `container/key/id/etag/again-n/projection`: the same for every attempt at the `n`-th repetition for one version of a
 * document, and different from the key of the change and of every other repetition.
 */
export const repeatKey = (
  projection: string,
  { container, key, id, etag }: Identity & { readonly etag: string },
  repeat: number,
): string => keyOf([container, JSON.stringify(key), id, etag, `again-${repeat}`, projection]);

const keyOf = (parts: readonly (string | number)[]): string =>
  parts.map((part) => encodeURIComponent(String(part).toWellFormed())).join('/');

/** Does not wait for code that ignores its signal. */
function within(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([running, promise]).finally(() => signal.removeEventListener('abort', abort));
}

function refusal({ attempts, timeoutMs }: ReactSpec, cause: unknown, late: boolean): MillraceError {
  if (cause instanceof MillraceError) return cause;
  const why = late ? `it did not end within ${timeoutMs} ms` : messageOf(cause);
  return projectionsError('reaction-failed', `The reaction failed ${attempts} times: ${why}`, { cause });
}
