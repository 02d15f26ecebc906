import { randomUUID } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import { openWriteGate } from '../../shards/gate/write-gate.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { foreignKeys } from '../archive/foreign-keys.ts';
import { type LockDocument, whileLocked } from '../lock.ts';
import { Lacking } from './without-tenant.ts';
import type { BackfillOptions, Backfilled } from './options.ts';
import { Processed } from './processed.ts';
import { BackfillProgress } from './progress.ts';
import { Rounds } from './rounds.ts';
import { ServiceClock } from './service-clock.ts';
import { eventReaders, openTarget, openValues } from './target.ts';
import { declaredTenant } from '../tenants/tenant-flag.ts';

const READ_LAG_MS = 5_000;
const PATIENCE_MS = 60_000;

/**
 * Writes the tenant into every document of a container that lacks it. It may be stopped at any point and run again. No
 * write of an application is lost: each write depends on the version that was read.
 * @throws UsageError `tenant-undeclared`, `not-found`, `backfill-key`, `wrong-state`, `container-missing`, `input-invalid`;
 * MillraceError `under-way`, `overtaken`
 */
export async function backfill(options: BackfillOptions): Promise<Backfilled> {
  const { services, container: name, actor, signal, clock = systemClock, readLagMs = READ_LAG_MS } = options;
  const rule = declaredTenant(options.loaded);
  const container = services.place.database.container(name);
  const opened = await openTarget(container, rule, options.loaded.model);
  const lacking = new Lacking(container, rule.field, options.type, options.loaded.pipeline.sources);
  const values = await openValues(options.values, options);
  const holder = randomUUID();
  const lock = { kind: 'backfilling', of: name, actor, holder, format: formatOf('backfilling'), clock } as const;
  return whileLocked(services.place.state, { ...lock, refusal: runsAlready(name), signal }, async (locked) => {
    const epoch = await currentEpoch(services.place.state, name, opened.rid);
    const given = { field: rule.field, type: options.type ?? null, ...options.values };
    const progress = await BackfillProgress.begin(
      services.place.state,
      name,
      { rid: opened.rid, epoch, given },
      holder,
    );
    await using gate = await openWriteGate(services.place.state, name, { clock });
    const projections = eventReaders(options.loaded.pipeline, name).map(projectionId);
    const gated = projections.length > 0;
    const watching = { projections, clock, readLagMs, signal: locked };
    const foreign = options.foreign ?? (await foreignKeys(options, { name, keyPaths: opened.keyPaths }));
    const rounds = new Rounds({
      ...options,
      ...(foreign && { foreign }),
      clock,
      waitMs: (options.patienceMs ?? PATIENCE_MS) + readLagMs,
      signal: locked,
      target: opened,
      in: container,
      progressing: progress,
      gate,
      processed: gated ? await Processed.open(name, options, watching) : undefined,
      writing: {
        field: rule.field,
        defaultTtl: opened.defaultTtl,
        lacking,
        values,
        gated,
        clock: new ServiceClock(clock),
      },
    });
    // Before the gate is closed.
    return await rounds.toEnd();
  });
}

const runsAlready =
  (container: string) =>
  (held: LockDocument | undefined): Error =>
    sharedError(
      'under-way',
      held
        ? `A backfill of ${container} runs: ${held.actor} renewed it at ${held.renewedAt}`
        : `Another backfill of ${container} has just begun`,
    );
