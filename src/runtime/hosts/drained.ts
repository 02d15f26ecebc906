import { setTimeout as delay } from 'node:timers/promises';
import { readElsewhere } from '../../feed/processor/whole-feed.ts';
import type { SourceReading, SourceStatus } from '../source-reading.ts';

type DrainedFeed = Pick<SourceReading, 'status' | 'leases' | 'estimator' | 'deferred'>;

export interface HostDrainOptions {
  /** Does all fan-out. Resolves with true if there was none. */
  readonly idle: (signal: AbortSignal) => Promise<boolean>;
  /** Pause between two reads of the other hosts' leases, milliseconds. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/** Shortest pause between two looks at this host's feeds. */
const LOOK_MS = 20;

/**
 * Resolves once all feeds were read to their end, and nothing that was read is deferred: the ranges of this host by its own
 * reads and windows, the others by their stored positions and the register of the queues. A sink may itself be a source
 * that another host reads. So with other hosts, everything must be at its end twice, and no position may move in between.
 */
export async function untilDrained(
  feeds: readonly DrainedFeed[],
  { idle, pollMs, signal }: HostDrainOptions,
): Promise<void> {
  for (let before: string | undefined; ;) {
    const own = await untilOwnRead(feeds, idle, signal);
    if (own.every(({ known, leases }) => known > 0 && leases.length === known)) return;
    const found = await Promise.all(
      feeds.map(async ({ leases, estimator, deferred }, n) => {
        const ours = own[n]?.leases ?? [];
        const others = await readElsewhere(leases, estimator, ours);
        // After the positions: what they passed may be deferred.
        if (!others || (await deferred.queues()).length > 0) return undefined;
        return [...ours, ...others].map(({ id, position }) => `${id} ${position}`).toSorted();
      }),
    );
    const now = found.every((of) => of !== undefined) ? found.flat().join('\n') : undefined;
    if (now !== undefined && now === before) return;
    before = now;
    await delay(pollMs, undefined, { signal });
  }
}

/** Waits until this host has read its ranges to their end and done the fan-out. Resolves with their status. */
async function untilOwnRead(
  feeds: readonly DrainedFeed[],
  idle: HostDrainOptions['idle'],
  signal: AbortSignal,
): Promise<readonly SourceStatus[]> {
  const sources = (): SourceStatus[] => feeds.map(({ status }) => status());
  // Deferred work may write more changes, so the feeds are read to their end again.
  for (;;) {
    const since = performance.now();
    let own = sources();
    // Over many shards a look takes a part of a millisecond for each feed.
    const pauseMs = Math.max(LOOK_MS, feeds.length);
    for (; !readToTheEnd(own, since); own = sources()) await delay(pauseMs, undefined, { signal });
    if (await idle(signal)) return own;
  }
}

/** A sink may itself be a source: the last empty read of each range must start after the last range became idle. */
function readToTheEnd(sources: readonly SourceStatus[], since: number): boolean {
  const leases = sources.flatMap((source) => source.leases);
  const idleSince = Math.max(since, ...leases.map((lease) => lease.idleSince ?? Infinity));
  return leases.every(({ checkedAt }) => (checkedAt ?? 0) > idleSince);
}
