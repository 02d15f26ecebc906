import type { OutsideSpec, ProjectionSpec } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { asSeen, consumeHistory, sourcesFor } from '../../runtime/history-pages.ts';
import { type EngineParts, openEngine } from '../../runtime/open-engine.ts';
import { projectionReadersOf } from '../projections/over-shards.ts';

interface AgainOptions extends EngineParts {
  readonly readLagMs: number;
  /** The containers to read. Default: all sources. */
  readonly read?: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** Applies the changes of the whole history that `wanted` returns, each shard's by its part of the pipeline. */
export async function applyAgain(
  spec: ProjectionSpec | OutsideSpec,
  { read, ...options }: AgainOptions,
  wanted: (change: Change) => Promise<Change | undefined> | Change | undefined,
): Promise<{ readonly applied: number; readonly charge: number }> {
  const { services, loaded, signal, readLagMs } = options;
  let [applied, charge] = [0, 0];
  for (const { services: at, loaded: part } of await projectionReadersOf(loaded, services, spec.from.container)) {
    const parts = { ...options, services: at, loaded: { ...loaded, ...part } };
    const { engine } = openEngine(parts, spec);
    const history = await openPipelineHistory(parts.loaded, at, { signal, readLagMs });
    const sources = [...sourcesFor(parts.loaded, spec)].filter(([name]) => read?.has(name) !== false);
    // At the same time, because each list of reference data waits for the other one.
    const all = sources.map(([name, source]) => {
      const seen = async (document: Change): Promise<Change | undefined> => {
        const change = asSeen(source, document);
        return change && wanted(change);
      };
      return consumeHistory(engine, history.documents(name, signal), seen, signal);
    });
    for (const count of await Promise.all(all)) applied += count;
    charge += engine.stats[0]?.meter.charge ?? 0;
  }
  return { applied, charge };
}
