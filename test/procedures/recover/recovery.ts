import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { recoverVerb } from '../../../src/verbs/recover/recover.operation.ts';
import type { Operation, OperationResult } from '../../../src/verbs/operation.ts';
import type { Recovered } from '../../../src/procedures/recover/recover.ts';
import type { Stage } from '../../support/stage.ts';
import { SteppingClock } from '../../verbs/leases/lease-world.ts';

/** Works as a process that starts now: no client remembers containers of before. */
export async function afresh<T>(stage: Stage, work: (now: Stage) => Promise<T>): Promise<T> {
  const services = await openServices(stage.settings, { httpClient: stage.emulator.clientOptions.httpClient });
  try {
    return await work({ ...stage, services, container: (name) => services.place.database.container(name) });
  } finally {
    services.close();
  }
}

/** Hosts run until they have processed everything. */
export const derive = (stage: Stage): Promise<void> =>
  afresh(stage, async (now) => {
    const app = await compose({ ...now, host: 'ours', readLagMs: 0, timings: { pollMs: 40, acquireMs: 50 } });
    await app.start();
    await app.drained(AbortSignal.timeout(30_000));
    await app.stop();
  });

export interface Run {
  readonly clock: SteppingClock;
  readonly signal: AbortSignal;
}

export const newRun = (): Run => ({ clock: new SteppingClock(), signal: AbortSignal.timeout(150_000) });

/** `millrace recover` with the pipeline and the services of the stage. */
export const recoverOn = async (
  stage: Stage,
  run: Run,
  input: Record<string, unknown> = {},
): Promise<{ value: Recovered; ok: boolean }> =>
  (await operateOn(stage, run, recoverVerb, input)) as { value: Recovered; ok: boolean };

/** An operation with the pipeline and the services of the stage. */
export async function operateOn(
  { settings, services, loaded }: Stage,
  { clock, signal }: Run,
  operation: Operation,
  input: Record<string, unknown> = {},
): Promise<OperationResult> {
  const opened = openWorkspace({ directory: import.meta.dirname });
  const workspace = {
    ...opened,
    settings: () => settings,
    services: () => Promise.resolve(services),
    pipeline: () => Promise.resolve(loaded),
  };
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  return operation.run(input, { workspace, actor: 'tester', signal, screen, clock });
}
