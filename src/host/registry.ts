import { archiveList } from '../operations/archive/list.ts';
import { archiveRestore } from '../operations/archive/restore.ts';
import { archiveSweep } from '../operations/archive/sweep.ts';
import { archiveVerify } from '../operations/archive/verify.ts';
import { containersMigrate } from '../operations/containers/operation.ts';
import { deadLettersDiscard } from '../operations/dead-letters/discard.ts';
import { deadLettersList } from '../operations/dead-letters/list.ts';
import { deadLettersRedrive } from '../operations/dead-letters/redrive.ts';
import { deadLettersShow } from '../operations/dead-letters/show.ts';
import { jobsList } from '../operations/jobs/list.ts';
import { auditList } from '../operations/audit/list.ts';
import { checkpointsDelete } from '../operations/checkpoints/delete.ts';
import { checkpointsList } from '../operations/checkpoints/list.ts';
import { checkpointsRestore } from '../operations/checkpoints/restore.ts';
import { checkpointsSave } from '../operations/checkpoints/save.ts';
import { doctor } from '../operations/doctor.ts';
import { leasesAdopt } from '../operations/leases/adopt.ts';
import { leasesCheck } from '../operations/leases/check.ts';
import { leasesExport } from '../operations/leases/export.ts';
import { leasesHandback } from '../operations/leases/handback.ts';
import { leasesImport } from '../operations/leases/import.ts';
import { leasesList } from '../operations/leases/list.ts';
import { leasesRewind } from '../operations/leases/rewind.ts';
import { modelApply } from '../operations/model/apply.ts';
import { modelCheck } from '../operations/model/check.ts';
import { modelCost } from '../operations/model/cost.ts';
import { modelDrift } from '../operations/model/drift.ts';
import { modelExplain } from '../operations/model/explain.ts';
import { modelFormat } from '../operations/model/format.ts';
import { modelImport } from '../operations/model/import.ts';
import { modelInfra } from '../operations/model/infra.ts';
import { modelInterview } from '../operations/model/interview.ts';
import { modelTypes } from '../operations/model/types.ts';
import { plan } from '../operations/plan.ts';
import { projectionsDrop } from '../operations/projections/drop.ts';
import { projectionsList } from '../operations/projections/list.ts';
import { projectionsPause, projectionsResume } from '../operations/projections/pause.ts';
import { projectionsPromote } from '../operations/projections/promote.ts';
import { projectionsRebuild } from '../operations/projections/rebuild.ts';
import { projectionsReplay } from '../operations/projections/replay.ts';
import { projectionsShow } from '../operations/projections/show.ts';
import { projectionsRepair, projectionsVerify } from '../operations/projections/verify-operation.ts';
import { Registry } from '../operations/registry.ts';
import { status } from '../operations/status.ts';
import { dev } from './dev/dev.operation.ts';
import { emulatorForeignHost } from './dev/emulator/foreign-host.operation.ts';
import { emulatorMerge, emulatorSplit } from './dev/emulator/partitions.operation.ts';
import { emulatorClock, emulatorThrottle } from './dev/emulator/physics.operation.ts';
import { emulatorStart } from './dev/emulator/start.operation.ts';
import { emulatorExport, emulatorImport } from './dev/emulator/transfer.operation.ts';
import {
  emulatorCrash,
  emulatorFailover,
  emulatorFaults,
  emulatorRestore,
  emulatorStall,
} from './dev/emulator/world.operation.ts';
import { jobsWork } from './run/jobs.ts';
import { init } from './init/init.operation.ts';
import { functionsList } from './local-host/functions-list.operation.ts';
import { functionsStart } from './local-host/functions-start.operation.ts';
import { projectionsFanOut } from '../operations/projections/fan-out.operation.ts';
import { modelBuild } from '../operations/model/build.operation.ts';
import { run } from './run/run.operation.ts';

/** Every operation of this build. Those that start something live in host, the others in operations. */
export const registry = new Registry([
  init,
  dev,
  run,
  plan,
  status,
  doctor,
  modelCheck,
  modelExplain,
  modelCost,
  modelFormat,
  modelTypes,
  modelApply,
  modelInfra,
  modelBuild,
  modelImport,
  modelInterview,
  modelDrift,
  projectionsList,
  projectionsShow,
  projectionsRebuild,
  projectionsPromote,
  projectionsDrop,
  projectionsReplay,
  projectionsPause,
  projectionsResume,
  projectionsVerify,
  projectionsRepair,
  projectionsFanOut,
  leasesList,
  leasesCheck,
  leasesRewind,
  leasesAdopt,
  leasesHandback,
  leasesExport,
  leasesImport,
  checkpointsSave,
  checkpointsList,
  checkpointsRestore,
  checkpointsDelete,
  auditList,
  containersMigrate,
  deadLettersList,
  deadLettersShow,
  deadLettersRedrive,
  deadLettersDiscard,
  archiveSweep,
  archiveList,
  archiveVerify,
  archiveRestore,
  jobsWork,
  jobsList,
  functionsStart,
  functionsList,
  emulatorStart,
  emulatorSplit,
  emulatorMerge,
  emulatorThrottle,
  emulatorClock,
  emulatorFaults,
  emulatorStall,
  emulatorCrash,
  emulatorFailover,
  emulatorRestore,
  emulatorForeignHost,
  emulatorExport,
  emulatorImport,
]);
