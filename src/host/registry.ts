import { archiveHoldAdd } from '../operations/archive/hold-add.operation.ts';
import { archiveHoldList } from '../operations/archive/hold-list.operation.ts';
import { archiveHoldEnd } from '../operations/archive/hold-end.operation.ts';
import { archiveList } from '../operations/archive/list.operation.ts';
import { archiveExpire } from '../operations/archive/expire.operation.ts';
import { archiveCompact } from '../operations/archive/compact.operation.ts';
import { archiveRestore } from '../operations/archive/restore.operation.ts';
import { archiveSweep } from '../operations/archive/sweep.operation.ts';
import { archiveVerify } from '../operations/archive/verify.operation.ts';
import { audit } from '../operations/audit/audit.operation.ts';
import { checkpointsDelete } from '../operations/checkpoints/delete.operation.ts';
import { checkpointsList } from '../operations/checkpoints/list.operation.ts';
import { checkpointsRestore } from '../operations/checkpoints/restore.operation.ts';
import { checkpointsSave } from '../operations/checkpoints/save.operation.ts';
import { migrateContainer } from '../operations/containers/migrate.operation.ts';
import { deadLettersDiscard } from '../operations/dead-letters/discard.operation.ts';
import { deadLettersList } from '../operations/dead-letters/list.operation.ts';
import { deadLettersRedrive } from '../operations/dead-letters/redrive.operation.ts';
import { deadLettersShow } from '../operations/dead-letters/show.operation.ts';
import { doctor } from '../operations/doctor.operation.ts';
import { jobsList } from '../operations/jobs/list.operation.ts';
import { leasesAdopt } from '../operations/leases/adopt.operation.ts';
import { leasesExport } from '../operations/leases/export.operation.ts';
import { leasesHandback } from '../operations/leases/handback.operation.ts';
import { leasesImport } from '../operations/leases/import.operation.ts';
import { leasesList } from '../operations/leases/list.operation.ts';
import { leasesRewind } from '../operations/leases/rewind.operation.ts';
import { modelReview } from '../operations/model/review.operation.ts';
import { modelApply } from '../operations/model/apply.operation.ts';
import { modelBuild } from '../operations/model/build.operation.ts';
import { modelCheck } from '../operations/model/check.operation.ts';
import { modelCost } from '../operations/model/cost.operation.ts';
import { modelImport } from '../operations/model/import.operation.ts';
import { modelInfra } from '../operations/model/infra.operation.ts';
import { modelPropose } from '../operations/model/propose.operation.ts';
import { modelTypes } from '../operations/model/types.operation.ts';
import { plan } from '../operations/plan.operation.ts';
import { projectionsDrop } from '../operations/projections/drop.operation.ts';
import { projectionsFanOut } from '../operations/projections/fan-out.operation.ts';
import { projectionsList } from '../operations/projections/list.operation.ts';
import { projectionsPause } from '../operations/projections/pause.operation.ts';
import { projectionsPromote } from '../operations/projections/promote.operation.ts';
import { projectionsRerun } from '../operations/projections/rerun.operation.ts';
import { projectionsRebuild } from '../operations/projections/rebuild.operation.ts';
import { projectionsReplay } from '../operations/projections/replay.operation.ts';
import { projectionsResume } from '../operations/projections/resume.operation.ts';
import { projectionsShow } from '../operations/projections/show.operation.ts';
import { projectionsVerify } from '../operations/projections/verify.operation.ts';
import type { Operation } from '../operations/operation.ts';
import { Registry } from '../operations/registry.ts';
import { recover } from '../operations/recover/recover.operation.ts';
import { shardsCheck } from '../operations/shards/check.operation.ts';
import { shardsInit } from '../operations/shards/init.operation.ts';
import { shardsList } from '../operations/shards/list.operation.ts';
import { shardsKeysLock, shardsKeysUnlock } from '../operations/shards/locks.operation.ts';
import { shardsMove } from '../operations/shards/move.operation.ts';
import { shardsMoves } from '../operations/shards/moves.operation.ts';
import { shardsMerge, shardsSplit } from '../operations/shards/split-merge.operation.ts';
import {
  shardsKeysMap,
  shardsKeysOffline,
  shardsKeysOnline,
  shardsKeysUnmap,
} from '../operations/shards/mappings.operation.ts';
import { shardsMapCreate, shardsMapDelete } from '../operations/shards/maps.operation.ts';
import { shardsRecover } from '../operations/shards/recover.operation.ts';
import { shardsSchedule } from '../operations/shards/schedule.operation.ts';
import { shardsAdd, shardsAttach, shardsDetach, shardsRemove } from '../operations/shards/shards.operation.ts';
import { shardsShow } from '../operations/shards/show.operation.ts';
import { sqlCheck } from '../operations/sql/check.operation.ts';
import { sqlClean } from '../operations/sql/clean.operation.ts';
import { sqlDdl } from '../operations/sql/ddl.operation.ts';
import { sqlMigrate } from '../operations/sql/migrate.operation.ts';
import { sqlRebalance } from '../operations/sql/rebalance.operation.ts';
import { tenantsBackfill } from '../operations/tenants/backfill.operation.ts';
import { tenantsAdmit } from '../operations/tenants/admit.operation.ts';
import { tenantsErase } from '../operations/tenants/erase.operation.ts';
import { tenantsExport } from '../operations/tenants/export.operation.ts';
import { tenantsList } from '../operations/tenants/list.operation.ts';
import { trace } from '../operations/trace/trace.operation.ts';
import { dev } from './dev/dev.operation.ts';
import { emulatorMerge, emulatorSplit } from './dev/emulator/partitions.operation.ts';
import { emulatorClock, emulatorThrottle } from './dev/emulator/physics.operation.ts';
import { emulatorStart } from './dev/emulator/start.operation.ts';
import { emulatorFailover, emulatorFaults, emulatorRestore, emulatorStall } from './dev/emulator/world.operation.ts';
import { init } from './init/init.operation.ts';
import { functionsStart } from './local-host/functions-start.operation.ts';
import { jobsWork } from './run/jobs.ts';
import { run } from './run/run.operation.ts';
import { statusServed } from './run/status-served.ts';

/**
 * The verbs of this build, except `model prove` and `mcp`, which the command line adds (`cli/registry.ts`). Those that start
 * something are in `host`, the others in `operations`.
 */
export const verbs: readonly Operation[] = [
  init,
  dev(() => registry),
  run(() => registry),
  plan,
  statusServed(() => registry),
  trace,
  doctor,
  recover,
  modelCheck,
  modelCost,
  modelTypes,
  modelReview,
  modelApply,
  modelInfra,
  modelBuild,
  modelImport,
  modelPropose,
  projectionsList,
  projectionsShow,
  projectionsRebuild,
  projectionsPromote,
  projectionsDrop,
  projectionsReplay,
  projectionsRerun,
  projectionsPause,
  projectionsResume,
  projectionsVerify,
  leasesList,
  leasesRewind,
  leasesAdopt,
  leasesHandback,
  leasesExport,
  leasesImport,
  checkpointsSave,
  checkpointsList,
  checkpointsRestore,
  checkpointsDelete,
  audit,
  migrateContainer,
  tenantsList,
  tenantsExport,
  tenantsErase,
  tenantsAdmit,
  shardsList,
  shardsShow,
  shardsInit,
  shardsMapCreate,
  shardsMapDelete,
  shardsAdd,
  shardsRemove,
  shardsDetach,
  shardsAttach,
  shardsSchedule,
  shardsKeysMap,
  shardsKeysUnmap,
  shardsKeysOffline,
  shardsKeysOnline,
  shardsKeysLock,
  shardsKeysUnlock,
  shardsSplit,
  shardsMerge,
  shardsMove,
  shardsMoves,
  shardsCheck,
  shardsRecover,
  deadLettersList,
  deadLettersShow,
  deadLettersRedrive,
  deadLettersDiscard,
  archiveSweep,
  archiveList,
  archiveCompact,
  archiveExpire,
  archiveVerify,
  archiveHoldAdd,
  archiveHoldList,
  archiveHoldEnd,
  archiveRestore,
  sqlDdl,
  sqlMigrate,
  sqlClean,
  sqlCheck,
  sqlRebalance,
  tenantsBackfill,
  jobsWork(() => registry),
  jobsList,
  functionsStart,
  emulatorStart,
  emulatorSplit,
  emulatorMerge,
  emulatorThrottle,
  emulatorClock,
  emulatorFaults,
  emulatorStall,
  emulatorFailover,
  emulatorRestore,
];

/** Every operation of a deployment: the verbs, and what timers alone run. */
export const registry: Registry = new Registry([...verbs, projectionsFanOut]);
