import { systemClock } from '../../base/clock.ts';
import { canonical } from '../../base/json.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { currentEpoch } from '../../feed/reading/epochs.ts';
import { openWriteGate } from '../../shards/gate/write-gate.ts';
import { foreignKeys } from '../archive/foreign-keys.ts';
import { whileLocked } from '../journal/lock.ts';
import { Lacking } from './without-tenant.ts';
import type { BackfillOptions, Backfilled } from './options.ts';
import { Processed } from './processed.ts';
import { type Progress, Rounds } from './rounds.ts';
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
  const lock = { kind: 'backfilling', of: name, what: `A backfill of ${name}`, actor, clock, signal } as const;
  return whileLocked<Backfilled, Progress>(services.place.state, lock, async (locked) => {
    const epoch = await currentEpoch(services.place.state, name, opened.rid);
    const given = { field: rule.field, type: options.type ?? null, ...options.values };
    const task = { rid: opened.rid, epoch, given };
    const known = locked.progress;
    const isSame = known && canonical(known.task) === canonical(task);
    await using gate = await openWriteGate(services.place.state, name, { clock });
    const projections = eventReaders(options.loaded.pipeline, name).map(projectionId);
    const gated = projections.length > 0;
    const watching = { projections, clock, readLagMs, signal: locked.signal };
    const foreign = options.foreign ?? (await foreignKeys(options, { name, keyPaths: opened.keyPaths }));
    const rounds = new Rounds({
      ...options,
      ...(foreign && { foreign }),
      clock,
      waitMs: (options.patienceMs ?? PATIENCE_MS) + readLagMs,
      signal: locked.signal,
      target: opened,
      in: container,
      known: isSame ? known : { task, positions: [], written: 0 },
      save: locked.save,
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
