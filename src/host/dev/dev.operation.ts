import { existsSync, readdirSync } from 'node:fs';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { SweepResult } from '../../archive/types.ts';
import { messageOf } from '../../base/errors.ts';
import { splitPath } from '../../cosmos/paths.ts';
import type { SourceRef } from '../../definition/specs.ts';
import { planStorage } from '../../operations/archive/open.ts';
import { formatSweep } from '../../operations/archive/sweep.ts';
import { planModel } from '../../operations/model/apply.ts';
import { type Context, defineOperation } from '../../operations/operation.ts';
import { type Verification, formatVerification, verify } from '../../operations/projections/verify.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../operations/table.ts';
import type { LoadedPipeline, Workspace } from '../../runtime/workspace.ts';
import { loadPipeline } from '../../runtime/load-pipeline.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { migrateTables } from '../../operations/sql/migrate.ts';
import { type ProjectionProgress, progressTable } from '../run/progress.ts';
import { openDashboard } from '../run/dashboard.ts';
import { runPipeline } from '../run/run-pipeline.ts';
import { untilAborted } from '../run/until-aborted.ts';
import { embeddedInput } from './embedded.ts';
import { type Input, fileInput, workloadInput } from './input.ts';
import { type Loaded, load } from './loader.ts';
import { type MovedThereAndBack, formatMoves, isWhole, moveThereAndBack } from './moves.ts';
import { type PublishedCheck, checkPublished, formatPublished, isRight } from './published.ts';
import type { Registry } from '../../operations/registry.ts';
import { type PlaceVerification, assertShards, prepareShards, verifyPlaces } from './shards.ts';
import { type Stage, openStage } from './stage.ts';
import { sweepPlaces, withSweep } from './sweeps.ts';
import { hostError } from '../errors.ts';

const SWEEP_MS = 60_000;
/** The embedded server costs nothing: the dashboard looks, and the host reports itself, this often. */
const DASHBOARD_MS = 1_000;
const ACCOUNT_MS = 5_000;

const input = z.object({
  example: z.string().optional().describe('run this example instead of your pipeline'),
  input: z
    .string()
    .optional()
    .describe('load this file, one JSON document a line, instead of the pipeline’s own workload'),
  into: z.string().optional().describe('container and type of the documents of --input, as Container/type'),
  rate: z.number().positive().optional().describe('load at most this many documents a second (default: no limit)'),
  once: z
    .boolean()
    .default(false)
    .describe('load and derive everything, then recompute it, compare and end; exit code 1 on a difference'),
  port: z.int().min(0).max(65_535).default(0).describe('port of the embedded server on 127.0.0.1; 0: any free port'),
  shards: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('spread the tenants over so many embedded databases, by a shard map; for a pipeline over shards'),
  dashboard: z.int().min(0).max(65_535).default(0).describe('port of the dashboard on 127.0.0.1; 0: any free port'),
  account: z.boolean().default(false).describe('use the account of the settings instead of the embedded server'),
  ...embeddedInput,
});
type DevInput = z.output<typeof input>;

export interface DevSummary {
  readonly pipeline: string;
  readonly loaded: Loaded | null;
  readonly projections: readonly ProjectionProgress[];
  /** What the sweeps moved to the archive; null without an archive. */
  readonly archive: readonly SweepResult[] | null;
  /** Only with --once. */
  readonly verification: Verification | null;
  /** Only with --once, of a pipeline over shards; `verification` is null then. */
  readonly places?: readonly PlaceVerification[];
  /** Only with --once and --shards, if `workload.ts` exports `whileMoving`: a tenant that moved there and back. */
  readonly moved?: MovedThereAndBack;
  /** Only with --once, and without --account, where a pipeline publishes. */
  readonly published: readonly PublishedCheck[] | null;
  readonly seconds: number;
}

/** `registry`: the operations that a run's background jobs may run. */
export const dev = (registry: () => Registry) =>
  defineOperation({
    verb: 'dev',
    summary: 'Run a pipeline on this machine: database, data and projections, with nothing to install',
    examples: [
      'millrace dev',
      'millrace dev --example flights --once --json',
      'millrace dev --example storefront --shards 3 --once',
      'millrace dev --example storefront --rate 200 --data .millrace/storefront',
      'millrace dev --pipeline pipeline --input orders.jsonl --into Orders/order',
    ],
    shards: 'itself',
    effect: 'changes',
    lasting: true,
    input,
    run: async (options, context) => {
      const started = performance.now();
      const loaded =
        options.example === undefined
          ? await context.workspace.pipeline()
          : await loadPipeline(exampleFolder(options.example, options.shards));
      assertShards(loaded, options.shards, options.account);
      const source = await inputOf(options, loaded);
      const opening = Promise.withResolvers<Workspace>();
      // The dashboard shows why the stage can't be opened, but the error is reported by this run.
      opening.promise.catch(() => undefined);
      await using dashboard = options.once
        ? undefined
        : await openDashboard({
            context,
            registry: registry(),
            workspace: opening.promise,
            port: options.dashboard,
            everyMs: options.account ? ACCOUNT_MS : DASHBOARD_MS,
          });
      await using stage = await openStage(options, context, loaded, registry).catch((error: unknown) => {
        opening.reject(error);
        throw error;
      });
      opening.resolve(stage.workspace);
      // It ends before the servers that it looks at.
      await using _before = dashboard;
      return {
        // If the server has ended, its end is the error to report, not the failures that followed from it.
        ...(await play(options, context, source, stage).finally(() => stage.ended?.throwIfAborted())),
        seconds: Math.round((performance.now() - started) / 100) / 10,
      };
    },
    format: formatSummary,
    ok: ({ verification, places = [], moved, published }) =>
      (!moved || isWhole(moved)) &&
      [verification, ...places.map((of) => of.verification)].every((of) => (of?.different ?? 0) === 0) &&
      (published ?? []).every(isRight),
  });

async function play(
  options: DevInput,
  context: Context,
  source: Input | undefined,
  { settings, services, loaded, tables, ended, eventsOf }: Stage,
): Promise<Omit<DevSummary, 'seconds'>> {
  const { screen } = context;
  const signal = ended ? AbortSignal.any([context.signal, ended]) : context.signal;
  for (const step of await planModel(loaded, services)) await step.apply();
  const databaseOf =
    options.shards === undefined ? undefined : await prepareShards(options.shards, { settings, services, loaded });
  for (const step of await planStorage(loaded, services, signal)) await step.apply();
  if (tables) await migrateTables(layoutsOf(loaded), tables, signal);
  let state = source ? `loading ${source.name}` : 'nothing to load';
  let result: Loaded | null = null;
  let archived: readonly SweepResult[] | null = null;
  const loading = async (): Promise<void> => {
    if (!source) return;
    result = await load({
      database: services.place.database,
      databaseOf,
      state: services.place.state,
      containers: new Map(loaded.model.containers.map(({ name, partitionKey }) => [name, partitionKey.map(splitPath)])),
      eventHubs: { names: hubNames(loaded), clients: services.hubs },
      input: source,
      directory: options.data ?? context.workspace.directory,
      ...(options.rate === undefined ? {} : { rate: options.rate }),
      signal,
      onProgress: ({ loaded: done, rejected }) => {
        state = `loading ${source.name}: ${plural(done, 'document')}${rejected > 0 ? `, ${rejected.toLocaleString('en-US')} rejected` : ''}`;
      },
      onReject: ({ line, why }) => screen.line(`${source.name}:${line}: rejected: ${why}`),
    });
    state = `loaded ${source.name}: ${plural(result.loaded, 'document')}`;
  };
  let moved: MovedThereAndBack | undefined;
  const moving = async (): Promise<MovedThereAndBack | undefined> => {
    const rules = source?.whileMoving;
    if (!rules || !options.once || databaseOf === undefined) return undefined;
    const say = (text: string): void => void (state = text);
    const line = (text: string): void => screen.line(text);
    return moveThereAndBack({
      settings,
      services,
      loaded,
      rules,
      readLagMs: options.replicaLag ?? 0,
      signal,
      say,
      line,
    });
  };
  const sweeping = async (): Promise<void> => {
    const draw = ([line = state]: readonly string[]): void => void (state = line);
    const last = await sweepPlaces({
      settings,
      services,
      loaded,
      signal,
      screen: { draw, line: (text) => screen.line(text) },
      now: source?.now,
    });
    archived = withSweep(archived ?? [], last);
    state = archived
      .map(({ projection, archived: of }) => `${projection}: ${plural(of, 'document')} archived`)
      .join('; ');
  };
  const lag = options.account ? {} : { readLagMs: options.replicaLag ?? 0 };
  const projections = await runPipeline(
    {
      settings,
      services,
      loaded,
      host: 'dev',
      timings: { pollMs: 100, acquireMs: 1_000 },
      ...(options.once || options.account ? {} : { statusMs: DASHBOARD_MS }),
      ...lag,
      signal,
      screen,
      head: () => [screen.live ? `${state}; ${options.once ? 'ends when all is derived' : 'Ctrl-C stops'}.` : state],
    },
    async (app) => {
      await loading();
      moved = await moving();
      if (loaded.pipeline.archives.length > 0) {
        // A document may go to the archive only after everything is derived from it.
        await app.drained(signal);
        await sweeping();
      }
      if (options.once) await app.drained(signal);
      else await resting(loaded.pipeline.archives.length > 0 ? sweeping : undefined, context, signal);
    },
  );
  const over = options.once && loaded.pipeline.shards !== undefined;
  const verification = options.once && !over ? await verify(loaded, services, { signal, screen, ...lag }) : null;
  const places = over ? await verifyPlaces({ settings, services, loaded }, { signal, screen, ...lag }) : null;
  const checkable = options.once && eventsOf && loaded.pipeline.publishes.length > 0;
  const published = checkable ? await checkPublished(loaded.pipeline, services.place.database, eventsOf, signal) : null;
  return {
    pipeline: relative(context.workspace.directory, loaded.folder) || '.',
    loaded: result,
    projections,
    archive: archived,
    verification,
    ...(places && { places }),
    ...(moved && { moved }),
    published,
  };
}

/** Waits for Ctrl-C. With an archive it sweeps every `SWEEP_MS`; a sweep that failed is repeated. */
async function resting(
  sweeping: (() => Promise<void>) | undefined,
  { screen }: Context,
  signal: AbortSignal,
): Promise<void> {
  if (!sweeping) return untilAborted(signal);
  for (;;) {
    await delay(SWEEP_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    await sweeping().catch((error: unknown) => {
      if (!signal.aborted) screen.line(`archive: ${messageOf(error)}; Millrace will try again`);
    });
  }
}

const hubNames = ({ pipeline: { publishes, ingests } }: LoadedPipeline): ReadonlySet<string> =>
  new Set([...publishes.map(({ to }) => to), ...ingests.map(({ from }) => from)]);

async function inputOf(
  { input: file, into, seed }: DevInput,
  { folder, model }: LoadedPipeline,
): Promise<Input | undefined> {
  if (file === undefined) {
    if (into !== undefined) throw hostError('input-missing', '--into is given without --input');
    return workloadInput(folder, seed);
  }
  const [container = '', type = '', ...rest] = (into ?? '').split('/');
  if (container === '' || type === '' || rest.length > 0) {
    throw hostError(
      'into-missing',
      into === undefined ? '--input needs --into' : `--into ${into} is not of the form Container/type`,
      {
        hint: 'Say which container and type the documents have, for example --into Orders/order.',
      },
    );
  }
  checkTarget({ container, type }, model);
  return fileInput(file, { container, type });
}

function checkTarget({ container, type }: SourceRef, model: LoadedPipeline['model']): void {
  const found = model.containers.find(({ name }) => name === container);
  if (!found) {
    throw hostError(
      'into-unknown',
      `There is no container ${container} in ${model.file}${suggestion(
        container,
        model.containers.map(({ name }) => name),
      )}`,
    );
  }
  const types = found.types.map(({ name }) => name);
  if (types.includes(type)) return;
  throw hostError('into-unknown', `Container ${container} has no type ${type}${suggestion(type, types)}`, {
    hint: `Name one of its types: ${types.join(', ')}.`,
  });
}

/** The folder of examples: beside `src` in a checkout, beside the built files in an installed package. */
const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));

/** An example over shards is a folder of its own: `storefront-shards`. */
function exampleFolder(example: string, shards: number | undefined): string {
  const name = shards === undefined || example.endsWith('-shards') ? example : `${example}-shards`;
  const known = existsSync(EXAMPLES)
    ? readdirSync(EXAMPLES, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
    : [];
  if (known.includes(name)) return `${EXAMPLES}${name}`;
  throw hostError('example-unknown', `There is no example ${name}${suggestion(name, known)}`, {
    hint: `Name one of: ${known.join(', ')}.`,
  });
}

function formatSummary({
  loaded,
  projections,
  archive,
  verification,
  places = [],
  moved,
  published,
  seconds,
}: DevSummary): string {
  const lines: string[] = [];
  if (loaded) {
    const before = loaded.skipped > 0 ? `, ${loaded.skipped.toLocaleString('en-US')} of them by an earlier run` : '';
    lines.push(`Loaded ${plural(loaded.loaded, 'document')}${before}.`);
    if (loaded.rejectsFile !== undefined)
      lines.push(`Rejected ${plural(loaded.rejected, 'line')}; they are in ${loaded.rejectsFile}.`);
  }
  lines.push(...progressTable(projections));
  if (archive) lines.push('', formatSweep(archive));
  if (moved) lines.push('', formatMoves(moved));
  if (verification) lines.push('', formatVerification(verification));
  for (const { place, verification: of } of places) lines.push('', `── ${place}`, formatVerification(of));
  if (published) lines.push('', formatPublished(published));
  return [...lines, `${seconds} s`].join('\n');
}
