import { WRITE_BOUND_MS } from '../base/bounds.ts';
import { systemClock } from '../base/clock.ts';
import { projectionId } from '../definition/specs.ts';
import type { FeedRange } from '../cosmos/ranges.ts';
import type { Change } from '../feed/reading/change.ts';
import { whileFresh } from '../feed/tenure/fences.ts';
import { lineOf } from './blob.ts';
import { FeedReader } from './feed-reader.ts';
import { type Leaving, leave } from './leave.ts';
import type { Archive, ArchiveFault, Gate, SweepOptions, SweepResult } from './types.ts';
import { judge } from './verdict.ts';

/** A batch is archived when it has this many documents, this many bytes, or was begun this long ago. */
const DOCUMENTS = 5_000;
const BYTES = 32 * 1024 * 1024;
const AGE_MS = WRITE_BOUND_MS / 4;
const NAMED = 100;

type Tally = { -readonly [K in keyof SweepResult]: SweepResult[K] } & {
  readonly stayed: string[];
  readonly faults: ArchiveFault[];
};
type Candidate = Leaving & { readonly range: FeedRange; readonly readAt: number };

/**
 * Replays the source's feed from its beginning and archives what is due at `now`. May be stopped and run again at any
 * time, by several hosts at once: what one of them left half done the next one finishes.
 * @throws UsageError where the storage can't be used, before anything has left its container
 */
export async function sweepArchive(archive: Archive, options: SweepOptions): Promise<SweepResult> {
  const { spec, source } = archive;
  const { now, signal } = options;
  const tally: Tally = {
    projection: projectionId(spec),
    read: 0,
    archived: 0,
    removed: 0,
    bytes: 0,
    blocked: 0,
    faults: [],
    held: 0,
    superseded: 0,
    undated: 0,
    refused: 0,
    stayed: [],
  };
  // Asked first: a sweep that has nowhere to put anything says so at once.
  for await (const _ of archive.store.list(`${tally.projection}/`)) break;
  let batch: Candidate[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const due = batch;
    batch = [];
    bytes = 0;
    if (due.length > 0) await archiveBatch(archive, due, tally, options);
    options.progress?.(tally);
  };
  for await (const page of new FeedReader(archive.feed).toEnd(signal)) {
    for (const change of page.changes) {
      if (change.type !== spec.from.type) continue;
      tally.read += 1;
      const verdict = judge(spec, source, change, now);
      if (verdict.kind === 'leaves') {
        const line = lineOf(change);
        bytes += line.length;
        batch.push({
          change: withoutDoc(change),
          period: verdict.period,
          line,
          range: page.range,
          readAt: page.readAt,
        });
      } else if (verdict.kind !== 'stays') {
        tally[verdict.kind] += 1;
        if (tally.stayed.length < NAMED) tally.stayed.push(verdict.why);
      }
    }
    const age = systemClock.monotonic() - (batch[0]?.readAt ?? Infinity);
    if (batch.length >= DOCUMENTS || bytes >= BYTES || age > AGE_MS) await flush();
  }
  await flush();
  return tally;
}

/** The line holds the document already. */
const withoutDoc = ({ container, key, id, type, version, at, op }: Change): Change => ({
  container,
  key,
  id,
  type,
  version,
  at,
  op,
});

async function archiveBatch(
  archive: Archive,
  batch: readonly Candidate[],
  tally: Tally,
  options: SweepOptions,
): Promise<void> {
  const { signal } = options;
  const open = await options.gate();
  const due = batch.filter((one) => isFree(open, one));
  tally.held += batch.length - due.length;
  if (options.dryRun) {
    tally.archived += due.length;
    return;
  }
  const readAt = batch.reduce((oldest, one) => Math.min(oldest, one.readAt), Infinity);
  // R0: a void entry outlives what was read before it was written.
  const session = archive.session(whileFresh(readAt, signal));
  const left = await leave(archive, due, session);
  for (const name of ['archived', 'removed', 'superseded', 'bytes', 'blocked'] as const) tally[name] += left[name];
  const known = new Set(tally.faults.map(({ blob }) => blob));
  tally.faults.push(...left.faults.filter(({ blob }) => !known.has(blob)));
}

/** Acknowledged by every projection in this version, and parked by none. */
function isFree(gate: Gate, { range, change }: Candidate): boolean {
  const acknowledged = gate.acknowledged(range);
  return acknowledged !== undefined && change.version.lsn <= acknowledged && !gate.parked(change);
}
