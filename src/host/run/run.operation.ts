import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { defineOperation } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import { tablesThatDiffer } from '../http/readiness.ts';
import { LOOK_MS, dashboardBeside, dashboardFlag, portOf } from './dashboard.ts';
import { progressTable } from './progress.ts';
import { requirePostgresUrl } from '../../base/settings.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { untilControlReadable } from '../../runtime/stored-formats.ts';
import { refuseRenamedPrefix } from '../../runtime/renamed-prefix.ts';
import { type Probes, probesFlag, startProbes } from './probes.ts';
import { readScale } from './scale.ts';
import { pipelinePlaces } from '../../runtime/shard-map.ts';
import { runPipeline } from './run-pipeline.ts';
import { startVerifying } from './verifying.ts';
import { untilAborted } from './until-aborted.ts';

/** `registry`: the operations that the dashboard may run. */
export const run = (registry: () => Registry) =>
  defineOperation({
    verb: 'run',
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
      once: z.boolean().default(false).describe('end when this and the other hosts have read all changes to the end'),
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
      for (const place of await pipelinePlaces({ settings, services, loaded })) {
        const there = await place.open().catch(() => undefined);
        // A shard that doesn't answer stops no host. The others would show the same.
        if (there) await refuseRenamedPrefix(place.loaded.pipeline, there, settings);
      }
      for (const { projection, what } of await tablesThatDiffer(loaded, signal)) screen.line(`${projection}: ${what}`);
      const name = host ?? `${hostname()}-${randomBytes(3).toString('hex')}`;
      if (screen.live) screen.line(`${name} runs ${loaded.folder} on ${settings.database}. Ctrl-C stops.`);
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
          // This host reports itself as often as the dashboard looks.
          ...(portOf(dashboard) === undefined ? {} : { statusMs: LOOK_MS }),
        },
        async (app) => {
          probes?.ready(true);
          using _notReady = { [Symbol.dispose]: () => probes?.ready(false) };
          if (once) {
            await app.drained(signal);
            return;
          }
          const endVerifying = startVerifying(context);
          await untilAborted(signal);
          await endVerifying();
        },
      );
      return { host: name, projections };
    },
    format: ({ host, projections }) =>
      `${progressTable(projections).join('\n')}\n${host} stopped; its leases are free.`,
  });
