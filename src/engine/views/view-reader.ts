import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import { near } from '../../base/near.ts';
import { DEFAULT_PIPELINE, type ViewVersion, Views, type ViewsByName } from './views.ts';

/** Where to read a projection. */
export interface CurrentView {
  readonly version: number;
  readonly container: string;
  /** Discriminator of its documents. */
  readonly type: string;
}

export interface ViewReaderOptions {
  /** How long what was read is used, milliseconds. Default 5,000; a version stays readable for ten minutes after it was replaced. */
  readonly refreshMs?: number;
  /** The pipeline's name. Default: the one that has run on this container; needed where several have. */
  readonly pipeline?: string;
}

export interface ViewReader {
  /**
   * The version of a projection to read now. Ask again for each read and don't keep the answer: it costs one point
   * read every few seconds. Never goes back to a version that was replaced.
   * @throws UsageError `view-unknown`, `view-not-built`, `view-pipeline-unnamed`
   */
  current(projection: string): Promise<CurrentView>;
}

/** For applications: `const views = openViews(database.container('millrace'))`, then `await views.current('summaries')`. */
export function openViews(state: Container, { refreshMs = 5_000, pipeline }: ViewReaderOptions = {}): ViewReader {
  let name = pipeline;
  const stored = async (): Promise<ViewsByName | undefined> => {
    name ??= theOnly(await Views.pipelinesIn(state));
    return name === undefined ? undefined : new Views(state, name).read();
  };
  let known: { readonly at: number; readonly reading: Promise<ViewsByName | undefined> } | undefined;
  const last = new Map<string, ViewVersion & { readonly since: number }>();
  const read = (): Promise<ViewsByName | undefined> => {
    const now = performance.now();
    if (known && now - known.at < refreshMs) return known.reading;
    const next = { at: now, reading: stored() };
    known = next;
    next.reading.catch(() => {
      if (known === next) known = undefined;
    });
    return next.reading;
  };
  return {
    current: async (projection) => {
      const all = await read();
      const view = all?.[projection];
      if (!view) throw unknown(projection, all ?? {});
      if (!view.current) {
        throw new UsageError('view-not-built', `${projection} was never built`, {
          mend: `Build it: \`millrace projections rebuild ${projection}\`, then \`promote\`.`,
        });
      }
      // A replica that lags may still name the version before: what was once seen to be replaced stays so.
      const seen = last.get(projection);
      const { flips } = view;
      if (seen && seen.since > flips) return pick(seen);
      last.set(projection, { ...view.current, since: flips });
      return pick(view.current);
    },
  };
}

/** Undefined: none has run yet. */
function theOnly(pipelines: readonly string[]): string | undefined {
  const [first] = pipelines;
  if (pipelines.length < 2) return first;
  if (pipelines.includes(DEFAULT_PIPELINE)) return DEFAULT_PIPELINE;
  throw new UsageError('view-pipeline-unnamed', `There are views of the pipelines ${pipelines.toSorted().join(', ')}`, {
    mend: `Name one: openViews(container, { pipeline: '${first}' }).`,
  });
}

const pick = ({ version, container, type }: ViewVersion): CurrentView => ({ version, container, type });

function unknown(projection: string, views: ViewsByName): UsageError {
  const best = near(projection, Object.keys(views));
  return new UsageError(
    'view-unknown',
    `There is no view ${projection}${best === undefined ? '' : `: did you mean ${best}?`}`,
    {
      mend: 'A view is known once its pipeline has run.',
    },
  );
}
