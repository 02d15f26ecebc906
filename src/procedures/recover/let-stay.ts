import { fetchAll } from '../../cosmos/fetch-all.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { storedKey } from '../../cosmos/paths.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { feedWithoutSystemFields } from '../../feed/reading/mapper.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { LEAVING_TTL_S, leavingOf, stay } from '../../kinds/archive/leaving.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';

const LEAVING = { query: 'SELECT * FROM c WHERE c.ttl = @ttl', parameters: [{ name: '@ttl', value: LEAVING_TTL_S }] };

/**
 * Lets every document stay that leaves for the archive by expiry, while no host runs (REC-A2). Without its entry, or in a
 * feed that begins again from now, its expiry would count as a deletion, and what an application wrote back would expire
 * unseen. A later sweep takes it again. Returns how many stay.
 */
export async function letStay(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  { place: { database } }: Services,
  signal: AbortSignal,
): Promise<number> {
  const access = new CosmosAccess(database, untilStopped(signal), new Meter());
  const names = new Set(pipeline.archives.map(({ from }) => from.container));
  let stayed = 0;
  for (const [name, { keyPaths }] of sourceContainers(pipeline, model)) {
    if (!names.has(name) || feedModeOf(pipeline, name) !== 'all-versions') continue;
    // Again until there is none: an application may have written one back meanwhile.
    for (let found = true; found;) {
      found = false;
      for await (const raw of fetchAll<Record<string, unknown>>(database.container(name), LEAVING, signal)) {
        const leaving = leavingOf(raw, feedWithoutSystemFields(raw));
        if (!leaving) continue;
        found = true;
        const version = { epoch: 0, lsn: 0, etag: String(raw['_etag']) };
        const of = { container: name, key: storedKey(raw, keyPaths), id: String(raw['id']), version, leaving };
        if (await stay(of, access)) stayed += 1;
      }
    }
  }
  return stayed;
}
