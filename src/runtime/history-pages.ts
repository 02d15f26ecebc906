import { systemClock } from '../base/clock.ts';
import type { DerivedSpec } from '../pipeline/specs.ts';
import { sourcesOf } from '../pipeline/pipeline.ts';
import type { Engine } from '../engine/engine.ts';
import { sourceContainers } from '../engine/runners.ts';
import type { Change } from '../feed/reading/change.ts';
import { type SourceContainer, toChange } from '../feed/reading/mapper.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { LoadedPipeline } from './workspace.ts';

const PAGE = 500;

/** The spec's source containers, with the rules of only the types that it reads. */
export function sourcesFor(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  spec: DerivedSpec,
): Map<string, SourceContainer> {
  const wanted = Map.groupBy(spec.kind === 'embed' ? [spec.from] : sourcesOf(spec), ({ container }) => container);
  const sources = new Map<string, SourceContainer>();
  for (const [name, source] of sourceContainers(pipeline, model)) {
    const types = new Set((wanted.get(name) ?? []).map(({ type }) => type));
    if (types.size > 0)
      sources.set(name, { ...source, types: new Map([...source.types].filter(([type]) => types.has(type))) });
  }
  return sources;
}

/** Makes a change of a document from the history, by the rules of its source. The history has documents as they were stored. */
export function asSeen(source: SourceContainer, { doc, version, at, moved, gone }: Change): Change | undefined {
  const raw = { ...doc, _etag: version.etag, _lsn: version.lsn, _ts: at / 1000 };
  const change = toChange(source, raw, version.epoch);
  // The mark of a move is no longer in the document.
  return change && moved ? { ...change, moved, ...(gone && { gone, op: 'delete' as const }) } : change;
}

/**
 * Makes a change of each document of a history with `seen`, and passes the changes to an engine, page by page. Calls
 * `after` after each page. Resolves with the number of changes.
 */
export async function consumeHistory<T>(
  engine: Engine,
  documents: AsyncIterable<T>,
  seen: (document: T) => Change | undefined | Promise<Change | undefined>,
  signal: AbortSignal,
  after: (signal: AbortSignal) => Promise<void> = async () => undefined,
): Promise<number> {
  let applied = 0;
  let page: Change[] = [];
  const flush = async (): Promise<void> => {
    const changes = page;
    page = [];
    if (changes.length === 0) return;
    await engine.consume({ changes, charge: 0, readAt: systemClock.monotonic() }, untilStopped(signal));
    applied += changes.length;
    await after(signal);
  };
  for await (const document of documents) {
    const change = await seen(document);
    if (!change) continue;
    page.push(change);
    if (page.length === PAGE) await flush();
  }
  await flush();
  return applied;
}
