import { archiveHoldAdd } from '../verbs/archive/hold-add.operation.ts';
import { archiveHoldList } from '../verbs/archive/hold-list.operation.ts';
import { archiveHoldEnd } from '../verbs/archive/hold-end.operation.ts';
import { archiveList } from '../verbs/archive/list.operation.ts';
import { archiveExpire } from '../verbs/archive/expire.operation.ts';
import { archiveCompact } from '../verbs/archive/compact.operation.ts';
import { archiveRestore } from '../verbs/archive/restore.operation.ts';
import { archiveSweep } from '../verbs/archive/sweep.operation.ts';
import { archiveVerify } from '../verbs/archive/verify.operation.ts';
import { audit } from '../verbs/audit/audit.operation.ts';
import { checkpointsDelete } from '../verbs/checkpoints/delete.operation.ts';
import { checkpointsList } from '../verbs/checkpoints/list.operation.ts';
import { checkpointsRestore } from '../verbs/checkpoints/restore.operation.ts';
import { checkpointsSave } from '../verbs/checkpoints/save.operation.ts';
import { migrateContainer } from '../verbs/containers/migrate.operation.ts';
import { deadLettersDiscard } from '../verbs/dead-letters/discard.operation.ts';
import { deadLettersList } from '../verbs/dead-letters/list.operation.ts';
import { deadLettersRedrive } from '../verbs/dead-letters/redrive.operation.ts';
import { deadLettersShow } from '../verbs/dead-letters/show.operation.ts';
import { doctor } from '../verbs/doctor.operation.ts';
import { jobsList } from '../verbs/jobs/list.operation.ts';
import { leasesAdopt } from '../verbs/leases/adopt.operation.ts';
import { leasesExport } from '../verbs/leases/export.operation.ts';
import { leasesHandback } from '../verbs/leases/handback.operation.ts';
import { leasesImport } from '../verbs/leases/import.operation.ts';
import { leasesList } from '../verbs/leases/list.operation.ts';
import { leasesRewind } from '../verbs/leases/rewind.operation.ts';
import { modelReview } from '../verbs/model/review.operation.ts';
import { modelApply } from '../verbs/model/apply.operation.ts';
import { modelCheck } from '../verbs/model/check.operation.ts';
import { modelCost } from '../verbs/model/cost.operation.ts';
import { modelImport } from '../verbs/model/import.operation.ts';
import { modelInfra } from '../verbs/model/infra.operation.ts';
import { modelPropose } from '../verbs/model/propose.operation.ts';
import { modelTypes } from '../verbs/model/types.operation.ts';
import { plan } from '../verbs/plan.operation.ts';
import { projectionsDrop } from '../verbs/projections/drop.operation.ts';
import { projectionsFanOut } from '../verbs/projections/fan-out.operation.ts';
import { projectionsList } from '../verbs/projections/list.operation.ts';
import { projectionsPause } from '../verbs/projections/pause.operation.ts';
import { projectionsPromote } from '../verbs/projections/promote.operation.ts';
import { projectionsRerun } from '../verbs/projections/rerun.operation.ts';
import { projectionsRebuild } from '../verbs/projections/rebuild.operation.ts';
import { projectionsReplay } from '../verbs/projections/replay.operation.ts';
import { projectionsResume } from '../verbs/projections/resume.operation.ts';
import { projectionsShow } from '../verbs/projections/show.operation.ts';
import { projectionsVerify } from '../verbs/projections/verify.operation.ts';
import type { Operation } from '../verbs/operation.ts';
import { Registry } from '../verbs/registry.ts';
import { recoverVerb } from '../verbs/recover/recover.operation.ts';
import { shardsCheck } from '../verbs/shards/check.operation.ts';
import { shardsInit } from '../verbs/shards/init.operation.ts';
import { shardsList } from '../verbs/shards/list.operation.ts';
import { shardsKeysLock, shardsKeysUnlock } from '../verbs/shards/locks.operation.ts';
import { shardsMove } from '../verbs/shards/move.operation.ts';
import { shardsMoves } from '../verbs/shards/moves.operation.ts';
import { shardsMerge, shardsSplit } from '../verbs/shards/split-merge.operation.ts';
import {
  shardsKeysMap,
  shardsKeysOffline,
  shardsKeysOnline,
  shardsKeysUnmap,
} from '../verbs/shards/mappings.operation.ts';
import { shardsMapCreate, shardsMapDelete } from '../verbs/shards/maps.operation.ts';
import { shardsRecover } from '../verbs/shards/recover.operation.ts';
import { shardsSchedule } from '../verbs/shards/schedule.operation.ts';
import { shardsAdd, shardsAttach, shardsDetach, shardsRemove } from '../verbs/shards/shards.operation.ts';
import { shardsShow } from '../verbs/shards/show.operation.ts';
import { sqlCheck } from '../verbs/sql/check.operation.ts';
import { sqlClean } from '../verbs/sql/clean.operation.ts';
import { sqlDdl } from '../verbs/sql/ddl.operation.ts';
import { sqlMigrate } from '../verbs/sql/migrate.operation.ts';
import { sqlRebalance } from '../verbs/sql/rebalance.operation.ts';
import { tenantsBackfill } from '../verbs/tenants/backfill.operation.ts';
import { tenantsAdmit } from '../verbs/tenants/admit.operation.ts';
import { tenantsErase } from '../verbs/tenants/erase.operation.ts';
import { tenantsExport } from '../verbs/tenants/export.operation.ts';
import { tenantsList } from '../verbs/tenants/list.operation.ts';
import { trace } from '../verbs/trace/trace.operation.ts';
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
  recoverVerb,
  modelCheck,
  modelCost,
  modelTypes,
  modelReview,
  modelApply,
  modelInfra,
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
