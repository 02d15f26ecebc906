import type { EmbedSpec, SourceRef } from '../../definition/specs.ts';
import { rowKey } from '../../definition/recompute.ts';
import { sourceContainers } from '../../engine/runners.ts';
import type { Change } from '../../feed/reading/change.ts';
import { matchesOf, refOf } from '../../projections/embed/fields.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import type { RepairOptions } from './repair.ts';
import { asSeen, consumeHistory } from '../../runtime/history-pages.ts';
import { READ_LAG_MS, openEngine } from '../../runtime/open-engine.ts';
import { untilResumed } from '../../runtime/staged-host.ts';

/**
 * Gives an embed its differing children again, after the parents that they name: a parent that the embed has never seen
 * is told to all of its children, and a child that was falsified is looked up anew. By the embed's own code, under its
 * own guards, so live hosts may go on.
 */
export async function repairEmbed(
  spec: EmbedSpec,
  wanted: ReadonlySet<string>,
  options: RepairOptions,
): Promise<{ readonly applied: number; readonly charge: number }> {
  const { services, loaded, signal, readLagMs = READ_LAG_MS } = options;
  const { pipeline, model } = loaded;
  const { engine } = openEngine(options, spec);
  const history = await openPipelineHistory(loaded, services, { signal, readLagMs });
  const sources = sourceContainers(pipeline, model);
  const keyPaths = model.containers.find(({ name }) => name === spec.into.container)?.partitionKey ?? [];
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
    // What the user's `when` throws is the engine's to park.
    try {
      for (const { ref } of matchesOf(spec, source, change.doc)) parents.add(ref);
    } catch {
      continue;
    }
  }
  await give(spec.from, (change) => parents.has(refOf(change)));
  await untilResumed(engine, signal, readLagMs);
  // Read anew: those that their parents have just reached are another version by now.
  const again = new Set(children.map((change) => refOf(change)));
  await give(spec.into, (change) => again.has(refOf(change)));
  return { applied, charge: engine.stats[0]?.meter.charge ?? 0 };
}
