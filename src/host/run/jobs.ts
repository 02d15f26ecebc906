import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import type { Handlers, JobKinds } from '../../jobs/job-kinds.ts';
import type { JobRow, Jobs, WorkOptions } from '../../jobs/jobs.ts';
import type { Redriven } from '../../engine/redrive-letter.ts';
import { redrive } from '../../procedures/dead-letters/redrive.ts';
import { defineOperation } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { Screen } from '../../procedures/screen.ts';
import { plural } from '../../procedures/table.ts';
import { placesOf } from '../../runtime/places.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { dashboardBeside, dashboardFlag, portOf } from './dashboard.ts';
import { startJobMetrics, startProblemMetrics } from './host-metrics.ts';
import { problemsOf } from './problems.ts';
import { probesFlag, startProbes } from './probes.ts';
import { runQueued } from './queued.ts';
import { untilAborted } from './until-aborted.ts';
import { projectionsError } from '../../kinds/errors.ts';

/** Runs each kind of job. A job of an operation runs it as the command line would. */
export function jobHandlers(registry: Registry, workspace: Workspace): Handlers<JobKinds> {
  return {
    operation: async ({ name, input, actor }, { askedAt, signal, progress }) => {
      const operation = registry.get(name);
      if (!operation) {
        throw sharedError('not-found', `This build has no operation ${name}`, {
          hint: 'Deploy the worker and the sender of the job from the same build.',
        });
      }
      const screen: Screen = {
        live: false,
        line: () => undefined,
        draw: () => undefined,
        progress: (_, done, of) => progress(done, of),
      };
      return runQueued(operation, input, { workspace, actor, signal, screen, askedAt });
    },
    reaction: async ({ projection, id, key, shard }, { signal }) => {
      const [services, loaded] = [await workspace.services(), await workspace.pipeline()];
      const places = await placesOf({ settings: workspace.settings(), services, loaded }).list();
      const home = places.filter((one) => one.shard === shard);
      // A move has taken the letter along. It writes it into the target before it removes it here, so this order misses none.
      const others = places.filter((one) => one.shard !== undefined && one.shard !== shard);
      const selected = { only: projection, id, key: JSON.stringify(key) };
      let again: readonly Redriven[] = [];
      for (const place of shard === undefined ? home : [...home, ...others]) {
        again = await redrive({ ...(await place.open()), ...selected, signal }).catch(resolvedByOthers);
        if (again.length > 0) break;
      }
      const refused = again.find(({ outcome }) => outcome === 'refused');
      if (refused)
        throw projectionsError('reaction-failed', refused.message ?? 'The reaction was refused again', {
          retryable: true,
        });
      return again;
    },
  };
}

/**
 * The dead letter no longer exists, because a newer version of the document was applied, or somebody redrove or discarded
 * the letter; or the projection no longer exists.
 */
function resolvedByOthers(error: unknown): readonly Redriven[] {
  if (error instanceof UsageError && error.code === 'not-found') return [];
  throw error;
}

export const jobsWork = (registry: () => Registry) =>
  defineOperation({
    name: 'jobs work',
    summary:
      'Run background jobs: rebuilds, replays, redrives, retries of reactions and all other work that was enqueued',
    examples: [
      'millrace jobs work --env production',
      'millrace jobs work --dashboard 8080',
      'millrace jobs work --within 240 --concurrency 2',
      'millrace jobs work --probes 8081',
    ],
    shards: 'itself',
    effect: 'changes',
    lasting: true,
    input: z.object({
      concurrency: z.int().min(1).max(64).default(2).describe('how many jobs run at the same time'),
      within: z.number().positive().optional().describe('end when no job waits, or after this many seconds'),
      dashboard: dashboardFlag,
      probes: probesFlag,
    }),
    plan: async (_, { workspace }) => ({ steps: (await waiting(await workspace.jobs())).map(sayJob), ru: 0 }),
    run: async ({ concurrency, within, dashboard, probes: probesAt }, context) => {
      const { workspace, signal, screen } = context;
      await using _dashboard = await dashboardBeside(dashboard, context, registry);
      const port = portOf(probesAt);
      const scale = async () => pending(await (await workspace.jobs()).counts());
      // Before the first job: it registers the provider that metrics go to, and answers while the datastore is away.
      await using probes = port === undefined ? undefined : await startProbes({ screen, port, scale });
      const jobs = await workspace.jobs();
      const problems = () => problemsOf('jobs', () => jobs.counts());
      const ends = [startJobMetrics(jobs), startProblemMetrics(problems)];
      using _metrics = { [Symbol.dispose]: () => ends.forEach((end) => end()) };
      probes?.ready(problems);
      let done = 0;
      /** Those of this run that have not succeeded since. */
      const unfinished = new Set<string>();
      const options: WorkOptions = {
        concurrency,
        onTrouble: (error) => screen.line(`jobs: ${messageOf(error)}; Millrace will try again`),
        onFinished: ({ id, name, failure }) => {
          done += 1;
          if (failure === null) unfinished.delete(id);
          else unfinished.add(id);
          screen.line(failure === null ? `job ${id} (${name}) is done` : `job ${id} (${name}) failed: ${failure}`);
        },
      };
      if (within !== undefined)
        await jobs.drain(jobHandlers(registry(), workspace), { withinMs: within * 1_000, signal }, options);
      else {
        const working = jobs.work(jobHandlers(registry(), workspace), options);
        await untilAborted(signal);
        probes?.ready(undefined);
        await working.stop();
      }
      const { waiting: left } = await jobs.counts();
      const lost = unfinished.size === 0 ? [] : (await jobs.list()).filter(({ state }) => state === 'failed');
      return { done, left, failed: lost.filter(({ id }) => unfinished.has(id)).length };
    },
    format: ({ done, left }) => `${plural(done, 'job')} ended; ${left.toLocaleString('en-US')} left.`,
    ok: ({ failed }) => failed === 0,
  });

/** For `/scale`: a delayed job needs no worker yet. */
const pending = ({ waiting, active }: { readonly waiting: number; readonly active: number }) => ({ waiting, active });

const waiting = async (jobs: Jobs): Promise<JobRow[]> => (await jobs.list()).filter(({ state }) => state === 'waiting');
const sayJob = ({ id, name, payload }: JobRow): string => `work on job ${id}: ${name} ${JSON.stringify(payload)}`;
