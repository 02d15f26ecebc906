import type { EmbedSpec, SourceRef } from '../../pipeline/specs.ts';
import { rowKey } from '../../pipeline/oracle/recompute.ts';
import { keyPathsOf } from '../../model/model.ts';
import { sourceContainers } from '../../engine/runners.ts';
import type { Change } from '../../feed/reading/change.ts';
import { matchesOf, refOf } from '../../kinds/embed/fields.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { asSeen, consumeHistory } from '../../runtime/history-pages.ts';
import { READ_LAG_MS, openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { untilResumed } from '../../runtime/hosts/staged-host.ts';

/**
 * Applies an embed's differing children again, after the parents that they name. A parent that the embed has never seen is
 * written to all its children, and a changed child is read again. It uses the embed's own code and conditions, so live
 * hosts may continue.
 */
export async function repairEmbed(
  spec: EmbedSpec,
  wanted: ReadonlySet<string>,
  options: Parts & { readonly readLagMs?: number; readonly signal: AbortSignal },
): Promise<{ readonly applied: number; readonly charge: number }> {
  const { services, loaded, signal, readLagMs = READ_LAG_MS } = options;
  const { pipeline, model } = loaded;
  const { engine } = openEngine(options, spec);
  const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
  const sources = sourceContainers(pipeline, model);
  const keyPaths = keyPathsOf(model, spec.into.container);
  let applied = 0;
  const give = async (of: SourceRef, wants: (change: Change) => boolean): Promise<void> => {
    const source = sources.get(of.container);
    if (!source) return;
    const seen = (document: Change): Change | undefined => {
      const change = asSeen(source, document);
      return change?.type === of.type && wants(change) ? change : undefined;
    };
    applied += await consumeHistory(engine, history.documents(of.container, signal), seen, signal);
  };
  const parents = new Set<string>();
  const children: Change[] = [];
  const source = sources.get(spec.from.container);
  const into = sources.get(spec.into.container);
  if (!source || !into) return { applied: 0, charge: 0 };
  for await (const document of history.documents(spec.into.container, signal)) {
    const change = asSeen(into, document);
    if (!change?.doc || change.type !== spec.into.type) continue;
    if (!wanted.has(rowKey({ ...change.doc, id: change.id }, keyPaths))) continue;
    children.push(change);
    // If the user's `when` throws, the engine parks the change.
    try {
      for (const { ref } of matchesOf(spec, source, change.doc)) parents.add(ref);
    } catch {
      continue;
    }
  }
  await give(spec.from, (change) => parents.has(refOf(change)));
  await untilResumed(engine, signal, readLagMs);
  // Read again: children that their parents have just changed now have another version.
  const again = new Set(children.map((change) => refOf(change)));
  await give(spec.into, (change) => again.has(refOf(change)));
  return { applied, charge: engine.stats[0]?.meter.charge ?? 0 };
}
