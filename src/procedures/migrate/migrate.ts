import type { Container } from '@azure/cosmos';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import {
  type GateDocument,
  type WriteTarget,
  changeGate,
  ensureGate,
  isSameTarget,
  readWriters,
} from '../../shards/gate/write-gate.ts';
import { REOPEN_MS } from '../../shards/gate/times.ts';
import { erasuresUnderWay } from '../../engine/erasures/record.ts';
import { currentEpoch, raiseEpoch } from '../../feed/reading/epochs.ts';
import { readChanges } from '../../feed/processor/read-changes.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { Copier, type Exists, type Side } from './copy.ts';
import { type Following, follow, startAt, untilCopied } from './follow.ts';
import { Nearing } from './nearing.ts';
import { type MigrationRecord, Migrations } from './migrations.ts';
import { reconcile, sameCount } from './reconcile.ts';
import { operationsError } from '../errors.ts';
import { positionsNow } from '../positions-now.ts';
import { plural } from '../table.ts';

export interface MigrateOptions {
  /** Millrace's own container: it holds the gate, the migration's record and the epochs. */
  readonly state: Container;
  readonly source: Container;
  readonly target: Container;
  /** Endpoint of the target's account, if it is another account. */
  readonly endpoint?: string;
  readonly signal: AbortSignal;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number;
  /** Called and awaited after each page. */
  readonly progress?: (copied: number) => void | Promise<void>;
  /** Called once a minute while writers write faster than the migration copies, with the reason and a hint. */
  readonly warn?: (text: string) => void;
  /** How long that may last before the migration stops, milliseconds. Default: for ever. */
  readonly patienceMs?: number | undefined;
  /** Measures the copying and the switch. Default: the system's. */
  readonly clock?: Clock;
  /** Goes back: copies what was written to the target since to the source. */
  readonly rollback?: boolean;
}

export interface Migrated {
  readonly from: string;
  readonly into: string;
  /** Documents that this run wrote to the target, and removed from it. */
  readonly copied: number;
  readonly removed: number;
  /** From closing the gate to opening it, milliseconds; writers see it at most one poll later. */
  readonly pausedMs: number;
  /**
   * Identities of source documents whose last version the feed showed only after the switch, while the target has
   * another version. Usually a process wrote them without the gate: compare both.
   */
  readonly late: readonly string[];
  /** Request units, of the target. */
  readonly charge: number;
}

/** The switch is abandoned after this; writers reopen the gate on their own only later. */
const DECIDE_MS = REOPEN_MS / 2;
/** The switch is abandoned if a writer doesn't report for this long; the writer's document expires soon after. */
const SILENT_MS = 20_000;
const POLL_MS = 50;

/**
 * Moves a container's documents into another one (other key, container or account) while applications write them. It
 * copies, catches up and reconciles deletions; then it closes the gate, waits until every writer has stopped, catches up
 * again, compares, and opens the gate with the target. It may be stopped at any point before that and run again.
 * @throws UsageError `wrong-state`, `not-found`; MillraceError `too-slow`, `under-way`
 */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { state, signal, clock = systemClock, rollback = false, readLagMs = 5_000, patienceMs } = options;
  const [from, into] = rollback ? [options.target, options.source] : [options.source, options.target];
  await assertNoErasure(options);
  const [left, right] = await Promise.all([sideOf(from), sideOf(into)]);
  const [source, target] = rollback ? [right, left] : [left, right];
  const gate = await openedGate(state, options.source.id);
  const switched = isThere(gate, options);
  const claim = await new Migrations(state).begin(
    {
      name: options.source.id,
      into: options.target.id,
      target: targetOf(options),
      rollback,
      rids: [source.rid, target.rid],
      switched,
    },
    clock,
  );
  const record = { ...claim.now };
  const meter = new Meter();
  const access = new CosmosAccess(into.database, untilStopped(signal), meter);
  const reading = new CosmosAccess(from.database, untilStopped(signal), new Meter());
  const exists: Exists = async ({ pk, id }) => {
    // A lagging replica may still show a deleted document, so read again after the lag.
    for (const settled of [false, true]) {
      const [found] = await reading.read(from.id, pk, [id]);
      if (!found) return false;
      if (!settled) await systemClock.sleep(readLagMs, signal);
    }
    return true;
  };
  const copier = new Copier(left, right, access, exists);
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
    access,
    copier,
    exists,
    save: () => claim.save(() => record),
    nearing,
    readLagMs,
    whole,
  };
  const total = { copied: 0, removed: 0 };
  await follow(following(work, record, total), record, 'near');
  // Finds most deletions while writers still write, so that few are left for the pause.
  total.removed += (
    await reconcile({ ...work, from: left, into: right, source: from, target: into, still: false })
  ).removed;
  await follow(following(work, record, total), record, 'near');
  const pausedMs = await switchWriters(work, record, gate, total);
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
  readonly access: CosmosAccess;
  readonly copier: Copier;
  readonly exists: Exists;
  /** Stores the record. */
  readonly save: () => Promise<void>;
  readonly nearing: Nearing;
  readonly clock: Clock;
  readonly readLagMs: number;
  /** All documents of the target are the migration's. */
  readonly whole: boolean;
}

/** As `follow` needs it: the record is stored after each page. */
function following(
  { state, from, copier, save, nearing, signal, progress }: Work,
  record: MigrationRecord,
  total: { copied: number },
): Following {
  return {
    from,
    copy: (changes) => copier.copy(changes),
    after: async (copied) => {
      total.copied += copied;
      await save();
      await progress?.(total.copied);
      await assertNoErasure({ state, signal });
    },
    nearing,
    signal,
  };
}

/** A copy of a document that was read before its erasure would be left in the target (ERASE-S6). */
async function assertNoErasure({ state, signal }: Pick<MigrateOptions, 'state' | 'signal'>): Promise<void> {
  if ((await erasuresUnderWay(state, signal)).length > 0)
    throw sharedError('under-way', 'A tenant is being erased, so no documents are copied');
}

async function switchWriters(
  work: Work,
  record: MigrationRecord,
  gate: GateDocument,
  total: { copied: number; removed: number },
): Promise<number> {
  const { state, source, target, from, into, left, right, save, signal, clock, rollback = false } = work;
  const closedAt = clock.monotonic();
  const closing = await changeGate(state, gate, { state: 'closing', target: gate.target }, { clock });
  if (!closing) throw contended(source.id);
  const endOrThrow = (): void => {
    if (clock.monotonic() - closedAt > DECIDE_MS) throw tooSlow(source.id);
  };
  let opened = false;
  try {
    await untilStoppedWriting(work, closing.generation);
    await untilCopied(following(work, record, total), record, endOrThrow);
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
      // The target's LSNs start from the beginning: projections must not take them for old versions.
      await raiseEpoch(state, into.id, right.rid, await currentEpoch(state, from.id, left.rid));
      // A rollback has to copy everything that is written to the target from here on.
      record.reverse = await positionsNow(target, signal);
    }
    // Also where nothing is new: one that was given up, or taken over, ends here.
    await save();
    endOrThrow();
    // If this write comes too late, writers have reopened the gate with another generation, and the write is refused.
    const next = { state: 'open', target: rollback ? { container: source.id } : targetOf(work) } as const;
    const switched = await changeGate(state, closing, next, { clock });
    if (!switched) throw contended(source.id);
    opened = true;
    return Math.round(clock.monotonic() - closedAt);
  } finally {
    if (!opened)
      await changeGate(state, closing, { state: 'open', target: gate.target }, { clock }).catch(() => undefined);
  }
}

/** Reads the source's feed again after the switch: now it shows what a lagging replica hid or was written without the gate. */
async function lookAgain({ from, copier, signal, readLagMs }: Work, record: MigrationRecord): Promise<string[]> {
  await systemClock.sleep(readLagMs, signal);
  const late: string[] = [];
  for await (const { changes } of readChanges(from, { from: startAt(record), signal }))
    late.push(...(await copier.copyLate(changes)));
  return late;
}

const targetOf = ({ target, endpoint }: Pick<MigrateOptions, 'target' | 'endpoint'>): WriteTarget => ({
  container: target.id,
  database: target.database.id,
  ...(endpoint === undefined ? {} : { endpoint }),
});

const isThere = ({ target }: GateDocument, options: MigrateOptions): boolean => isSameTarget(target, targetOf(options));

/** Reads the gate. If a migration died while it was closed, it is opened again with the same target. */
async function openedGate(state: Container, container: string): Promise<GateDocument> {
  const gate = await ensureGate(state, container);
  if (gate.state === 'open') return gate;
  const opened = await changeGate(state, gate, { state: 'open', target: gate.target });
  if (!opened) throw contended(container);
  return opened;
}

async function untilStoppedWriting({ state, source, clock, signal }: Work, generation: number): Promise<void> {
  for (const since = clock.monotonic(); ; await clock.sleep(POLL_MS, signal)) {
    const writers = await readWriters(state, source.id, generation);
    const open = (writers ?? []).filter(({ stopped }) => stopped !== generation);
    if (writers && open.length === 0) return;
    if (clock.monotonic() - since < SILENT_MS) continue;
    throw operationsError(
      'writers-silent',
      `${open.length} of the processes that write ${source.id} did not report that they stopped. Nothing was changed`,
    );
  }
}

export async function sideOf(container: Container): Promise<Side> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  return {
    container: container.id,
    keyPaths: (resource?.partitionKey?.paths ?? []).map(splitPath),
    defaultTtl: resource?.defaultTtl,
    rid: resource?._rid ?? '',
  };
}

const contended = (container: string): MillraceError =>
  sharedError('contended', `Another process changed the write gate of ${container}`);

const tooSlow = (container: string): MillraceError =>
  operationsError(
    'too-slow',
    `The writers of ${container} could not be switched within ${DECIDE_MS / 1_000} s; they still write to it`,
    {
      hint: 'Run it again when writers write less, or give the target more throughput. Check that no process writes without the gate.',
    },
  );

const lacking = (container: string, missing: readonly string[]): MillraceError =>
  operationsError(
    'target-incomplete',
    `${container} lacks ${plural(missing.length, 'document')}, for example ${missing[0] ?? ''}; the writers were not switched`,
  );
