import { fetchAll } from '../../cosmos/fetch-all.ts';
import { splitPath, storedKey } from '../../cosmos/paths.ts';
import type { Key } from '../../feed/reading/change.ts';
import type { Doc } from '../../pipeline/specs.ts';
import { sourcePlace } from '../../runtime/place-containers.ts';
import { type Context, partsOf } from '../context.ts';
import { knownContainer } from './named.ts';

/** Documents of a container, of which a person may trace one. */
export interface RecentDocuments {
  readonly container: string;
  /** Those that were written last, the newest first. `writtenAt`: ISO 8601 UTC. */
  readonly recent: readonly { readonly key: Key; readonly id: string; readonly writtenAt: string }[];
}

const MOST_RECENT = 10;

/** @throws UsageError `input-invalid` */
export async function recentDocuments(container: string, context: Context): Promise<RecentDocuments> {
  const { loaded, services, signal } = await partsOf(context);
  const paths = knownContainer(loaded, container).partitionKey.map(splitPath);
  const fields = new Set(['id', '_ts', ...paths.flatMap(([first]) => first ?? [])]);
  const query = `SELECT TOP ${MOST_RECENT} ${[...fields].map((field) => `c[${JSON.stringify(field)}]`).join(', ')} FROM c ORDER BY c._ts DESC`;
  const place = sourcePlace(loaded.pipeline, services, container);
  const recent: RecentDocuments['recent'][number][] = [];
  for await (const doc of fetchAll<Doc>(place.database.container(container), query, signal, { anyFormat: true })) {
    const writtenAt = new Date(Number(doc['_ts']) * 1_000).toISOString();
    recent.push({ key: storedKey(doc, paths), id: String(doc['id']), writtenAt });
  }
  return { container, recent };
}
