// What only the all-versions feed shows: documents are deleted for good, and expire.
import type { Doc } from '../../src/pipeline/specs.ts';
import type { Random } from '../support/random.ts';
import { type FedSource, type HistoryOptions, runHistory } from './history.ts';
import type { World } from './world.ts';

/** How a history's sources are read; `filled`: by all versions, by a version that is built from what there is. */
export type ReadBy = FedSource['feed'] | 'filled';

/** Runs a history whose sources are read so; `write` is given the world to write to. */
export function runHistoryBy(
  feed: ReadBy,
  options: Omit<HistoryOptions, 'write' | 'settle'>,
  write: (random: Random, world: World) => Promise<void>,
  world: World,
): Promise<void> {
  const { random } = options;
  if (feed === undefined || feed === 'latest') return runHistory({ ...options, write: () => write(random, world) });
  return runHistory({
    ...options,
    sources: options.sources.map((source) => ({ ...source, feed: 'all-versions' })),
    filled: feed === 'filled',
    write: () => write(random, deleting(world, random)),
    settle: () => world.pass({ purge: true }),
  });
}

/**
 * A world where every fourth write deletes its documents for good, gives them a second to live, or is followed by one.
 * What has expired may be written again before it is purged.
 */
const deleting = (world: World, random: Random): World => ({
  ...world,
  write: async (container, key, documents) => {
    const lot = random.unit();
    if (lot < 0.1) for (const { id } of documents) await world.remove(container, key, String(id));
    else if (lot < 0.2) await world.write(container, key, documents.map(mortal));
    else await world.write(container, key, documents);
    if (lot > 0.9) world.pass({ purge: random.chance(0.5) });
  },
});

const mortal = (doc: Doc): Doc => ({ ...doc, ttl: 1 });
