// A run of `dev` on its stage: it loads the input, runs the pipeline, and goes over to a changed one.
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SweepResult } from '../../archive/types.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { Speed, sayRate } from '../../base/speed.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { planStorage } from '../../procedures/archive/open.ts';
import { planModel } from '../../procedures/apply/apply.ts';
import type { Context } from '../../procedures/context.ts';
import { VERIFICATION_KEY } from '../../procedures/verify/verified.ts';
import { verifyEvery } from '../../procedures/verify/verify-every.ts';
import type { Verification } from '../../procedures/verify/verify.ts';
import { migrateTables } from '../../procedures/sql/migrate.ts';
import { ageText, plural } from '../../procedures/table.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';
import { type Importer, importOnce } from '../../runtime/pipeline/fresh-import.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { parkedNow } from '../run/letters-now.ts';
import type { ProjectionProgress } from '../run/progress.ts';
import { runPipeline } from '../run/run-pipeline.ts';
import { untilAborted } from '../run/until-aborted.ts';
import { buildAdded } from './build-added.ts';
import type { Input } from './input.ts';
import { type Loaded, loadDocuments } from './load-documents.ts';
import type { Progress } from './marker.ts';
import { type PublishedCheck, checkPublished } from './published.ts';
import { Revisions } from './revisions.ts';
import { type DatabaseOf, type PlaceVerification, prepareShards, verifyPlaces } from './shards.ts';
import type { Stage } from './stage.ts';
import { sweepPlaces, withSweep } from './sweeps.ts';
import { sayVerdict } from './verdict.ts';
import type { Revision, WatchedPipeline } from './watched-pipeline.ts';

const SWEEP_MS = 60_000;
/** The others are counted, and in the file of the rejects. */
const REJECTS_SHOWN = 5;

export interface PlayOptions {
  readonly once: boolean;
  readonly account: boolean;
  /** Says nothing of a recomputation when it first rests. */
  readonly unverified: boolean;
  readonly shards?: number | undefined;
  readonly replicaLag?: number | undefined;
  readonly data?: string | undefined;
  readonly rate?: number | undefined;
  /** Milliseconds between two reports of the host; absent: the host's own. */
  readonly statusMs?: number | undefined;
}

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
  /** Only with --once, and without --account, where a pipeline publishes. */
  readonly published: readonly PublishedCheck[] | null;
  /** Only with --once: how many changes are parked. */
  readonly parked: number | null;
  readonly seconds: number;
}

/** What is watched, and how the pipeline of the stage was loaded from it. */
export interface Watching {
  readonly watched: WatchedPipeline;
  readonly importer: Importer;
}

/** `watching`: the pipeline is loaded again when its files change. */
export async function play(
  options: PlayOptions,
  context: Context,
  inputs: readonly Input[],
  stage: Stage,
  watching: Watching | undefined,
): Promise<Omit<DevSummary, 'seconds'>> {
  const { settings, services, tables, ended, eventsOf } = stage;
  const { screen } = context;
  const signal = ended ? AbortSignal.any([context.signal, ended]) : context.signal;
  const lag = options.account ? {} : { readLagMs: options.replicaLag ?? 0 };
  let loaded = stage.loaded;

  /** Makes what a pipeline needs, where it isn't there yet. */
  const prepare = async (of: LoadedPipeline): Promise<DatabaseOf | undefined> => {
    for (const step of await planModel(of, services)) await step.apply();
    const databaseOf =
      options.shards === undefined
        ? undefined
        : await prepareShards(options.shards, { settings, services, loaded: of });
    for (const step of await planStorage(of, services, signal)) await step.apply();
    if (tables) await migrateTables(layoutsOf(of), tables, signal);
    return databaseOf;
  };
  const databaseOf = await prepare(loaded);

  let state = inputs.length > 0 ? 'loading' : 'nothing to load';
  let result: Loaded | null = null;
  let archived: readonly SweepResult[] | null = null;
  const loadInput = async (source: Input): Promise<void> => {
    const speed = new Speed();
    let rejected = 0;
    const last = await loadDocuments({
      database: services.place.database,
      databaseOf,
      state: services.place.state,
      containers: new Map(loaded.model.containers.map(({ name, partitionKey }) => [name, partitionKey.map(splitPath)])),
      eventHubs: { names: hubNames(loaded), clients: services.hubs },
      input: source,
      directory: options.data ?? context.workspace.directory,
      ...(options.rate === undefined ? {} : { rate: options.rate }),
      signal,
      onProgress: (progress) => void (state = `loading ${source.name}: ${loadingText(progress, source, speed)}`),
      onReject: ({ line, why }) => {
        if (++rejected <= REJECTS_SHOWN) screen.line(`${source.name}:${line}: rejected: ${why}`);
      },
    });
    result = result ? sumOf(result, last) : last;
    state = `${plural(result.loaded, 'document')} loaded`;
  };
  const loadInputs = async (): Promise<void> => {
    for (const input of inputs) await loadInput(input);
  };
  let loading: Promise<void> | undefined;
  /** Said when it first rests, and again after an edit. */
  let judged = false;
  const sweeping = async (): Promise<void> => {
    const draw = ([line = state]: readonly string[]): void => void (state = line);
    const last = await sweepPlaces({
      settings,
      services,
      loaded,
      signal,
      screen: { draw, line: (text) => screen.line(text) },
      now: inputs[0]?.now,
    });
    archived = withSweep(archived ?? [], last);
    state = archived
      .map(({ projection, archived: of }) => `${projection}: ${plural(of, 'document')} archived`)
      .join('; ');
  };
  /** Until the run is over, or `until` is aborted: then another pipeline goes on. */
  const work = async (app: App, until: AbortSignal): Promise<void> => {
    // The input doesn't wait for a pipeline: what it writes is in the feeds.
    loading ??= loadInputs();
    await Promise.race([loading, untilAborted(until)]);
    until.throwIfAborted();
    const { archives } = loaded.pipeline;
    if (archives.length > 0) {
      // A document may go to the archive only after everything is derived from it.
      await app.drained(until);
      await sweeping();
    }
    if (options.once) return app.drained(until);
    if (!judged && !options.unverified && !options.account) {
      try {
        await app.drained(until);
        await sayVerdict(
          { settings, services, loaded },
          { ...lag, screen, signal: until, loaded: result?.loaded ?? 0 },
        );
      } catch (error) {
        if (!until.aborted) screen.line(`The comparison with a recomputation failed: ${messageOf(error)}`);
      }
      // An edit ends it: what the changed pipeline makes is compared then.
      judged = !until.aborted;
    }
    await resting(archives.length > 0 ? sweeping : undefined, context, until);
  };

  const revisions =
    watching &&
    new Revisions({
      watched: watching.watched,
      stage,
      screen,
      prepare: async (of) => void (await prepare(of)),
      signal,
    });
  if (watching)
    screen.line(
      `A change of ${relative(context.workspace.directory, loaded.folder) || '.'} is loaded at once, and the data stays. Ctrl-C stops.`,
    );
  let projections: ProjectionProgress[] = [];
  /** What operations do while no host of the run reads, as a rewind does. */
  const errands: (() => Promise<void>)[] = [];
  let called = Promise.withResolvers<void>();
  /** Their answers wait until a host reads again: what they moved is there then. */
  const answers: (() => void)[] = [];
  const answer = (): void => answers.splice(0).forEach((give) => give());
  stage.restBy(async (act) => {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      errands.push(() => act().then((value) => void answers.push(() => resolve(value)), reject));
      called.resolve();
    });
  });
  let next: Promise<Revision> | undefined;
  let revision: Revision = { loaded, importer: watching?.importer ?? importOnce };
  for (let before: Revision | undefined; ;) {
    stage.show(revision);
    ({ loaded } = revision);
    /** Aborted when another pipeline may take the place of this one, or an errand waits. */
    const turn = new AbortController();
    const until = AbortSignal.any([signal, turn.signal]);
    next ??= revisions?.next(loaded);
    void Promise.race([next ?? called.promise, called.promise]).then(
      () => turn.abort(),
      () => undefined,
    );
    let runs = false;
    try {
      projections = await runPipeline(
        {
          settings,
          services,
          loaded,
          host: 'dev',
          timings: { pollMs: 100, acquireMs: 1_000 },
          ...(options.statusMs === undefined ? {} : { statusMs: options.statusMs }),
          ...lag,
          signal,
          screen,
          head: () => [state],
          before: projections,
        },
        async (app) => {
          runs = true;
          answer();
          const building = watching && buildAdded({ settings, services, loaded, ...lag, signal: until }, screen);
          try {
            await work(app, until);
          } catch (error) {
            if (signal.aborted || !turn.signal.aborted) throw error;
          } finally {
            await building;
          }
        },
      );
    } catch (error) {
      answer();
      // A changed pipeline that doesn't start must not end the run.
      if (runs || !before || signal.aborted) throw error;
      screen.line(`The changed pipeline does not start, so the one before runs on: ${messageOf(error)}`);
      revision = before;
      before = undefined;
      continue;
    }
    if (!turn.signal.aborted || signal.aborted) break;
    if (errands.length > 0) {
      called = Promise.withResolvers();
      for (const errand of errands.splice(0)) await errand();
      screen.line('The host was stopped for a command, and starts again.');
    } else if (next) {
      before = revision;
      revision = await next;
      next = undefined;
      // What was compared was made by other code.
      judged = false;
      await withRetry(() => services.global.state.deleteAllItemsForPartitionKey(VERIFICATION_KEY), { reads: true });
    }
  }
  for (const errand of errands) await errand();
  answer();
  const over = options.once && loaded.pipeline.shards !== undefined;
  const verification = options.once && !over ? await verifyEvery(loaded, services, { signal, screen, ...lag }) : null;
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
    published,
    parked: options.once ? await parkedNow({ settings, services, loaded }) : null,
  };
}

/** What two inputs of a run have loaded. */
const sumOf = (one: Loaded, two: Loaded): Loaded => {
  const files = [one, two].flatMap(({ rejectsFile = [] }) => rejectsFile).join(', ');
  return {
    at: one.at + two.at,
    loaded: one.loaded + two.loaded,
    rejected: one.rejected + two.rejected,
    skipped: one.skipped + two.skipped,
    ...(files !== '' && { rejectsFile: files }),
  };
};

function loadingText({ loaded, rejected }: Progress, { share }: Input, speed: Speed): string {
  speed.note(loaded + rejected, systemClock.monotonic());
  const [rate, read] = [speed.perSecond(), share?.() ?? 0];
  const left = read > 0 ? speed.secondsTo((loaded + rejected) / read) : undefined;
  return [
    plural(loaded, 'document'),
    ...(rejected > 0 ? [`${rejected.toLocaleString('en-US')} rejected`] : []),
    ...(rate === undefined ? [] : [sayRate(rate)]),
    ...(left === undefined ? [] : [`${ageText(Math.ceil(left))} left`]),
  ].join(', ');
}

/** Waits until the signal is aborted. With an archive it sweeps every `SWEEP_MS`; a sweep that failed is repeated. */
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
