import { Cron } from 'croner';
import { messageOf } from '../../base/errors.ts';
import type { FunctionMetadata } from './core.ts';
import { resolveNames } from './names.ts';
import { hostError } from '../errors.ts';

export interface Timers extends Disposable {
  /** Runs a timer's function now; false: there is no timer of that name. */
  fire(name: string): boolean;
  readonly names: readonly string[];
}

export const timerTrigger = ({ bindings }: FunctionMetadata) =>
  Object.values(bindings).find(({ type }) => String(type).toLowerCase() === 'timertrigger');

/**
 * Runs timer functions by their NCRONTAB schedules, in UTC. Two runs of one timer never overlap.
 * @throws UsageError `app-invalid`
 */
export function startTimers(
  functions: readonly FunctionMetadata[],
  environment: NodeJS.ProcessEnv,
  run: (name: string, isPastDue: boolean) => Promise<void>,
): Timers {
  const jobs = new Map<string, Cron>();
  for (const of of functions) {
    const trigger = timerTrigger(of);
    if (!trigger) continue;
    const { name } = of;
    const schedule = resolveNames(String(trigger['schedule']), environment, name);
    try {
      // `protect`: while a run lasts, the next one is skipped.
      jobs.set(
        name,
        new Cron(schedule, { timezone: 'Etc/UTC', protect: true, name: `millrace ${name}` }, () => run(name, false)),
      );
    } catch (cause) {
      for (const job of jobs.values()) job.stop();
      throw hostError('app-invalid', `The schedule of ${name} is ${JSON.stringify(schedule)}: ${messageOf(cause)}`, {
        hint: 'Write six fields: second, minute, hour, day, month, day of the week; for example `0 */5 * * * *`.',
        cause,
      });
    }
    if (trigger['runOnStartup'] === true) void jobs.get(name)?.trigger();
  }
  return {
    names: [...jobs.keys()],
    fire: (name) => {
      const job = jobs.get(name);
      if (job) void job.trigger();
      return job !== undefined;
    },
    [Symbol.dispose]: () => {
      for (const job of jobs.values()) job.stop();
    },
  };
}
