import { systemClock } from '../base/clock.ts';
import { mapSettled } from '../base/map-settled.ts';
import { type SourceContainer, toChange } from '../feed/reading/mapper.ts';
import type { Change } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { ColdRead } from '../projections/archive/cold-read.ts';
import type { SinkSession } from '../sinks/session.ts';
import type { DeadLetter, DeadLetters } from './dead-letters/dead-letters.ts';
import type { Engine } from './engine.ts';
import { LetterBodyDamaged } from './dead-letters/letter-bodies.ts';
import { letterId } from './dead-letters/letter-document.ts';

/** What came of redriving one letter: what `superseded` names has a newer version, which the feed brings. */
export interface Redriven {
  readonly projection: string;
  readonly container: string;
  readonly id: string;
  readonly outcome: 'applied' | 'deleted' | 'superseded' | 'gone' | 'refused';
  /** Why it was refused again. */
  readonly message?: string;
}

export interface RedriveOptions {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  readonly sources: ReadonlyMap<string, SourceContainer>;
  readonly session: SinkSession;
  /** Finds a document that has left its container. */
  readonly cold: ColdRead;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  readonly fence: () => Fence;
}

/** Letters whose sources are asked at a time. */
const READS_AT_ONCE = 16;

type Found = { readonly kind: 'change' | 'deletion'; readonly change: Change } | { readonly kind: 'superseded' };

/**
 * Tries letters again (R9). The source decides: the parked version is applied; a newer one means that the feed brings it;
 * a document that is gone becomes a deletion just above the parked version. Every effect is guarded by versions and every
 * letter is removed as it was read, so several redrivers, and the live hosts, do each other no harm.
 */
export async function redrive(letters: readonly DeadLetter[], options: RedriveOptions): Promise<Redriven[]> {
  const results: Redriven[] = [];
  // Where a projection keeps the order of a key, what waits behind a letter is applied with it: it is no work of its own.
  const own = letters.filter(({ waits }) => !waits);
  for (const [projection, some] of Map.groupBy(own, (letter) => letter.projection)) {
    options.signal.throwIfAborted();
    results.push(...(await redriveSome(projection, some, options)));
  }
  return results;
}

async function redriveSome(
  projection: string,
  letters: readonly DeadLetter[],
  options: RedriveOptions,
): Promise<Redriven[]> {
  const { engine, deadLetters, fence } = options;
  const found = await mapSettled(letters, (letter) => foundOf(letter, options), { concurrency: READS_AT_ONCE });
  const due = found.filter((one): one is Due => 'change' in one);
  const results = found.filter((one): one is Redriven => !('change' in one));
  if (due.length === 0) return results;
  // As this process last read them, the letters may be others by now.
  deadLetters.refresh();
  const changes = due
    .map(({ change }) => change)
    .toSorted((a, b) => a.version.epoch - b.version.epoch || a.version.lsn - b.version.lsn);
  await engine.consume({ changes, charge: 0, readAt: systemClock.monotonic() }, fence(), { only: projection });
  const left = await deadLetters.reasons(
    projection,
    due.map(({ letter }) => letter),
  );
  for (const { letter, outcome } of due) {
    const reason = left.get(letterId(letter));
    results.push(reason === undefined ? resultOf(letter, outcome) : resultOf(letter, 'refused', reason));
  }
  return results;
}

interface Due {
  readonly letter: DeadLetter;
  readonly change: Change;
  readonly outcome: 'applied' | 'deleted';
}

/** What is to be tried of a letter, or what became of it already. */
async function foundOf(letter: DeadLetter, options: RedriveOptions): Promise<Due | Redriven> {
  try {
    const found = await currentOf(letter, options);
    if (found.kind === 'superseded')
      return resultOf(letter, (await options.deadLetters.discard(letter)) ? 'superseded' : 'gone');
    return { letter, change: found.change, outcome: found.kind === 'change' ? 'applied' : 'deleted' };
  } catch (error) {
    if (error instanceof LetterBodyDamaged) return resultOf(letter, 'refused', error.message);
    throw error;
  }
}

/** The change that a letter stands for, as its source has it now. */
async function currentOf(letter: DeadLetter, options: RedriveOptions): Promise<Found> {
  const { deadLetters, sources, session, cold, readLagMs, signal } = options;
  const kept = await deadLetters.kept(letter);
  if (kept) return { kind: 'change', change: kept };
  const { container, key, id, version, type } = letter;
  const asParked = (raw: Record<string, unknown>): Found | undefined => {
    const source = sources.get(container);
    const change = source && toChange(source, { ...raw, _lsn: version.lsn }, version.epoch);
    return change && { kind: 'change', change };
  };
  // What a lagging replica shows is not to be believed until the lag has passed.
  for (const settled of [false, true]) {
    const [raw] = await session.read(container, key, [id]);
    if (raw?._etag === version.etag) return asParked(raw) ?? { kind: 'superseded' };
    const archived = raw === undefined ? await cold({ container, key, id, version }, session) : undefined;
    if (archived) return asParked({ ...archived, id }) ?? { kind: 'superseded' };
    if (settled && raw) return { kind: 'superseded' };
    if (!settled) await systemClock.sleep(readLagMs, signal);
  }
  const above = { epoch: version.epoch, lsn: version.lsn + 0.5, etag: `${version.etag} gone` };
  return {
    kind: 'deletion',
    change: { container, type, key, id, version: above, at: systemClock.now(), op: 'delete' },
  };
}

const resultOf = (
  { projection, container, id }: DeadLetter,
  outcome: Redriven['outcome'],
  message?: string,
): Redriven => ({
  projection,
  container,
  id,
  outcome,
  ...(message === undefined ? {} : { message }),
});
