import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { isUnindexed, unindexed } from '../definition/archive-index.ts';
import type { IndexingPolicy } from '../model/model.ts';
import type { LoadedPipeline, Services } from '../runtime/workspace.ts';
import { type Finding, doubtful, good } from './finding.ts';

/** Whether sweeps find what is due by an index, as the containers are now: the document may say nothing of it. */
export async function archiveIndexes(
  { pipeline: { archives } }: LoadedPipeline,
  { place: { database } }: Services,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const spec of archives) {
    try {
      const { resource } = await withRetry(() => database.container(spec.from.container).read(), { reads: true });
      if (!isUnindexed(spec, resource?.indexingPolicy as IndexingPolicy | undefined)) continue;
      const { message, hint } = unindexed(spec);
      found.push(doubtful('archive', message, hint));
    } catch (error) {
      // The check `containers` reports it.
      if (failureOf(error).kind !== 'not-found') throw error;
    }
  }
  if (archives.length === 0 || found.length > 0) return found;
  return [good('archive', 'sweeps find what is due by an index')];
}
