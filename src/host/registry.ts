import { archiveList } from '../operations/archive/list.ts';
import { archiveRestore } from '../operations/archive/restore.ts';
import { archiveSweep } from '../operations/archive/sweep.ts';
import { archiveVerify } from '../operations/archive/verify.ts';
import { deadLettersList } from '../operations/dead-letters/list.ts';
import { deadLettersShow } from '../operations/dead-letters/show.ts';
import { jobsList } from '../operations/jobs/list.ts';
import { leasesList } from '../operations/leases/list.ts';
import { modelApply } from '../operations/model/apply.ts';
import { modelTypes } from '../operations/model/types.ts';
import { projectionsList } from '../operations/projections/list.ts';
import { projectionsVerify } from '../operations/projections/verify.ts';
import { Registry } from '../operations/registry.ts';
import { status } from '../operations/status.ts';
import { dev } from './dev/operation.ts';
import { emulatorMerge, emulatorSplit } from './dev/emulator-partitions.ts';
import { emulatorClock, emulatorThrottle } from './dev/emulator-physics.ts';
import { emulatorStart } from './dev/emulator-start.ts';
import { jobsWork } from './jobs.ts';
import { run } from './run.ts';

/** Every operation of this build. Those that start something live in host, the others in operations. */
export const registry = new Registry([
  dev,
  run,
  status,
  modelTypes,
  modelApply,
  projectionsList,
  projectionsVerify,
  leasesList,
  deadLettersList,
  deadLettersShow,
  archiveSweep,
  archiveList,
  archiveVerify,
  archiveRestore,
  jobsWork,
  jobsList,
  emulatorStart,
  emulatorSplit,
  emulatorMerge,
  emulatorThrottle,
  emulatorClock,
]);
