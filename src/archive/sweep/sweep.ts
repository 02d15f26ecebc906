import { WRITE_BOUND_MS } from '../../base/bounds.ts';
import { systemClock } from '../../base/clock.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change } from '../../feed/reading/change.ts';
import { whileFresh } from '../../feed/tenure/fences.ts';
import { blobLineOf } from '../blobs/blob.ts';
import { leavingFields } from '../../kinds/archive/leaving.ts';
import { FeedReader } from './feed-reader.ts';
import { type LeavingByTtl, leave } from './leave-by-ttl.ts';
import type { Archive, ArchiveFault, SweepOptions, SweepResult } from '../types.ts';
import { duePages } from './due-pages.ts';
import { isDateIndexed } from './due-query.ts';
import { type Eligibility, eligibilityOf } from './eligibility.ts';
import { mayLeave } from './may-leave.ts';

/** A chunk is archived when it has this many documents or bytes, or when its first document was read this long ago. */
const DOCUMENTS = 5_000;
const BYTES = 32 * 1024 * 1024;
const AGE_MS = WRITE_BOUND_MS / 4;
const NAMED = 100;

type Tally = { -readonly [K in keyof SweepResult]: SweepResult[K] } & {
  readonly stayed: string[];
  readonly faults: ArchiveFault[];
};
type Candidate = LeavingByTtl & {
  readonly range: FeedRange;
  readonly readAt: number;
  readonly tenant?: string | undefined;
};

/**
 * Finds the documents that are due at `now` and archives them. May be stopped and run again at any time, and by several
 * hosts at the same time: the next sweep finishes what another has left unfinished.
 * @throws UsageError if the storage can't be used; no document has left its container then
 */
export async function sweepArchive(archive: Archive, options: SweepOptions): Promise<SweepResult> {
  const { spec, source } = archive;
  const { signal } = options;
  const tally: Tally = {
    projection: projectionId(spec),
    read: 0,
    complete: true,
    archived: 0,
    removed: 0,
    bytes: 0,
    blocked: 0,
    faults: [],
    held: 0,
    erased: 0,
    superseded: 0,
    undated: 0,
    refused: 0,
    stayed: [],
  };
  // A list first, so that a sweep without usable storage fails immediately.
  for await (const _ of archive.store.list(`${tally.projection}/`)) break;
  let chunk: Candidate[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const due = chunk;
    chunk = [];
    bytes = 0;
    if (due.length > 0) await archiveChunk(archive, due, tally, options);
    options.progress?.(tally);
  };
  const note = (eligibility: Exclude<Eligibility, { kind: 'leaves' }>): void => {
    tally.read += 1;
    if (eligibility.kind === 'stays') return;
    tally[eligibility.kind] += 1;
    if (tally.stayed.length < NAMED) tally.stayed.push(eligibility.why);
  };
  const began = systemClock.monotonic();
  const spent = pacer(archive.feed.meter, options.ruPerSecond);
  const pace = async (): Promise<void> => {
    await options.sweeper?.look(signal);
    const ms = spent();
    if (ms <= 0) return;
    // Nothing waits that was read before: it would be too old to write (ARC-H3).
    await flush();
    const left = options.withinMs === undefined ? Infinity : began + options.withinMs - systemClock.monotonic();
    await systemClock.sleep(Math.max(0, Math.min(ms, left)), signal);
  };
  await options.sweeper?.look(signal);
  const pages = isDateIndexed(spec, source)
    ? duePages(archive, { ...options, note, pace })
    : new FeedReader(archive.feed).toEnd(signal);
  for await (const page of pages) {
    for (const change of page.changes) {
      if (change.type !== spec.from.type) continue;
      const eligibility = eligibilityOf(spec, source, change, options);
      if (eligibility.kind === 'leaves') {
        tally.read += 1;
        const line = blobLineOf(change);
        const { version, at, doc = {} } = change;
        bytes += line.length;
        chunk.push({
          change: withoutDoc(change),
          ...(archive.mode === 'all-versions' && { expiring: leavingFields(version, at, doc) }),
          period: eligibility.period,
          line,
          range: page.range,
          readAt: page.readAt,
          tenant: eligibility.tenant,
        });
      } else note(eligibility);
    }
    const age = systemClock.monotonic() - (chunk[0]?.readAt ?? Infinity);
    if (chunk.length >= DOCUMENTS || bytes >= BYTES || age > AGE_MS) await flush();
    if (options.withinMs !== undefined && systemClock.monotonic() - began >= options.withinMs) {
      tally.complete = false;
      break;
    }
  }
  await flush();
  if (options.withinMs !== undefined && !options.dryRun) await options.turns?.keep();
  return tally;
}

/** How long to wait until what was spent so far is within the limit, milliseconds. */
function pacer(meter: Meter | undefined, ruPerSecond: number | undefined): () => number {
  const [began, before] = [systemClock.monotonic(), meter?.charge ?? 0];
  return () => {
    if (ruPerSecond === undefined || !meter) return 0;
    return began + ((meter.charge - before) / ruPerSecond) * 1_000 - systemClock.monotonic();
  };
}

/** Drops the document to save memory: its line holds it already. */
const withoutDoc = ({ container, key, id, type, version, at, op }: Change): Change => ({
  container,
  key,
  id,
  type,
  version,
  at,
  op,
});

async function archiveChunk(
  archive: Archive,
  chunk: readonly Candidate[],
  tally: Tally,
  options: SweepOptions,
): Promise<void> {
  const { signal } = options;
  const open = await options.gate();
  const erased = await options.erased?.();
  const kept = chunk.filter(({ tenant }) => !erased?.(tenant));
  tally.erased += chunk.length - kept.length;
  const due = kept.filter((one) => mayLeave(open, one));
  tally.held += kept.length - due.length;
  if (options.dryRun) {
    tally.archived += due.length;
    await open.ended?.();
    return;
  }
  const readAt = chunk.reduce((oldest, one) => Math.min(oldest, one.readAt), Infinity);
  // ARC-H3: a void entry lasts longer than a host may act on a page that was read before it. ERASE-S5: an erasure waits for
  // no longer either.
  const access = archive.access(whileFresh(readAt, signal));
  const counts = await leave(archive, due, access);
  // Not after a failure: a request of it may still land.
  await open.ended?.();
  for (const name of ['archived', 'removed', 'superseded', 'bytes', 'blocked'] as const) tally[name] += counts[name];
  const known = new Set(tally.faults.map(({ blob }) => blob));
  tally.faults.push(...counts.faults.filter(({ blob }) => !known.has(blob)));
}
