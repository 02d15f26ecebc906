import { type Clock, systemClock } from '../../base/clock.ts';
import { numberOfLetters } from '../../engine/dead-letters/dead-letter-counts.ts';
import { plural } from '../../procedures/table.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';

/** How many changes are parked in all places of a pipeline. */
export async function parkedNow(parts: Parts): Promise<number> {
  const places = await placesOf(parts).list();
  const counts = await inPlaces(places, ({ services }) => numberOfLetters(services.place.state));
  return counts.reduce((total, of) => total + of, 0);
}

export const sayParked = (parked: number): string[] =>
  parked === 0
    ? []
    : [`${plural(parked, 'change')} ${parked === 1 ? 'is' : 'are'} parked. See \`millrace dead-letters list\`.`];

export interface LettersNow {
  /** How many changes of the pipeline are parked now; undefined until they were counted. */
  now(): number | undefined;
  /** Counts a last time and ends. */
  end(): Promise<void>;
}

/**
 * Counts the dead letters of all places, of all hosts, each `everyMs`: one that was redriven or discarded is no longer
 * counted. Between two counts what this host has parked since is added. After a failed read the last count stays.
 */
export function startLettersNow(
  app: Pick<App, 'places' | 'stats'>,
  everyMs: number,
  clock: Pick<Clock, 'sleep'> = systemClock,
): LettersNow {
  const ended = new AbortController();
  const parked = (): number => app.stats().reduce((total, of) => total + of.parked, 0);
  let last: { readonly letters: number; readonly parked: number } | undefined;
  const count = async (): Promise<void> => {
    const before = parked();
    try {
      const counts = await Promise.all(app.places().map(({ place }) => numberOfLetters(place.state)));
      last = { letters: counts.reduce((total, of) => total + of, 0), parked: before };
    } catch {
      // The state container can't be read now; what runs says so, and the next count tries again.
    }
  };
  const counting = (async () => {
    while (!ended.signal.aborted) {
      await count();
      await clock.sleep(everyMs, ended.signal).catch(() => undefined);
    }
  })();
  return {
    now: () => last && last.letters + Math.max(0, parked() - last.parked),
    async end() {
      ended.abort();
      await counting;
      await count();
    },
  };
}
