import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type EmbedSpec, projectionId } from '../../pipeline/specs.ts';
import { sourceContainers } from '../../engine/runners.ts';
import type { Change, Identity, Version } from '../../feed/reading/change.ts';
import { refOf } from '../../kinds/embed/fields.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { asSeen, consumeHistory } from '../../runtime/history-pages.ts';
import { openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';

/**
 * Applies every parent again of which the state is absent or has another version, with the embed's own code (REC-S6). A
 * child finds its parent's fields in the state alone, and with `--since` no host reads an older parent again. The epochs
 * must be raised before: then these versions replace the stored ones, and nothing has to be removed first. A pass through
 * children that is not done is continued by the hosts.
 */
export async function applyParents(parts: Parts, signal: AbortSignal): Promise<number> {
  let applied = 0;
  for (const spec of parts.loaded.pipeline.embeds) {
    const known = await knownEtags(spec, parts, signal);
    const { pipeline, model } = parts.loaded;
    const source = sourceContainers(pipeline, model).get(spec.from.container);
    if (!source) continue;
    const { engine } = openEngine(parts, spec);
    const history = await openPipelineHistory(parts.loaded, parts.services, { signal });
    const seen = (document: Change): Change | undefined => {
      const change = asSeen(source, document);
      return change?.type === spec.from.type && known.get(refOf(change)) !== change.version.etag ? change : undefined;
    };
    applied += await consumeHistory(engine, history.documents(spec.from.container, signal), seen, signal);
  }
  return applied;
}

/** The stored version of each parent, by its reference. */
async function knownEtags(spec: EmbedSpec, { services }: Parts, signal: AbortSignal): Promise<Map<string, string>> {
  const stored = {
    query: `SELECT c.parent, c.version FROM c WHERE c.type = 'millrace.embed' AND c.projection = @projection`,
    parameters: [{ name: '@projection', value: projectionId(spec) }],
  };
  const known = new Map<string, string>();
  const all = fetchAll<{ parent: Identity; version: Version }>(services.place.state, stored, signal, {
    anyFormat: true,
  });
  for await (const { parent, version } of all) known.set(refOf(parent), version.etag);
  return known;
}
