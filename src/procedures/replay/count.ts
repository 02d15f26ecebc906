import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { anchor } from '../../feed/reading/source.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { countArchived } from '../projections/estimate.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import type { ReplayOptions } from './replay.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import { sourcesFor } from '../../runtime/history-pages.ts';

/** Counts the changes that a replay would apply, by reading the feeds without applying them, and by the archive's entries. */
export async function countChanges(options: ReplayOptions): Promise<{ changes: number }> {
  const places = await placesOf(options).of(options.spec, options.shards);
  const counts = await inPlaces(places, (place) => countIn({ ...options, ...place }));
  return { changes: counts.reduce((total, of) => total + of, 0) };
}

async function countIn(options: ReplayOptions): Promise<number> {
  const { settings, services, loaded, startsIn, signal } = options;
  const startOf = (await startsIn?.({ settings, services, loaded })) ?? options.startOf ?? (() => 'beginning' as const);
  let changes = 0;
  if (options.cold) for (const of of sourcesOf(options.spec)) changes += await countArchived(of, services.place.state);
  for (const source of sourcesFor(loaded, options.spec).values()) {
    const container = placeDatabase(loaded.pipeline, services).container(source.name);
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
  return changes;
}
