import type { Container } from '@azure/cosmos';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { MillraceError, UsageError } from '../../base/errors.ts';
import { Meter } from '../../cosmos/meter.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { rangeId } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import {
  type GateDocument,
  REOPEN_MS,
  type WriteTarget,
  changeGate,
  ensureGate,
  readWriters,
} from '../../shards/write-gate.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import type { StartOption } from '../../feed/processor/processor-options.ts';
import { readChanges } from '../../feed/processor/read-changes.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { CosmosSession } from '../../sinks/cosmos-session.ts';
import { Copier, type Exists, type Side } from './copy.ts';
import { Nearing } from './nearing.ts';
import { type MigrationRecord, Migrations } from './migrations.ts';
import { reconcile, sameCount } from './reconcile.ts';

export interface MigrateOptions {
  /** Keeps the gate, the migration's record and the epochs. */
  readonly state: Container;
  readonly source: Container;
  readonly target: Container;
  /** Address of the target's account, where it is another one. */
  readonly endpoint?: string;
  readonly signal: AbortSignal;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number;
  /** After each page; waited for. */
  readonly progress?: (copied: number) => void | Promise<void>;
  /** Hears, once a minute, that the source is written faster than it is copied, and what mends that. */
  readonly warn?: (text: string) => void;
  /** How long that may last, milliseconds. Default: for ever. */
  readonly patienceMs?: number | undefined;
  /** For how long copying and the change-over take. Default: the system's. */
  readonly clock?: Clock;
  /** Back to where it came from: what was written to the target since is copied to the source. */
  readonly rollback?: boolean;
}

export interface Migrated {
  readonly from: string;
  readonly into: string;
  /** Documents written in this run, and taken out again. */
  readonly copied: number;
  readonly removed: number;
  /** From closing the gate to opening it, milliseconds; writers see it at most one poll later. */
  readonly pausedMs: number;
  /**
   * Identities in the source whose last version came to light only after the change-over and that the target has in
   * another one: written past the gate, as a rule. Look at both.
   */
  readonly late: readonly string[];
  /** Request units, of the target. */
  readonly charge: number;
}

/** A change-over is given up after this: writers open the gate by themselves later than that. */
const DECIDE_MS = REOPEN_MS / 2;
/** Writers that say nothing for this long make it give up; their documents expire soon after. */
const SILENT_MS = 20_000;
const POLL_MS = 50;
/** Changes of a page up to which a feed counts as caught up with while it is written: what is left is for the pause. */
const NEAR = 500;

/**
 * Moves a container's documents into another one (other key, other container, other account) while they are written:
 * copies, catches up, reconciles deletions; then closes the gate, waits until every writer has stopped, catches up once
 * more, compares, and opens the gate onto the target. May be stopped at any point before that and run again.
 * @throws UsageError `migration-other`, `migration-done`, `no-rollback`; MillraceError `migrate-no-nearer`
 */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { state, signal, clock = systemClock, rollback = false, readLagMs = 5_000, patienceMs } = options;
  const [from, into] = rollback ? [options.target, options.source] : [options.source, options.target];
  const migrations = new Migrations(state);
  const [left, right] = await Promise.all([sideOf(from), sideOf(into)]);
  const [source, target] = rollback ? [right, left] : [left, right];
  const gate = await openedGate(state, options.source.id);
  const flipped = gate.target.container === options.target.id && isThere(gate, options);
  const record = await migrations.begin({
    name: options.source.id,
    into: options.target.id,
    rollback,
    rids: [source.rid, target.rid],
    flipped,
  });
  const meter = new Meter();
  const session = new CosmosSession(into.database, untilStopped(signal), meter);
  const reading = new CosmosSession(from.database, untilStopped(signal), new Meter());
  const exists: Exists = async ({ pk, id }) => {
    // A lagging replica may still show what is gone; it is asked again once the lag has passed.
    for (const settled of [false, true]) {
      const [found] = await reading.read(from.id, pk, [id]);
      if (!found) return false;
      if (!settled) await systemClock.sleep(readLagMs, signal);
    }
    return true;
  };
  const copier = new Copier(left, right, session, exists);
  const whole = rollback || record.again === true;
  const nearing = new Nearing({
    from,
    rid: left.rid,
    into: into.id,
    meter,
    clock,
    warn: options.warn ?? (() => undefined),
    patienceMs,
  });
  const work = {
    ...options,
    clock,
    from,
    into,
    left,
    right,
    session,
    copier,
    exists,
    migrations,
    nearing,
    readLagMs,
    whole,
  };
  const total = { copied: 0, removed: 0 };
  await follow(work, record, total, 'near');
  // Most deletions are found while writes go on, so that few are left for the pause.
  total.removed += (
    await reconcile({ ...work, from: left, into: right, source: from, target: into, still: false })
  ).removed;
  await follow(work, record, total, 'near');
  const pausedMs = await changeOver(work, record, gate, total);
  const late = await lookAgain(work, record);
  return { from: from.id, into: into.id, ...total, pausedMs, late, charge: meter.charge };
}

interface Work extends Omit<MigrateOptions, 'source' | 'target'> {
  readonly source: Container;
  readonly target: Container;
  readonly from: Container;
  readonly into: Container;
  readonly left: Side;
  readonly right: Side;
  readonly session: CosmosSession;
  readonly copier: Copier;
  readonly exists: Exists;
  readonly migrations: Migrations;
  readonly nearing: Nearing;
  readonly clock: Clock;
  readonly readLagMs: number;
  /** The target has nobody else's documents. */
  readonly whole: boolean;
}

/**
 * Copies what the feed has from where the record stands, to an end at which every range answered with nothing new; while
 * writes go on, which may have no such end, until a round over the ranges brought little.
 */
async function follow(
  { from, copier, migrations, nearing, signal, progress }: Work,
  record: MigrationRecord,
  total: { copied: number },
  until: 'near' | { readonly endOrThrow: () => void },
): Promise<number> {
  let changes = 0;
  const round = new Set<string>();
  const start: StartOption = record.positions.length === 0 ? 'beginning' : { checkpoint: record.positions };
  for await (const page of readChanges(from, { from: start, signal })) {
    total.copied += await copier.copy(page.changes);
    changes += page.changes.length;
    record.positions = [...page.checkpoint];
    await migrations.save(record);
    await progress?.(total.copied);
    if (until !== 'near') {
      until.endOrThrow();
      continue;
    }
    if (page.changes.length >= NEAR) {
      round.clear();
      await nearing.look(record.positions);
      continue;
    }
    // Ranges take turns: one that comes again without a large page between has seen them all.
    if (round.has(rangeId(page.range))) break;
    round.add(rangeId(page.range));
  }
  return changes;
}

async function changeOver(
  work: Work,
  record: MigrationRecord,
  gate: GateDocument,
  total: { copied: number; removed: number },
): Promise<number> {
  const { state, source, target, from, into, left, right, migrations, signal, clock, rollback = false } = work;
  const closedAt = clock.monotonic();
  const closing = await changeGate(state, gate, { state: 'closing', target: gate.target }, { clock });
  if (!closing) throw contended(source.id);
  const endOrThrow = (): void => {
    if (clock.monotonic() - closedAt > DECIDE_MS) throw tooSlow(source.id);
  };
  let opened = false;
  try {
    await untilStoppedWriting(work, closing.generation);
    // Twice: the second looks where the first looked before the last write became visible.
    for (let quiet = 0; quiet < 2;) quiet = (await follow(work, record, total, { endOrThrow })) === 0 ? quiet + 1 : 0;
    if (!(await sameCount({ source: from, target: into, signal }))) {
      const found = await reconcile({
        ...work,
        from: left,
        into: right,
        source: from,
        target: into,
        still: true,
      });
      total.removed += found.removed;
      if (found.missing.length > 0) throw lacking(into.id, found.missing);
    }
    if (!rollback) {
      await raiseEpoch(work);
      // Whatever is written to the target from here on is what a way back has to bring along.
      record.reverse = await positionsNow(target, signal);
      await migrations.save(record);
    }
    endOrThrow();
    // Where it lands later than writers wait, they have opened the gate under another generation, which refuses it.
    const next = { state: 'open', target: rollback ? { container: source.id } : targetOf(work) } as const;
    const flipped = await changeGate(state, closing, next, { clock });
    if (!flipped) throw contended(source.id);
    opened = true;
    return Math.round(clock.monotonic() - closedAt);
  } finally {
    if (!opened)
      await changeGate(state, closing, { state: 'open', target: gate.target }, { clock }).catch(() => undefined);
  }
}

/** Nobody writes the source any more: what a lagging replica hid, or somebody wrote past the gate, is there by now. */
async function lookAgain({ from, copier, signal, readLagMs }: Work, record: MigrationRecord): Promise<string[]> {
  await systemClock.sleep(readLagMs, signal);
  const late: string[] = [];
  const start: StartOption = record.positions.length === 0 ? 'beginning' : { checkpoint: record.positions };
  for await (const { changes } of readChanges(from, { from: start, signal }))
    late.push(...(await copier.copyLate(changes)));
  return late;
}

const targetOf = ({ target, endpoint }: Pick<MigrateOptions, 'target' | 'endpoint'>): WriteTarget => ({
  container: target.id,
  database: target.database.id,
  ...(endpoint === undefined ? {} : { endpoint }),
});

const isThere = ({ target }: GateDocument, options: MigrateOptions): boolean =>
  JSON.stringify(target) === JSON.stringify(targetOf(options));

/** The gate; one that somebody closed and didn't live to open is opened as it was. */
async function openedGate(state: Container, container: string): Promise<GateDocument> {
  const gate = await ensureGate(state, container);
  if (gate.state === 'open') return gate;
  const opened = await changeGate(state, gate, { state: 'open', target: gate.target });
  if (!opened) throw contended(container);
  return opened;
}

async function untilStoppedWriting({ state, source, clock, signal }: Work, generation: number): Promise<void> {
  for (const since = clock.monotonic(); ; await clock.sleep(POLL_MS, signal)) {
    const open = (await readWriters(state, source.id)).filter(({ stopped }) => stopped !== generation);
    if (open.length === 0) return;
    if (clock.monotonic() - since < SILENT_MS) continue;
    throw new UsageError('writers-silent', `${open.length} of the processes that write ${source.id} did not stop`, {
      mend: 'Nothing was changed. Those that died are forgotten within a minute and a half: run it again then; end those that hang.',
    });
  }
}

/** In the target lsn values begin anew: what is derived from it must not take them for old. */
async function raiseEpoch({ state, from, left, into, right }: Work): Promise<void> {
  const before = await currentEpoch(state, from.id, left.rid);
  const item = state.item(into.id, 'epochs');
  const { resource } = await withRetry(() => item.read<{ epoch: number; rid: string }>(), { reads: true });
  if (resource?.rid === right.rid && resource.epoch > before) return;
  const document = { id: into.id, pk: 'epochs', rid: right.rid, epoch: Math.max(before, resource?.epoch ?? 0) + 1 };
  await withRetry(() => state.items.upsert(document), { reads: true });
}

async function positionsNow(container: Container, signal: AbortSignal): Promise<RangePosition[]> {
  const { source } = await openSource(container);
  return Promise.all(
    (await physicalRanges(container, signal)).map(async (range) => ({
      range,
      position: await source.resolve(range, 'now', signal),
    })),
  );
}

async function sideOf(container: Container): Promise<Side> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  return {
    container: container.id,
    keyPaths: (resource?.partitionKey?.paths ?? []).map(splitPath),
    defaultTtl: resource?.defaultTtl,
    rid: resource?._rid ?? '',
  };
}

const contended = (container: string): MillraceError =>
  new MillraceError('gate-contended', `Somebody else changed the write gate of ${container}`, {
    retryable: true,
    mend: 'Run it again.',
  });

const tooSlow = (container: string): MillraceError =>
  new MillraceError(
    'migrate-too-slow',
    `The change-over of ${container} was not decided within ${DECIDE_MS / 1_000} s; writers go on as before`,
    {
      retryable: true,
      mend: 'Run it again when less is written, or give the target more throughput. Does somebody write without the gate?',
    },
  );

const lacking = (container: string, missing: readonly string[]): MillraceError =>
  new MillraceError(
    'target-incomplete',
    `${container} lacks ${missing.length} documents, ${missing[0] ?? ''} for one; writers go on as before`,
    {
      mend: 'Does somebody write without the gate? Run it again: it goes on where it was.',
    },
  );
