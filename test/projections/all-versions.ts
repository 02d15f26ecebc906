// What only the all-versions feed shows: documents are deleted for good, and expire.
import type { Doc } from '../../src/definition/kinds.ts';
import type { Random } from '../support/random.ts';
import type { HistoryOptions } from './history.ts';
import type { World } from './world.ts';

/**
 * A history's options where its sources are read by their all-versions feeds, and every fourth write deletes documents
 * for good, gives them a second to live, or lets one pass. What has expired may be written anew before it is purged.
 */
export function ofAllVersions(
  options: Omit<HistoryOptions, 'write' | 'settle'>,
  write: (random: Random, world: World) => Promise<void>,
  world: World,
): HistoryOptions {
  const { random } = options;
  const deleting: World = {
    ...world,
    write: async (container, key, documents) => {
      const lot = random.unit();
      if (lot < 0.1) for (const { id } of documents) await world.remove(container, key, String(id));
      else if (lot < 0.2) await world.write(container, key, documents.map(mortal));
      else await world.write(container, key, documents);
      if (lot > 0.9) world.pass({ purge: random.chance(0.5) });
    },
  };
  return {
    ...options,
    sources: options.sources.map((source) => ({ ...source, feed: 'all-versions' })),
    write: () => write(random, deleting),
    settle: () => world.pass({ purge: true }),
  };
}

const mortal = (doc: Doc): Doc => ({ ...doc, ttl: 1 });
