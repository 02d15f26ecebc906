import { withRetry } from '../../cosmos/retry.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { CosmosChangeSource, anchor } from '../../feed/reading/source.ts';
import type { ReplayOptions } from './replay.ts';
import { sourcesFor } from './staged.ts';

/** How many changes a replay would apply: reads the feeds as it would, and does nothing with them. */
export async function countChanges(options: ReplayOptions): Promise<{ changes: number }> {
  const { services, startOf = () => 'beginning' as const, signal } = options;
  let changes = 0;
  for (const source of sourcesFor(options).values()) {
    const container = services.database.container(source.name);
    const rid = (await withRetry(() => container.read(), { reads: true, signal })).resource?._rid ?? '';
    const feed = new CosmosChangeSource(container, rid, source, { epoch: 0 });
    const start = startOf(source.name, rid);
    const { resources } = await withRetry(() => container.readPartitionKeyRanges().fetchAll(), { reads: true, signal });
    for (const { minInclusive: min, maxExclusive: max } of resources) {
      const range = { min, max };
      const end = lsnOf(await feed.resolve(range, 'now', signal));
      let position = start === 'beginning' ? '' : await anchor(feed, range, start, undefined, signal);
      for (let more = true; more;) {
        const page = await feed.read(range, position, signal);
        changes += page.changes.length;
        more = page.next !== position && lsnOf(page.next) < end;
        position = page.next;
      }
    }
  }
  return { changes };
}
