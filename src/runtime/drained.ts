import { setTimeout as delay } from 'node:timers/promises';
import { readElsewhere } from '../feed/processor/whole-feed.ts';
import type { SourceReading, SourceStatus } from './source-reading.ts';

type DrainedFeed = Pick<SourceReading, 'status' | 'leases' | 'estimator'>;

export interface DrainOptions {
  /** Whether nothing was left to do after the pages, after having done it where something was. */
  readonly idle: (signal: AbortSignal) => Promise<boolean>;
  /** Between two looks at the leases of other hosts, milliseconds. */
  readonly pollMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves once all feeds were read to their end: those of this host by its own reads, the others by their stored
 * positions. A sink may be a source in turn, read by another host: then all of it has to be at its end twice, and no
 * position moved in between.
 */
export async function untilDrained(
  feeds: readonly DrainedFeed[],
  { idle, pollMs, signal }: DrainOptions,
): Promise<void> {
  for (let before: string | undefined; ;) {
    const own = await untilOwnRead(feeds, idle, signal);
    if (own.every(({ known, leases }) => known > 0 && leases.length === known)) return;
    const found = await Promise.all(
      feeds.map(async ({ leases, estimator }, n) => {
        const ours = own[n]?.leases ?? [];
        const others = await readElsewhere(leases, estimator, ours);
        return others && [...ours, ...others].map(({ id, position }) => `${id} ${position}`).toSorted();
      }),
    );
    const now = found.every((of) => of !== undefined) ? found.flat().join('\n') : undefined;
    if (now !== undefined && now === before) return;
    before = now;
    await delay(pollMs, undefined, { signal });
  }
}

/** What is read here, once it was read to its end and nothing is left of it to do. */
async function untilOwnRead(
  feeds: readonly DrainedFeed[],
  idle: DrainOptions['idle'],
  signal: AbortSignal,
): Promise<readonly SourceStatus[]> {
  const sources = (): SourceStatus[] => feeds.map(({ status }) => status());
  // What is gone on with may make changes in turn, so the feeds are read to their end once more.
  for (;;) {
    const since = performance.now();
    let own = sources();
    for (; !readToTheEnd(own, since); own = sources()) await delay(20, undefined, { signal });
    if (await idle(signal)) return own;
  }
}

/** A sink may be a source in turn: every range's last empty read must have begun after the last range fell idle. */
function readToTheEnd(sources: readonly SourceStatus[], since: number): boolean {
  const leases = sources.flatMap((source) => source.leases);
  const idleSince = Math.max(since, ...leases.map((lease) => lease.idleSince ?? Infinity));
  return leases.every(({ checkedAt }) => (checkedAt ?? 0) > idleSince);
}
