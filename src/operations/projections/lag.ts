import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { lsnOf, overlaps } from '../../feed/reading/position.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import type { Screen } from '../screen.ts';

export interface PassedOptions extends Parts {
  readonly containers: readonly string[];
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

const POLL_MS = 100;
/** After this the comparison continues, even if the hosts are still behind. */
const PATIENCE_MS = 120_000;

/**
 * Waits until the live hosts have passed the present end of the feeds of some containers. False: no host owns a lease of
 * these containers.
 */
export async function untilPassed(options: PassedOptions): Promise<boolean> {
  const { containers, readLagMs, signal, screen } = options;
  let live = false;
  for (const name of containers) {
    const { source, leases } = await openFeed(options, name, { host: 'verify' });
    const ends = await Promise.all(
      (await leases.ranges()).map(async (range) => ({ range, end: lsnOf(await source.resolve(range, 'now', signal)) })),
    );
    for (const since = systemClock.monotonic(); systemClock.monotonic() - since < PATIENCE_MS;) {
      const listed = await leases.list();
      if (!listed.some(({ owner }) => owner !== null)) break;
      live = true;
      const behind = listed.filter(({ range, position }) =>
        ends.some((of) => overlaps(of.range, range) && (position === undefined || lsnOf(position) < of.end)),
      );
      if (behind.length === 0) break;
      screen.progress(`waiting for the hosts on ${name}`, listed.length - behind.length, listed.length);
      await delay(POLL_MS, undefined, { signal });
    }
  }
  if (live) await delay(readLagMs, undefined, { signal });
  return live;
}
