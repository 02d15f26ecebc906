import type { Container } from '@azure/cosmos';
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { near } from '../../base/near.ts';
import { DEFAULT_PIPELINE, type ViewVersion, Views, type ViewsByName } from './views.ts';
import { engineError } from '../errors.ts';

/** Where an application reads a projection. */
export interface CurrentView {
  readonly version: number;
  readonly container: string;
  /** The `type` of its documents. */
  readonly type: string;
}

export interface ViewReaderOptions {
  /** How long an answer is cached, milliseconds. Default 5,000. A replaced version stays readable for ten minutes. */
  readonly refreshMs?: number;
  /** The pipeline's name. Default: the only pipeline that has run on this container. */
  readonly pipeline?: string;
}

export interface ViewReader {
  /**
   * The version of a projection to read now. Call it for each read and don't keep the answer: it costs one point read
   * every few seconds. It never returns to a replaced version.
   * @throws UsageError `not-found`, `view-not-built`, `option-invalid`
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
        if (view.previous)
          throw sharedError('not-found', `${projection} was removed from the pipeline`, {
            hint: 'Correct the name. A new projection has a view once its pipeline has run.',
          });
        throw engineError('view-not-built', `${projection} was never built`, {
          hint: `Run \`millrace projections rebuild ${projection}\`, then \`millrace projections promote ${projection}\`.`,
        });
      }
      // A lagging replica may still name the version before. A version that this reader saw replaced stays replaced.
      const seen = last.get(projection);
      const { flips } = view;
      if (seen && seen.since > flips) return pick(seen);
      last.set(projection, { ...view.current, since: flips });
      return pick(view.current);
    },
  };
}

/** The only pipeline's name. Undefined: none has run yet. */
function theOnly(pipelines: readonly string[]): string | undefined {
  const [first] = pipelines;
  if (pipelines.length < 2) return first;
  if (pipelines.includes(DEFAULT_PIPELINE)) return DEFAULT_PIPELINE;
  const all = pipelines.toSorted().join(', ');
  throw sharedError('option-invalid', `The container holds the views of several pipelines: ${all}`, {
    hint: `Name one: openViews(container, { pipeline: '${first}' }).`,
  });
}

const pick = ({ version, container, type }: ViewVersion): CurrentView => ({ version, container, type });

function unknown(projection: string, views: ViewsByName): UsageError {
  const best = near(projection, Object.keys(views));
  return sharedError(
    'not-found',
    `There is no view ${projection}${best === undefined ? '' : `: did you mean ${best}?`}`,
    { hint: 'Correct the name. A new projection has a view once its pipeline has run.' },
  );
}
