import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../../base/settings.ts';
import { systemClock } from '../../base/clock.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { feedModeOf } from '../../definition/all-versions.ts';
import { CosmosLeaseStore, leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import { lsnOf, overlaps } from '../../feed/reading/position.ts';
import { CosmosChangeSource } from '../../feed/reading/source.ts';
import { processorName } from '../../runtime/processor-name.ts';
import type { Screen } from '../screen.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

export interface PassedOptions {
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly services: Services;
  readonly settings: Settings;
  readonly containers: readonly string[];
  readonly readLagMs: number;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

const POLL_MS = 100;
/** Then what differs is looked at again, wherever the hosts are. */
const PATIENCE_MS = 120_000;

/**
 * Waits until the live hosts have passed what is in the feeds of some containers now. False: no host holds a lease of
 * them, so nobody will.
 */
export async function untilPassed(options: PassedOptions): Promise<boolean> {
  const { services, loaded, settings, containers, readLagMs, signal, screen } = options;
  const { database } = services;
  const databaseRid = (await withRetry(() => database.read(), { reads: true, signal })).resource?._rid ?? '';
  let live = false;
  for (const name of containers) {
    const monitored = database.container(name);
    const rid = (await withRetry(() => monitored.read(), { reads: true, signal })).resource?._rid ?? '';
    const mode = feedModeOf(loaded.pipeline, name);
    const prefix = leasePrefix(processorName(loaded.pipeline), settings.cosmos.endpoint, databaseRid, rid);
    const leases = new CosmosLeaseStore({ monitored, leases: services.leases, host: 'verify', prefix, mode });
    const source = new CosmosChangeSource(monitored, rid, { name, keyPaths: [], types: new Map() }, { epoch: 0, mode });
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
