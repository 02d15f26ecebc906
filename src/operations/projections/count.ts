import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { spendingOf } from '../../cosmos/spending.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { anchor } from '../../feed/reading/source.ts';
import type { ReplayOptions } from './replay.ts';
import { sourcesFor } from '../../runtime/history-pages.ts';

/** Counts the changes that a replay would apply, by reading the feeds without applying them. */
export async function countChanges(options: ReplayOptions): Promise<{ changes: number }> {
  const { services, startOf = () => 'beginning' as const, signal } = options;
  let changes = 0;
  for (const source of sourcesFor(options.loaded, options.spec).values()) {
    const container = services.place.database.container(source.name);
    const budget = spendingOf(services.place.database)?.reading(source.name);
    const { rid, source: feed } = await openSource(container, { map: source, epoch: 0, budget });
    const start = startOf(source.name, rid);
    for (const range of await physicalRanges(container, signal)) {
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
