import { type InvocationContext, type Timer, app } from '@azure/functions';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { wholeOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import type { Drain } from './drain.ts';
import { lateRegistry } from './late.ts';
import { record } from '../http/audit.ts';
import { logScreen } from '../http/log-screen.ts';

/** An operation on a schedule. */
export interface TimerPlan {
  /** The function's name. */
  readonly name: string;
  /** NCRONTAB: second, minute, hour, day, month, day of the week; UTC. */
  readonly schedule: string;
  /** The name of a registered operation. */
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether an app with this pipeline needs the timer. */
  readonly needed: (pipeline: Pipeline) => boolean;
}

/**
 * The operations that a function app runs on a schedule, as the command line would. Each run writes one line of JSON to
 * the log. The alerts of infra/modules/alerts.bicep look for lines that report a finding (`ok: false`) and for missing
 * lines.
 */
export const TIMERS: readonly TimerPlan[] = [
  {
    name: 'metrics',
    schedule: '0 */5 * * * *',
    operation: 'status',
    input: {},
    needed: () => true,
  },
  {
    // Also finds a feed that no host reads, and a stuck lease.
    name: 'leases-check',
    schedule: '20 */5 * * * *',
    operation: 'leases list',
    input: { check: true },
    needed: () => true,
  },
  {
    // What no line of another timer shows: a hub, the job store, the storage, rights and the clock.
    name: 'doctor',
    schedule: '25 */10 * * * *',
    operation: 'doctor',
    input: {},
    needed: () => true,
  },
  {
    name: 'archive-sweep',
    // A sweep costs what is due, so it may come often. One whose time is up goes on with the next.
    schedule: '10 */10 * * * *',
    operation: 'archive sweep',
    input: { within: 200 },
    needed: ({ archives }) => archives.length > 0,
  },
  {
    name: 'archive-expire',
    // A blob goes a day after its documents.
    schedule: '50 20 3 * * *',
    operation: 'archive expire',
    input: { within: 200 },
    // It works on the blobs of all places, so the app of the global place runs it.
    needed: (pipeline) =>
      pipeline.part?.place !== 'shard' && wholeOf(pipeline).archives.some(({ keep }) => keep !== undefined),
  },
  {
    name: 'fan-out',
    schedule: '15 * * * * *',
    operation: 'projections fan-out',
    input: { within: 40 },
    needed: ({ embeds }) => embeds.length > 0,
  },
  {
    // Looks what VERIFY_SAMPLE and VERIFY_FULL say is due, and continues a verification whose time was up.
    name: 'verify',
    schedule: '40 */5 * * * *',
    operation: 'projections verify',
    // An app without a functionTimeout of its own may be stopped after five minutes.
    input: { due: true, within: 200 },
    needed: () => process.env['VERIFY_SAMPLE'] !== 'off' || process.env['VERIFY_FULL'] !== 'off',
  },
  {
    name: 'jobs',
    schedule: '30 * * * * *',
    operation: 'jobs work',
    // The worker must end with its call; the next call comes a minute later.
    input: { within: 50 },
    // A worker takes the jobs of every place.
    needed: ({ part }) => part?.place !== 'shard' && Boolean(process.env['JOBS_URL']),
  },
];

/** Registers the timers that the pipeline needs. `place`: the input of operations that work in places. */
export function registerTimers(
  pipeline: Pipeline,
  workspace: Workspace,
  drain: Drain,
  place: () => Promise<object>,
): void {
  for (const { name, schedule, operation: wanted, input, needed } of TIMERS) {
    if (!needed(pipeline)) continue;
    app.timer(name, {
      schedule,
      handler: async (_timer: Timer, context: InvocationContext): Promise<void> => {
        const began = performance.now();
        const actor = `timer:${name}`;
        const ended = (of: Readonly<Record<string, unknown>>): string =>
          record('timer', { operation: wanted, actor, ms: Math.round(performance.now() - began), ...of });
        try {
          const registry = await lateRegistry();
          const { ok, value } = await drain.run(async (signal) => {
            const found = registry.get(wanted);
            if (!found)
              throw sharedError('not-found', `This build has no operation ${wanted}`, {
                hint: 'Correct the name; for a job, deploy its worker and its sender from the same build.',
              });
            const at = found.shards === 'every' ? await place() : {};
            return found.run({ ...input, ...at }, { workspace, actor, signal, screen: logScreen(context) });
          });
          if (ok) context.log(ended({ ok: true, value }));
          else context.error(ended({ ok: false, value }));
        } catch (error) {
          context.error(ended({ ok: false, error: messageOf(error) }));
          throw error;
        }
      },
    });
  }
}
