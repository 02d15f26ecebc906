import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { flag } from '../../verbs/flags.ts';
import { defineOperation } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import { tablesThatDiffer } from '../http/compare-deployed.ts';
import { LOOK_MS, dashboardBeside, dashboardFlag, portOf } from './dashboard.ts';
import { parkedNow, sayParked } from './letters-now.ts';
import { progressTable } from './progress.ts';
import { plural } from '../../procedures/table.ts';
import { requirePostgresUrl } from '../../base/settings.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { untilControlReadable } from '../../runtime/stored-formats.ts';
import { assertPositions } from '../../runtime/lease-positions.ts';
import { type Problems, atMostEvery, problemsOf } from './problems.ts';
import { type Probes, probesFlag, startProbes } from './probes.ts';
import { readScale } from './scale.ts';
import { placesOf } from '../../runtime/places.ts';
import type { LoadedPipeline, Services, Workspace } from '../../runtime/workspace.ts';
import { runPipeline } from './run-pipeline.ts';
import { startVerifying } from './verifying.ts';
import { ended, untilAborted } from './until-aborted.ts';

/** A verification by the schedule may be in a request that isn't answered. */
const END_VERIFYING_MS = 3_000;

/** An orchestrator and Prometheus ask every few seconds. */
const NEEDS_MS = 10_000;

/** `registry`: the operations that the dashboard may run. */
export const run = (registry: () => Registry) =>
  defineOperation({
    name: 'run',
    summary: 'Run the pipeline against the account of the settings, together with the other hosts',
    examples: [
      'millrace run --env production',
      'millrace run --host worker-1',
      'millrace run --dashboard 8080',
      'millrace run --probes 8081',
      'millrace run --once --json',
    ],
    shards: 'itself',
    effect: 'changes',
    lasting: true,
    input: z.object({
      host: z
        .string()
        .regex(/^[^/\\#?]{1,200}$/, 'must have 1 to 200 characters, none of / \\ # ?')
        .optional()
        .describe(
          'this host’s name in the leases; with a fixed name it resumes immediately after a restart (default: random)',
        ),
      once: flag('end when this and the other hosts have read all changes to the end'),
      pollDelay: z.int().min(1).default(5_000).describe('milliseconds between reads of a feed that has nothing new'),
      leaseExpiration: z
        .int()
        .min(1_000)
        .default(60_000)
        .describe('milliseconds after which another host may take a lease that is not renewed'),
      dashboard: dashboardFlag,
      probes: probesFlag,
    }),
    run: async ({ host, once, pollDelay, leaseExpiration, dashboard, probes: probesAt }, context) => {
      const { workspace, signal, screen } = context;
      await using _dashboard = await dashboardBeside(dashboard, context, registry);
      const probesPort = portOf(probesAt);
      // Before the pipeline: it registers the provider that the pipeline's metrics go to, and answers while hosts start.
      await using probes: Probes | undefined =
        probesPort === undefined
          ? undefined
          : await startProbes({
              screen,
              port: probesPort,
              scale: () => readScale(context, leaseExpiration),
            });
      const loaded = await workspace.pipeline();
      const settings = workspace.settings();
      if (layoutsOf(loaded).length > 0) requirePostgresUrl(settings);
      const services = await workspace.services();
      await untilControlReadable(services, { signal, say: (line) => screen.line(line) });
      for (const place of await placesOf({ settings, services, loaded }).list()) {
        const there = await place.open().catch(() => undefined);
        // A shard that doesn't answer stops no host. The others would show the same.
        const again = there && (await assertPositions(there.loaded.pipeline, there.services, settings));
        if (again !== undefined) screen.line(again);
      }
      for (const { projection, what } of await tablesThatDiffer(loaded, signal)) screen.line(`${projection}: ${what}`);
      const name = host ?? `${hostname()}-${randomBytes(3).toString('hex')}`;
      if (screen.live) screen.line(`${name} runs ${loaded.folder} on ${settings.database}. Ctrl-C stops.`);
      let kept: readonly string[] = [];
      const projections = await runPipeline(
        {
          settings,
          services,
          loaded,
          host: name,
          timings: {
            pollMs: pollDelay,
            expirationMs: leaseExpiration,
            renewMs: leaseExpiration / 3.5,
            acquireMs: leaseExpiration / 4.6,
          },
          signal,
          screen,
          kept: (leases) => void (kept = leases),
          needs: needsOf(loaded, services, workspace),
          // This host reports itself as often as the dashboard looks.
          ...(portOf(dashboard) === undefined ? {} : { statusMs: LOOK_MS }),
        },
        async (app, problems) => {
          probes?.ready(problems);
          using _notReady = { [Symbol.dispose]: () => probes?.ready(undefined) };
          if (once) {
            await app.drained(signal);
            return;
          }
          const endVerifying = startVerifying(context);
          await untilAborted(signal);
          await ended(END_VERIFYING_MS, endVerifying);
        },
      );
      const held = { leases: kept, seconds: Math.ceil(leaseExpiration / 1_000) };
      return { host: name, projections, held, parked: once ? await parkedNow({ settings, services, loaded }) : null };
    },
    format: ({ host, projections, parked, held: { leases, seconds } }) => {
      const free =
        leases.length === 0
          ? 'its leases are free'
          : `it could not give back ${plural(leases.length, 'lease')} (${leases.join(', ')}), which other hosts may take ${seconds} s after the last renewal`;
      return [...progressTable(projections), ...sayParked(parked ?? 0), `${host} stopped; ${free}.`].join('\n');
    },
    ok: ({ parked }) => !parked,
  });

/** The hubs that it writes to, which are tried for minutes before a page fails, and the jobs that retry reactions. */
function needsOf({ pipeline }: LoadedPipeline, { hubs }: Services, workspace: Workspace): Problems {
  const reacts = pipeline.effects.some(({ kind }) => kind === 'react') && workspace.settings().jobsUrl !== undefined;
  const asked = [
    ...new Set(pipeline.publishes.map(({ to }) => to))
      .values()
      .map((hub) => () => problemsOf(`event hub ${hub}`, () => hubs.check(hub))),
    ...(reacts ? [() => problemsOf('jobs', async () => (await workspace.jobs()).counts())] : []),
  ];
  return atMostEvery(NEEDS_MS, async () => (await Promise.all(asked.map((ask) => ask()))).flat());
}
