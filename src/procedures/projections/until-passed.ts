import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { registeredOf } from '../../engine/deferred/registered.ts';
import { lsnOf, overlaps } from '../../feed/reading/position.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import type { Screen } from '../screen.ts';
import { projectionReadersOf } from './over-shards.ts';
import type { DeferredBy } from '../verify/unjudged.ts';

export interface PassedOptions extends Parts {
  readonly containers: readonly string[];
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  /** Default two minutes. */
  readonly patienceMs?: number | undefined;
}

export interface Passed {
  /** `behind`: the hosts have not passed the ends within two minutes. `none`: no host owns a lease of these containers. */
  readonly hosts: 'passed' | 'behind' | 'none';
  /** What was still deferred then, of what they had passed. */
  readonly deferred: DeferredBy;
}

const POLL_MS = 100;
/** After this the comparison ends, and says that the hosts are behind. */
const PATIENCE_MS = 120_000;

/** Waits until the live hosts have passed the present end of the feeds of some containers. */
export async function untilPassed(options: PassedOptions): Promise<Passed> {
  const { services, loaded, containers, readLagMs, signal, screen, patienceMs = PATIENCE_MS } = options;
  let live = false;
  let passed = true;
  const read = await Promise.all(
    containers.map(async (name) => (await projectionReadersOf(loaded, services, name)).map((at) => ({ name, at }))),
  );
  for (const { name, at } of read.flat()) {
    const { source, leases } = await openFeed({ ...options, ...at }, name, { host: 'verify' });
    const ends = await Promise.all(
      (await leases.ranges()).map(async (range) => ({ range, end: lsnOf(await source.resolve(range, 'now', signal)) })),
    );
    for (const since = systemClock.monotonic(); ;) {
      const listed = await leases.list();
      if (!listed.some(({ owner }) => owner !== null)) break;
      live = true;
      const behind = listed.filter(({ range, position }) =>
        ends.some((of) => overlaps(of.range, range) && (position === undefined || lsnOf(position) < of.end)),
      );
      if (behind.length === 0) break;
      if (systemClock.monotonic() - since > patienceMs) {
        passed = false;
        break;
      }
      screen.progress(`waiting for the hosts on ${name}`, listed.length - behind.length, listed.length);
      await delay(POLL_MS, undefined, { signal });
    }
  }
  // After the positions, and before the lag: what is drained until then must be visible to the next comparison.
  const deferred = new Map<string, ReadonlySet<string>>();
  for (const { name: source, at } of read.flat()) {
    const { state } = at.services.place;
    const tenants = await registeredOf(state, { pipeline: loaded.pipeline.name, source }, signal).tenants();
    if (tenants.size > 0) deferred.set(source, new Set([...(deferred.get(source) ?? []), ...tenants]));
  }
  if (!live) return { hosts: 'none', deferred };
  await delay(readLagMs, undefined, { signal });
  return { hosts: passed ? 'passed' : 'behind', deferred };
}
