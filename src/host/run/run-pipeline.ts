import { systemClock } from '../../base/clock.ts';
import type { Settings } from '../../base/settings.ts';
import { Speed } from '../../base/speed.ts';
import type { Timings } from '../../feed/sharing/feed-host.ts';
import { Rates } from '../../feed/processor/rates.ts';
import type { Screen } from '../../procedures/screen.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type App, compose } from '../../runtime/hosts/processor-host.ts';
import { type LettersNow, startLettersNow } from './letters-now.ts';
import { type ProjectionProgress, hostChangesOf, progressLine, hostProgressOf, withBefore } from './progress.ts';
import { type Problems, hostProblems } from './problems.ts';
import { tokenOf } from './ranges.ts';
import { startHostTelemetry } from './telemetry.ts';
import { STATUS_MS, startStatusWriter } from './status-writer.ts';
import { ended } from './until-aborted.ts';
import { watchTroubles } from './watch.ts';

export interface PipelineRunOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: LoadedPipeline;
  readonly host: string;
  readonly timings?: Partial<Timings>;
  readonly readLagMs?: number;
  readonly signal: AbortSignal;
  readonly screen: Screen;
  /** Milliseconds between two reports of this host, for `status` and the dashboard. Default: half a minute. */
  readonly statusMs?: number;
  /** Of the services that it needs beside its feeds. */
  readonly needs?: Problems;
  /** What to show before the projections. */
  readonly head?: () => readonly string[];
  /** What the projections did in this run before the pipeline was loaded again. */
  readonly before?: readonly ProjectionProgress[];
  /** Called at the end with the leases that could not be given back. */
  readonly kept?: (leases: readonly string[]) => void;
}

const REDRAW_MS = 250;
/** A service that doesn't answer keeps no host from its end: less than the 30 s that a container is given. */
const STOP_MS = 15_000;
const END_MS = STOP_MS + 5_000;

/** Runs a pipeline and shows its progress until `work` settles. Then, also after a failure, it stops the pipeline cleanly. */
export async function runPipeline(
  options: PipelineRunOptions,
  work: (app: App, problems: Problems) => Promise<void>,
): Promise<ProjectionProgress[]> {
  const {
    screen,
    head = () => [],
    before = [],
    statusMs = STATUS_MS,
    needs,
    kept = () => {},
    ...composition
  } = options;
  const app = await compose({ ...composition, timings: { stopMs: STOP_MS, ...composition.timings } });
  const progress = (): ProjectionProgress[] => withBefore(hostProgressOf(app), before);
  const speed = new Speed();
  let letters: LettersNow | undefined;
  const show = (rows: readonly ProjectionProgress[]): void => {
    speed.note(hostChangesOf(rows), systemClock.monotonic());
    screen.draw([[...head(), progressLine(rows, { perSecond: speed.perSecond(), parked: letters?.now() })].join('; ')]);
  };
  const endWatch = watchTroubles((line) => screen.line(line));
  const rates = new Rates();
  let status: ReturnType<typeof startStatusWriter> | undefined;
  const problems: Problems = async () => [
    ...hostProblems(app, status?.clockOffMs() ?? 0),
    ...((await needs?.()) ?? []),
  ];
  const endSignals = startHostTelemetry(app, rates, { ...composition, problems });
  const redraw = setInterval(() => show(progress()), REDRAW_MS);
  let lags = new Map<string, number | null>();
  try {
    await app.start();
    const { host, services, loaded } = composition;
    status = startStatusWriter({
      services,
      host,
      pipeline: loaded.pipeline.name,
      app,
      rates,
      needs,
      everyMs: statusMs,
    });
    letters = startLettersNow(app, statusMs);
    await work(app, problems);
  } finally {
    clearInterval(redraw);
    // Read before the host stops: without leases the lags aren't known.
    lags = new Map(progress().map(({ projection, lag }) => [projection, lag]));
    await ended(END_MS, async () => {
      await app.stop();
      await Promise.all([letters?.end(), status?.end()]);
    });
    kept(app.sources().flatMap(({ container, kept: of }) => of.map((id) => `${container} ${tokenOf(id)}`)));
    endSignals();
    endWatch();
  }
  const rows = progress().map((row) => ({ ...row, lag: lags.get(row.projection) ?? null }));
  show(rows);
  return rows;
}
