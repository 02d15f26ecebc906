import { systemClock } from '../base/clock.ts';
import { mapSettled } from '../base/map-settled.ts';
import type { Change } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { DeadLetter, DeadLetters } from './dead-letters/dead-letters.ts';
import type { Engine } from './engine.ts';
import { LetterBodyDamaged } from './dead-letters/letter-bodies.ts';
import { letterId } from './dead-letters/letter-document.ts';
import { type ReadAgainOptions, readAgain } from './read-again.ts';

/** The result of redriving one dead letter. `superseded`: the document has a newer version, which the feed delivers. */
export interface Redriven {
  readonly projection: string;
  readonly container: string;
  readonly id: string;
  readonly outcome: 'applied' | 'deleted' | 'superseded' | 'gone' | 'refused';
  /** Why the change was refused again. */
  readonly message?: string;
}

export interface RedriveOptions extends ReadAgainOptions {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  readonly fence: () => Fence;
}

/** Why a dead letter of a tenant that is erased is not redriven. */
export const ERASED = 'The tenant of the document is erased. The erasure removes the dead letter.';

/** Dead letters whose source documents are read at the same time. */
const READS_AT_ONCE = 16;

/**
 * Redrives dead letters (DL-D11, DL-D12), by the document in its source. The parked version is applied. A newer version is
 * left to the feed. A missing document becomes a deletion just above the parked version. Versions guard every effect, and
 * a letter is removed only in the version that was read. So several redrives, and the live hosts, can run together.
 */
export async function redriveLetter(letters: readonly DeadLetter[], options: RedriveOptions): Promise<Redriven[]> {
  const results: Redriven[] = [];
  // Changes that wait behind a letter of their key are applied together with it.
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
  const tried = found.filter((one): one is Due => 'change' in one);
  const erased = await engine.erased();
  const isErased = ({ letter, change }: Due): boolean => Boolean(erased(change.tenant) ?? erased(letter.tenant));
  const due = tried.filter((one) => !isErased(one));
  const results = [
    ...found.filter((one): one is Redriven => !('change' in one)),
    ...tried.filter(isErased).map(({ letter }) => resultOf(letter, 'refused', ERASED)),
  ];
  if (due.length === 0) return results;
  // The letters may have changed since this process last read them.
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

/** The change to apply for a letter, or its result if there is nothing to apply. */
async function foundOf(letter: DeadLetter, options: RedriveOptions): Promise<Due | Redriven> {
  try {
    const { projection, container, key, id, version, type } = letter;
    const kept = await options.deadLetters.kept(letter);
    const change =
      kept ??
      (await readAgain({ container, key, id, version, type, isEvent: options.engine.eventsOf(projection) }, options));
    if (!change) return resultOf(letter, (await options.deadLetters.discard(letter)) ? 'superseded' : 'gone');
    return { letter, change, outcome: change.version.lsn === version.lsn ? 'applied' : 'deleted' };
  } catch (error) {
    if (error instanceof LetterBodyDamaged) return resultOf(letter, 'refused', error.message);
    throw error;
  }
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
